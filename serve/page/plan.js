// The planner's question: what to take so that a round keeps a deadline, and what to buy next.
import { texts } from './texts.js';
import { experimentOf, isNamed } from './experiment.js';
import { post } from './api.js';
import { make, byId, fill, number, seconds, rate } from './show.js';

const CODECS = {
    none: 'none',
    zstd: 'zstd',
    'sz 0.01': { name: 'sz', bound: { range: 0.01 } },
    'sz 0.001': { name: 'sz', bound: { range: 0.001 } },
    'sz 0.0001': { name: 'sz', bound: { range: 0.0001 } },
    'zfp 0.001': { name: 'zfp', bound: { range: 0.001 } },
    'topk 0.01': { name: 'topk', ratio: 0.01 },
};
const CORES = [1, 4, 16],
    PIECES = [1, 8],
    PRICES = ['egress', 'accelerator', 'core', 'port'];

// As the plan says it back: nothing is rounded.
const exact = (mbps) => (mbps >= 1000 ? `${mbps / 1000} Gbps` : `${mbps} Mbps`);
const chosen = (form, name) =>
    [...form.querySelectorAll(`input[name="${name}"]:checked`)].map((input) => input.value);

// A plan file (docs/planning.md) of what the sliders and the form say.
export function planOf(form, state, choices) {
    const data = new FormData(form),
        strategy = isNamed(choices.strategies, state.strategy);
    const has = (name) => !!strategy && strategy.parameters.some((p) => p.name === name);
    const vary = { '/codec': chosen(form, 'codec').map((name) => CODECS[name]) };
    const ports = chosen(form, 'port-rate').map((v) => exact(Number(v)));
    if (ports.length) vary['/network/server/rate'] = ports;
    if (has('decode_cores'))
        vary['/strategy/decode_cores'] = chosen(form, 'plan-cores').map(Number);
    if (has('pieces')) vary['/strategy/pieces'] = chosen(form, 'pieces').map(Number);
    for (const key of Object.keys(vary)) if (vary[key].length === 0) delete vary[key];
    const plan = {
        schema: 'strait-plan/1',
        experiment: experimentOf({ ...state, experiment: '' }, choices),
        target: { round: `${data.get('deadline')} s` },
        rounds: Number(data.get('rounds')),
        vary,
    };
    const price = Object.fromEntries(
        PRICES.map((name) => [name, data.get(`price-${name}`)]).filter(
            ([, v]) => v !== '' && v !== null,
        ),
    );
    if (Object.keys(price).length === 0) return plan;
    plan.prices = { schema: 'strait-prices/1', source: 'typed into the page' };
    if (price.egress) plan.prices.egress = `${price.egress} EUR/GB`;
    if (price.accelerator) plan.prices.accelerator = `${price.accelerator} EUR/h`;
    if (price.core) plan.prices.core = `${price.core} EUR/h`;
    if (price.port && ports.length)
        plan.prices.per_hour = {
            '/network/server/rate': {
                [exact(Math.max(...chosen(form, 'port-rate').map(Number)))]: `${price.port} EUR/h`,
            },
        };
    return plan;
}

