// From the state to an experiment of strait (docs/experiment.md).
import { places } from './state.js';

export const isNamed = (list, name) => (list || []).find((row) => row.name === name);
const has = (strategy, name) => strategy && strategy.parameters.some((p) => p.name === name);

function strategyOf(state, choices) {
  const known = isNamed(choices.strategies, state.strategy);
  const strategy = { name: state.strategy };
  if (has(known, 'rounds')) strategy.rounds = 2;
  if (has(known, 'local_steps')) strategy.local_steps = state.steps;
  if (has(known, 'decode_cores')) strategy.decode_cores = state.cores === 0 ? 'clients' : state.cores;
  if (has(known, 'deadline') && state.deadline > 0) strategy.deadline = `${state.deadline} s`;
  return strategy;
}

export function boundKind(state, choices) {
  const kinds = (isNamed(choices.codecs, state.codec) || {}).bounds || [];
  return kinds.includes('range') ? 'range' : kinds[0];
}

export function codecOf(state, choices) {
  if (state.codec === 'none') return 'none';
  const codec = { name: state.codec }, kind = boundKind(state, choices);
  if (kind) codec.bound = { [kind]: state.bound };
  if (state.profile) codec.profile = state.profile;
  return codec;
}

// One port, or where client 1 has another link an array of so many ports.
function portsOf(state, n) {
  const port = (rate) => {
    const p = { rate: `${rate} Mbps` };
    if (state.rtt > 0) p.rtt = `${state.rtt} ms`;
    if (state.loss > 0) p.loss = `${state.loss} %`;
    return p;
  };
  if (state.link === 'ok') return port(state.rate);
  const first = port(state.link === 'slow' ? state.rate / 10 : 0.001);
  const ports = n > 1 ? [first, { ...port(state.rate), count: n - 1 }] : [first];
  return ports;
}

// The point of the state; nPorts: for how many clients a single link is one of many.
export function experimentOf(state, choices, nPorts = state.clients) {
  if (state.experiment) {
    const own = JSON.parse(state.experiment);
    delete own.vary;
    return { ...own, clients: state.clients };
  }
  const experiment = {
    schema: 'strait-experiment/1', model: state.model, strategy: strategyOf(state, choices),
    codec: codecOf(state, choices),
    network: { overhead: '0 B', client: portsOf(state, nPorts), server: { rate: `${state.server} Mbps` } },
    clients: state.clients, seed: 1,
  };
  if (state.model === 'own') delete experiment.model;
  return experiment;
}

// What goes beside it in a request.
export function extrasOf(state, ownTable, n = state.clients) {
  const extras = {};
  if (state.model === 'own' && ownTable) extras.table = ownTable;
  if (state.slowness > 1 && !state.experiment)
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
  const all = places[lever].filter((v) => v !== 0 || lever === 'rtt' || lever === 'loss');
  const few = lever === 'loss' ? [0, 0.1, 1] : all.filter((v, i) => all.length < 9 || i % 2 === 0);
  return [...new Set([...few, state[lever]])].filter((v) => lever !== 'cores' || v > 0).sort((a, b) => a - b);
};

// A sweep over one slider: each value its own setting of one key.
export function leverSweep(lever, state, choices) {
  const values = leverPlaces(lever, state);
  const points = values.map((v) => experimentOf({ ...state, [lever]: v }, choices));
  const key = { rate: 'network', server: 'network', rtt: 'network', loss: 'network', bound: 'codec' }[lever] || 'strategy';
  const base = experimentOf(state, choices);
  return { values, experiment: { ...base, vary: { [`/${key}`]: points.map((p) => p[key]) } } };
}
