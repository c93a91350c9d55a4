// Where a round's time goes: a bar a row, phases end to end.
import { texts } from './texts.js';
import { make, seconds, fill } from './show.js';

const PHASES = ['compute', 'encode', 'transfer', 'decode', 'aggregate', 'other'];

function bar(row, most) {
    const svg = make('svg', {
        viewBox: '0 0 1000 24',
        preserveAspectRatio: 'none',
        'aria-hidden': 'true',
    });
    let x = 0;
    for (const phase of PHASES) {
        const width = (1000 * row.path_s[phase]) / most;
        if (width > 0)
            svg.append(
                make(
                    'rect',
                    { x, y: 0, width, height: 24, class: phase },
                    make('title', {}, `${texts.phases[phase]} ${seconds(row.path_s[phase])}`),
                ),
            );
        x += width;
    }
    return make('div', { class: 'bar' }, svg);
}

export function legend(kinds) {
    return make(
        'ul',
        { class: 'legend' },
        ...kinds.map((kind) =>
            make(
                'li',
                {},
                make(
                    'svg',
                    { viewBox: '0 0 10 10', 'aria-hidden': 'true' },
                    make('rect', { width: 10, height: 10, class: kind }),
                ),
                texts.phases[kind],
            ),
        ),
    );
}

// named: [[name, row]]
export function drawPhases(at, named) {
    const most = Math.max(...named.map(([, row]) => row.round_s), 1e-12);
    const bars = make('div', { class: 'bars' });
    for (const [name, row] of named)
        bars.append(
            make(
                'div',
                {},
                name,
                make('br'),
                make('span', { class: 'note' }, seconds(row.round_s)),
            ),
            bar(row, most),
        );
    const head = make(
        'tr',
        {},
        make('th', { scope: 'col' }, texts.table.phase),
        ...named.map(([name]) => make('th', { scope: 'col' }, name)),
    );
    const body = PHASES.map((phase) =>
        make(
            'tr',
            {},
            make('th', { scope: 'row' }, texts.phases[phase]),
            ...named.map(([, row]) => make('td', {}, seconds(row.path_s[phase]))),
        ),
    );
    body.push(
        make(
            'tr',
            {},
            make('th', { scope: 'row' }, texts.table.total),
            ...named.map(([, row]) =>
                make('td', { 'data-round-s': row.round_s }, seconds(row.round_s)),
            ),
        ),
    );
    const open = at.querySelector('details') && at.querySelector('details').open;
    at.replaceChildren(
        bars,
        legend(PHASES),
        make(
            'details',
            { open: !!open },
            make('summary', {}, texts.table.show),
            make(
                'div',
                { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': texts.table.show },
                make('table', {}, make('thead', {}, head), make('tbody', {}, ...body)),
            ),
        ),
    );
}

export function mostOf(row) {
    const phase = PHASES.reduce((a, b) => (row.path_s[b] > row.path_s[a] ? b : a));
    return fill(texts.sentence.most, {
        phase: texts.phases[phase],
        share: Math.round((100 * row.path_s[phase]) / row.round_s),
    });
}

// What would help most: the round with one thing twice as fast, simulated again.
export function drawFaster(at, faster, row) {
    const rows = faster.filter((f) => f.saves_s > 0).slice(0, 5);
    const cells = rows.map((f) =>
        make(
            'tr',
            {},
            make('th', { scope: 'row' }, f.text),
            make('td', { 'data-round-s': f.round_s }, seconds(f.round_s)),
            make('td', {}, `${Math.round((100 * f.saves_s) / row.round_s)} %`),
        ),
    );
    at.replaceChildren(
        make(
            'table',
            {},
            make('caption', { class: 'note' }, texts.faster_table),
            make(
                'thead',
                {},
                make(
                    'tr',
                    {},
                    ...[texts.faster_what, texts.faster_round, texts.faster_saves].map((name) =>
                        make('th', { scope: 'col' }, name),
                    ),
                ),
            ),
            make('tbody', {}, ...cells),
        ),
    );
}