// Columns without a cell are left out; the last one may be words.
function table(caption, all, lines, words) {
    const used = all.map((_, i) => lines.some((line) => line[i] !== '')),
        heads = all.filter((_, i) => used[i]),
        rows = lines.map((line) => line.filter((_, i) => used[i])),
        kind = (i) => (words && used.at(-1) && i === heads.length - 1 ? { class: 'words' } : {});
    return make(
        'div',
        { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
        make(
            'table',
            {},
            make('caption', { class: 'note' }, caption),
            make(
                'thead',
                {},
                make(
                    'tr',
                    {},
                    ...heads.map((h, i) => make('th', { scope: 'col', ...kind(i) }, h)),
                ),
            ),
            make(
                'tbody',
                {},
                ...rows.map(([head, ...cells]) =>
                    make(
                        'tr',
                        {},
                        make('th', { scope: 'row' }, head),
                        ...cells.map((c, i) => make('td', kind(i + 1), c)),
                    ),
                ),
            ),
        ),
    );
}

const list = (name, items) =>
    make(
        'details',
        {},
        make('summary', {}, name),
        make('ul', {}, ...items.map((t) => make('li', {}, t))),
    );
const money = (x) => (x === null || x === undefined ? '' : `${number(x)} EUR`);

function show(answer) {
    const t = texts.plan,
        best = answer.best.map((b) => [
            b.name,
            seconds(b.round_s),
            b.interval_s ? `${seconds(b.interval_s[0])} – ${seconds(b.interval_s[1])}` : '',
            money(b.money_a_round),
            b.limits ? b.limits.text : '',
        ]);
    const parts = [
        make(
            'p',
            { id: 'plan-answer', 'data-round-s': answer.best.length ? answer.best[0].round_s : '' },
            answer.text,
        ),
    ];
    if (answer.limits) parts.push(make('p', {}, fill(t.limits, { limits: answer.limits.text })));
    parts.push(table(t.best, [t.candidate, t.round, t.interval, t.money, t.limited], best, true));
    const buy = (answer.buy || []).map((b) => [
        b.text,
        seconds(b.round_s),
        seconds(b.saves_s),
        money(b.more_per_hour),
    ]);
    parts.push(
        buy.length
            ? table(t.buy, [t.what, t.round, t.saves, t.per_hour], buy)
            : make('p', { class: 'note' }, t.nothing),
    );
    const axes = (answer.break_even && answer.break_even.axes) || [];
    if (axes.length)
        parts.push(
            list(
                t.break_even,
                axes.map((a) => `${a.pointer}: ${a.text || a.why}`),
            ),
        );
    parts.push(list(t.not_considered, answer.not_considered || []));
    byId('plan-result').replaceChildren(...parts);
}

const boxes = (name, legend, values, on) =>
    make(
        'fieldset',
        {},
        make('legend', {}, legend),
        ...values.map(([value, text]) =>
            make(
                'label',
                { class: 'inline' },
                make('input', { type: 'checkbox', name, value, checked: on.includes(value) }),
                ` ${text}`,
            ),
        ),
    );
const field = (name, text, value) =>
    make(
        'label',
        {},
        text,
        ' ',
        make('input', { type: 'number', name, min: 0, step: 'any', value, required: value !== '' }),
    );

export function setUpPlan(current) {
    const form = byId('plan-form'),
        t = texts.plan,
        { state } = current(),
        button = make('button', { type: 'submit' }, t.start);
    const ports = [state.server, 2.5 * state.server, 10 * state.server].map((v) => [
        String(v),
        rate(v),
    ]);
    form.replaceChildren(
        make(
            'div',
            { class: 'fields' },
            field('deadline', t.deadline, 60),
            field('rounds', t.rounds, 500),
        ),
        boxes(
            'codec',
            texts.sliders.codec,
            Object.keys(CODECS).map((n) => [n, n === 'none' ? texts.no_codec : n]),
            Object.keys(CODECS),
        ),
        boxes('port-rate', texts.sliders.server, ports, [ports[0][0], ports[2][0]]),
        boxes(
            'plan-cores',
            texts.sliders.cores,
            CORES.map((v) => [String(v), String(v)]),
            CORES.map(String),
        ),
        boxes(
            'pieces',
            t.pieces,
            PIECES.map((v) => [String(v), String(v)]),
            PIECES.map(String),
        ),
        make(
            'details',
            {},
            make('summary', {}, t.prices),
            make('p', { class: 'note' }, t.prices_note),
            make(
                'div',
                { class: 'fields' },
                ...PRICES.map((name) => field(`price-${name}`, t.price[name], '')),
            ),
        ),
        make(
            'label',
            { class: 'inline' },
            make('input', { type: 'checkbox', name: 'any' }),
            ` ${t.any}`,
        ),
        make('p', { class: 'buttons' }, button),
    );
    form.onsubmit = async (event) => {
        event.preventDefault();
        const { state: now, choices } = current();
        button.disabled = true;
        byId('plan-result').textContent = t.running;
        try {
            show(
                await post('/api/plan', {
                    plan: planOf(form, now, choices),
                    any_accuracy: form.elements.any.checked,
                }),
            );
        } catch (why) {
            byId('plan-result').textContent = why.message;
        }
        button.disabled = false;
    };
}
