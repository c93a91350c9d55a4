import { texts, lesson } from './texts.js';

// The whole state of the page, in the link: what is not said there is as it is here, or in a step of
// the lesson as that step has it.
export const initial = {
    tab: 'explore',
    step: 0,
    model: 'gpt2-small',
    strategy: 'fedavg',
    codec: 'sz',
    profile: '',
    bound: 0.001,
    clients: 8,
    rate: 1000,
    server: 1000,
    rtt: 50,
    loss: 0,
    cores: 1,
    steps: 20,
    slowness: 1,
    link: 'ok',
    deadline: 0,
    event: '',
    at: 0,
    y: 'times',
    lever: 'clients',
    preset: 'wan',
    experiment: '',
};

export const stepOf = (step) => Math.min(Math.max(0, Math.trunc(step) || 0), lesson.length - 1);

const baseOf = (tab, step) =>
    tab === 'lesson' ? { ...initial, ...lesson[stepOf(step)].state } : initial;

// Words that the page itself reads; names of models, codecs and strategies are the server's to refuse.
export const SLIDERS = [
    'clients',
    'rate',
    'server',
    'rtt',
    'loss',
    'bound',
    'cores',
    'steps',
    'slowness',
    'deadline',
];
// What curves may go along: who is slow is one client's, and no curve's.
export const LEVERS = SLIDERS.filter((key) => key !== 'slowness');
const words = {
    tab: Object.keys(texts.tabs),
    lever: LEVERS,
    link: Object.keys(texts.links),
    event: ['', 'slow', 'cut', 'kill'],
    y: ['times', 'speedup'],
    profile: Object.keys(texts.profiles),
    preset: Object.keys(texts.presets),
};

// Numbers of the link are taken as they are: a slider's ends are no limits.
export function readState(hash) {
    const params = new URLSearchParams(hash.replace(/^#/, '')),
        state = { ...baseOf(params.get('tab'), Number(params.get('step'))) };
    for (const [key, text] of params) {
        if (!(key in initial)) continue;
        if (typeof initial[key] === 'number') {
            const value = Number(text);
            if (text !== '' && Number.isFinite(value)) state[key] = value;
        } else if (!words[key] || words[key].includes(text)) state[key] = text;
    }
    return state;
}

export function writeState(state) {
    const params = new URLSearchParams(),
        base = baseOf(state.tab, state.step);
    for (const key of Object.keys(initial))
        if (state[key] !== (key === 'tab' || key === 'step' ? initial : base)[key])
            params.set(key, String(state[key]));
    return `#${params}`;
}

const decades = (from, to) => {
    const values = [];
    for (let d = from; d <= to; d++) for (const m of [1, 2, 5]) values.push(Number(`${m}e${d}`));
    return values;
};
// The places of each slider. A model's step, a link's rate: all of them by ratio.
export const places = {
    clients: [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 42, 48, 64, 96, 128, 192, 256],
    rate: decades(0, 4),
    server: decades(1, 5),
    rtt: [0, 0.1, 1, 5, 10, 20, 50, 100, 150, 200, 300, 500],
    loss: [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
    cores: [1, 2, 4, 8, 16, 32, 64, 0],
    steps: [1, 2, 5, 10, 20, 50, 100, 200, 500],
    bound: [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2],
    slowness: [1, 1.5, 2, 3, 4, 6, 8, 10],
    deadline: [0, 5, 10, 15, 20, 25, 30, 40, 60, 90, 120, 300],
};
