// From the state to an experiment of strait (docs/experiment.md).
import { texts } from './texts.js';
import { places } from './state.js';
import { fill } from './show.js';

export const isNamed = (list, name) => (list || []).find((row) => row.name === name);
const has = (strategy, name) => strategy && strategy.parameters.some((p) => p.name === name);

export const hasSteps = (state, choices) =>
    has(isNamed(choices.strategies, state.strategy), 'local_steps');

function strategyOf(state, choices) {
    const known = isNamed(choices.strategies, state.strategy);
    const strategy = { name: state.strategy };
    if (has(known, 'rounds')) strategy.rounds = 2;
    if (has(known, 'local_steps')) strategy.local_steps = state.steps;
    if (has(known, 'decode_cores'))
        strategy.decode_cores = state.cores === 0 ? 'clients' : state.cores;
    if (has(known, 'deadline') && state.deadline !== 0) strategy.deadline = `${state.deadline} s`;
    return strategy;
}

export function boundKind(state, choices) {
    const kinds = (isNamed(choices.codecs, state.codec) || {}).bounds || [];
    return kinds.includes('range') ? 'range' : kinds[0];
}

export function codecOf(state, choices) {
    if (state.codec === 'none') return 'none';
    const codec = { name: state.codec },
        kind = boundKind(state, choices);
    if (kind) codec.bound = { [kind]: state.bound };
    if (state.profile) codec.profile = state.profile;
    return codec;
}

// Strategies whose clients stand around a server, which has a port of its own.
const WITH_SERVER = [
    'fedavg',
    'fedasync',
    'fedbuff',
    'adaptive',
    'scaffold',
    'hierfl',
    'secagg',
    'swarm',
];
export const hasServer = (state) => WITH_SERVER.includes(state.strategy);

// The one whose link and speed have controls of their own: the first entry of the network.
export const whoIsFirst = (isServed) =>
    fill(isServed ? texts.client : texts.rank, { k: isServed ? 1 : 0 });
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
export function firstOf(state) {
    const who = whoIsFirst(hasServer(state));
    return { who, Who: capital(who) };
}

// Long enough to see, short enough to come back from.
export const CUT_S = 20;
// A link that is cut still has a rate: of 1 Gbps 10 kbps, of somebody's who is dead 100 bps.
const CUT = '0.001 %',
    DEAD = '0.00001 %';

// Whether the others go on when the first client leaves.
const mayLeave = (state) =>
    state.strategy === 'fedavg'
        ? state.deadline > 0
        : ['fedasync', 'fedbuff'].includes(state.strategy) && state.clients > 1;

// Whether this row's round only ends because even a link that is cut has a rate.
const MANY_TIMES = 10,
    ALMOST_ALL = 0.99;
export function isEndless(state, row) {
    if (state.experiment || mayLeave(state)) return false;
    if (state.event === 'kill' && row.rounds_s)
        return row.rounds_s.at(-1) > MANY_TIMES * row.rounds_s[0];
    return state.link === 'cut' && row.path_s.transfer > ALMOST_ALL * row.round_s;
}

// What happens to the first client in the middle of the run.
function eventsOf(state) {
    const place = (at) => ({ at: `${Number(at.toPrecision(6))} s`, on: 'hit' }),
        event = (at, rate) => ({ ...place(at), rate });
    if (state.event === 'slow') return [event(state.at, '10 %')];
    if (state.event === 'cut') return [event(state.at, CUT), event(state.at + CUT_S, '100 %')];
    return [mayLeave(state) ? { ...place(state.at), present: false } : event(state.at, DEAD)];
}

// One port, or where client 1 has a link of its own two entries.
function networkOf(state, n) {
    const port = (rate) => {
        const p = { rate: `${rate} Mbps` };
        if (state.rtt !== 0) p.rtt = `${state.rtt} ms`;
        if (state.loss !== 0) p.loss = `${state.loss} %`;
        return p;
    };
    const network = {
        overhead: '0 B',
        client: port(state.rate),
        server: { rate: `${state.server} Mbps` },
    };
    if (state.link === 'ok' && !state.event) return network;
    const first = {
        name: 'hit',
        ...port({ ok: state.rate, slow: state.rate / 10, cut: 0.001 }[state.link] || state.rate),
    };
    network.client =
        n > 1 ? [first, { name: 'others', ...port(state.rate), count: n - 1 }] : [first];
    if (state.event) network.events = eventsOf(state);
    return network;
}

// The point of the state; nPorts: for how many clients a single link is one of many.
export function experimentOf(state, choices, nPorts = state.clients) {
    if (state.experiment) {
        const own = JSON.parse(state.experiment);
        if (!own || typeof own !== 'object') throw new Error(texts.no_object);
        delete own.vary;
        return { ...own, clients: state.clients };
    }
    const experiment = {
        schema: 'strait-experiment/1',
        model: state.model,
        strategy: strategyOf(state, choices),
        codec: codecOf(state, choices),
        network: networkOf(state, nPorts),
        clients: state.clients,
        seed: 1,
    };
    if (state.model === 'own') delete experiment.model;
    return experiment;
}

// What goes beside it in a request.
export function extrasOf(state, ownTable, n = state.clients) {
    const extras = {};
    if (state.model === 'own' && ownTable) extras.table = ownTable;
    if (state.slowness !== 1 && !state.experiment)
        extras.slowness = [state.slowness, ...new Array(Math.max(0, Math.min(n, 256) - 1)).fill(1)];
    return extras;
}

export function countsOf(state) {
    const most = state.loss > 0 ? 16 : 64;
    const counts = [1, 2, 4, 8, 16, 32, 64].filter((n) => n <= most);
    if (state.clients > most) counts.push(state.clients);
    return [...new Set([...counts, state.clients])].sort((a, b) => a - b);
}

export const leverPlaces = (lever, state) => {
    const isPlace = (v) => v > 0 || ['rtt', 'loss'].includes(lever); // other axes are logarithmic
    const all = places[lever].filter(isPlace);
    const few =
        lever === 'loss' ? [0, 0.1, 1] : all.filter((v, i) => all.length < 9 || i % 2 === 0);
    return [...new Set([...few, state[lever]])].filter(isPlace).sort((a, b) => a - b);
};

// A sweep over one slider: each value its own setting of one key.
export function leverSweep(lever, state, choices) {
    const values = leverPlaces(lever, state);
    const points = values.map((v) => experimentOf({ ...state, [lever]: v }, choices));
    const key =
        { rate: 'network', server: 'network', rtt: 'network', loss: 'network', bound: 'codec' }[
            lever
        ] || 'strategy';
    const base = experimentOf(state, choices);
    return { values, experiment: { ...base, vary: { [`/${key}`]: points.map((p) => p[key]) } } };
}
