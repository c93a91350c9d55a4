// The sliders: each shows one value of the state and says when it is moved.
import { texts } from './texts.js';
import { places, initial, SLIDERS } from './state.js';
import { isNamed, boundKind, hasServer, firstOf } from './experiment.js';
import { make, byId, fill, number, rate, seconds } from './show.js';

export function valueText(key, value, state, choices) {
    switch (key) {
        case 'rate':
        case 'server':
            return rate(value);
        case 'rtt':
            return `${number(value)} ms`;
        case 'loss':
            return `${number(value)} %`;
        case 'bound':
            return `${number(value)} ${texts.bound_kinds[boundKind(state, choices)] || ''}`;
        case 'cores':
            return value === 0 ? texts.each_client : number(value);
        case 'deadline':
            return value === 0 ? texts.no_deadline : seconds(value);
        default:
            return number(value, 6);
    }
}

const nearest = (all, value) =>
    all.reduce((best, v, i) => (Math.abs(v - value) < Math.abs(all[best] - value) ? i : best), 0);

function select(key, options, state, change) {
    const element = make(
        'select',
        { id: `c-${key}` },
        ...options.map(([value, name]) => make('option', { value }, name)),
    );
    if (!options.some(([value]) => value === state[key]))
        element.append(make('option', { value: state[key] }, state[key]));
    element.value = state[key];
    element.addEventListener('change', () => change(key, element.value));
    const name = fill(texts.sliders[key], firstOf(state));
    return make('label', { class: 'wide' }, make('span', {}, name), element);
}

function slider(key, state, choices, change) {
    const all = places[key];
    const value = make('span', { class: 'value' }, valueText(key, state[key], state, choices));
    const input = make('input', {
        type: 'range',
        id: `c-${key}`,
        min: 0,
        max: all.length - 1,
        step: 1,
        value: nearest(all, state[key]),
        'aria-valuetext': value.textContent,
    });
    input.addEventListener('input', () => {
        const v = all[Number(input.value)];
        value.textContent = valueText(key, v, state, choices);
        input.setAttribute('aria-valuetext', value.textContent);
        change(key, v);
    });
    return make('label', {}, value, fill(texts.sliders[key], firstOf(state)), input);
}

function codecOptions(choices) {
    const named = choices.codecs
        .filter((c) => c.name !== 'none' && c.available && c.in_profile)
        .map((c) => [c.name, c.name]);
    return [['none', texts.no_codec], ...named];
}

// Which sliders mean anything now: a bound needs a codec that has one, cores a strategy with them.
function shown(key, state, choices) {
    const strategy = isNamed(choices.strategies, state.strategy),
        param = { cores: 'decode_cores', steps: 'local_steps', deadline: 'deadline' }[key];
    if (param) return !!strategy && strategy.parameters.some((p) => p.name === param);
    if (key === 'bound') return state.codec !== 'none' && !!boundKind(state, choices);
    if (key === 'server') return hasServer(state);
    return true;
}

export function drawControls(state, choices, ownName, change) {
    const at = byId('sliders'),
        focused = document.activeElement && document.activeElement.id;
    const models = choices.models.map((m) => [
        m.name,
        `${m.name.replace(/^experiments\/models\//, '')} (${number(m.MB)} MB)`,
    ]);
    if (ownName) models.unshift(['own', `${texts.own_model}: ${ownName}`]);
    const profiles = Object.entries(texts.profiles);
    at.replaceChildren(
        select('model', models, state, change),
        select(
            'strategy',
            choices.strategies.map((s) => [s.name, s.name]),
            state,
            change,
        ),
        select('codec', codecOptions(choices), state, change),
        ...(state.codec === 'sz' ? [profileSelect(profiles, state, change)] : []),
        ...SLIDERS.filter((key) => shown(key, state, choices)).map((key) =>
            slider(key, state, choices, change),
        ),
        select('link', Object.entries(texts.links), state, change),
        make('p', { class: 'note' }, state.link === 'ok' ? '' : texts.link_note),
    );
    if (focused && byId(focused) && at.contains(byId(focused))) byId(focused).focus();
}

function profileSelect(options, state, change) {
    const element = make(
        'select',
        { id: 'c-profile' },
        ...options.map(([value, name]) => make('option', { value }, name)),
    );
    element.value = state.profile;
    element.addEventListener('change', () => change('profile', element.value));
    return make('label', { class: 'wide' }, make('span', {}, texts.profile), element);
}

// Presets: a name, and what it changes of the beginning.
const intellect = (published, mbps) => ({
    model: 'own',
    strategy: 'diloco',
    codec: 'none',
    clients: 14,
    rate: mbps,
    rtt: 100,
    steps: 100,
    note: ['intellect', { published, rate: mbps }],
});
export const presets = {
    wan: {},
    runner: { server: 10000, cores: 0, profile: 'fl-runner-class', bound: 0.01, y: 'speedup' },
    school: { model: 'mobilenet-v2', clients: 24, rate: 20, server: 200, rtt: 10, steps: 10 },
    usa: intellect(103, 1471),
    europe: intellect(382, 397),
    asia: intellect(469, 323),
};
export const presetState = (name) => {
    const { note, ...changes } = presets[name] || {};
    return { ...initial, ...changes, preset: name };
};
// 10 GB as one tensor of 2.5 billion values, whose step takes no time: only the ring is shown.
export const tenBillion = [
    '# name: 10 GB to be summed',
    '# timing: none: nothing is computed',
    'fwd_index,layer,param,type,shape,bytes,fwd_us_p50,fwd_us_p90,bwd_us_p50,bwd_us_p90,ready_us_p50,ready_us_p90,ready_order',
    ...[0, 1, 2, 3, 4].map(
        (i) => `${i},part${i},weight,Linear,500000000,2000000000,0,0,0,0,0,0,${4 - i}`,
    ),
    '',
].join('\n');
