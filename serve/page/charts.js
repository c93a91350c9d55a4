// Curves by uPlot: times or speed-ups against a number, with bands, on a logarithmic axis.
import { make, number } from './show.js';
import { texts } from './texts.js';

const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Two digits, or as many as tell neighbours apart.
function ticks(values) {
    const known = values.filter((v) => v !== null);
    let digits = 2;
    while (digits < 6 && new Set(known.map((v) => number(v, digits))).size < known.length) digits++;
    return values.map((v) => (v === null ? '' : number(v, digits)));
}

// A linear axis with all of these in it, and a little room.
function around(values) {
    const known = values.filter((v) => Number.isFinite(v)),
        low = Math.min(...known),
        high = Math.max(...known);
    const room = 0.06 * (high - low) || 0.1 * Math.abs(high) || 1;
    return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

function options(at, { xName, yName, series, xLog, yLog, bands, marks }) {
    const axis = {
        stroke: colour('ink'),
        grid: { stroke: colour('line'), width: 1 },
        ticks: { stroke: colour('line') },
        font: '12px sans-serif',
        labelFont: '13px sans-serif',
    };
    return {
        width: Math.max(240, at.clientWidth),
        height: at.clientWidth < 480 ? 260 : 320,
        padding: [10, 32, 0, 0], // half of "1,000,000" at the right end of the axis
        scales: {
            x: { time: false, distr: xLog ? 3 : 1, log: xLog === 2 ? 2 : 10 },
            y: yLog
                ? { distr: 3 }
                : {
                      range: (u, low, high) =>
                          around([low, high, ...(marks || []).map((m) => m.y)]),
                  },
        },
        axes: [
            { ...axis, label: xName, values: (u, v) => ticks(v) },
            { ...axis, label: yName, size: 62, values: (u, v) => ticks(v) },
        ],
        series: [
            { label: xName, value: (u, v) => (v === null ? '' : number(v)) },
            ...series.map((s) => ({
                label: s.name,
                stroke: colour(s.colour),
                width: s.width === undefined ? 2.5 : s.width,
                dash: s.dash,
                class: s.width === 0 ? 'u-band' : undefined,
                points: { show: s.width !== 0, size: 7 },
                value: (u, v) => (v === null || v === undefined ? '' : number(v)),
            })),
        ],
        bands,
        legend: { live: true },
        hooks: {
            draw: [
                (u) => {
                    for (const m of marks || []) {
                        const x = u.valToPos(m.x === undefined ? u.scales.x.min : m.x, 'x', true),
                            y = m.y === undefined ? null : u.valToPos(m.y, 'y', true);
                        u.ctx.save();
                        u.ctx.strokeStyle = colour('soft');
                        u.ctx.setLineDash([4, 4]);
                        u.ctx.beginPath();
                        if (y === null) {
                            u.ctx.moveTo(x, u.bbox.top);
                            u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
                        } else {
                            u.ctx.moveTo(u.bbox.left, y);
                            u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
                        }
                        u.ctx.stroke();
                        u.ctx.restore();
                    }
                },
            ],
        },
    };
}

function table(xName, xs, series) {
    const rows = xs.map((x, i) =>
        make(
            'tr',
            {},
            make('th', { scope: 'row' }, number(x)),
            ...series.map((s) =>
                make(
                    'td',
                    { 'data-value': s.values[i] },
                    s.values[i] === null || s.values[i] === undefined ? '' : number(s.values[i], 4),
                ),
            ),
        ),
    );
    return make(
        'details',
        {},
        make('summary', {}, texts.table.show),
        make(
            'div',
            { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': texts.table.show },
            make(
                'table',
                {},
                make(
                    'thead',
                    {},
                    make(
                        'tr',
                        {},
                        make('th', { scope: 'col' }, xName),
                        ...series.map((s) => make('th', { scope: 'col' }, s.name)),
                    ),
                ),
                make('tbody', {}, ...rows),
            ),
        ),
    );
}

// chart: {xName, yName, xs, series: [{name, values, colour, width, dash}], xLog, yLog, bands, marks,
// summary}. What is drawn is also a table; a picture for those who hear it is its summary.
export function drawChart(at, chart) {
    const old = at.querySelector('details'),
        open = old && old.open;
    if (at.plot) at.plot.destroy();
    at.replaceChildren();
    const holder = make('div', { role: 'img', 'aria-label': chart.summary });
    at.append(holder);
    at.plot = new uPlot(
        options(at, chart),
        [chart.xs, ...chart.series.map((s) => s.values)],
        holder,
    );
    const words = table(
        chart.xName,
        chart.xs,
        chart.series.filter((s) => s.width !== 0),
    );
    words.open = !!open;
    at.append(words);
    at.redraw = () => drawChart(at, chart);
}

// In place of a chart, words.
export function drawWords(at, text) {
    if (at.plot) at.plot.destroy();
    at.plot = at.redraw = null;
    at.replaceChildren(make('p', {}, text));
}

export function follow(charts) {
    const again = () => charts.forEach((at) => at.redraw && at.clientWidth > 0 && at.redraw());
    let asked = 0;
    addEventListener('resize', () => {
        clearTimeout(asked);
        asked = setTimeout(again, 120);
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
}
