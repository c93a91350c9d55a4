// Draws the figures of a report: curves by uPlot, stacked bars by itself. Text goes in as text.
'use strict';
(() => {
    const colors = ['#0072b2', '#d55e00', '#009e73', '#b5528b', '#b37b00', '#2f8fc4', '#7f6000'];
    const phases = ['compute', 'encode', 'transfer', 'decode', 'aggregate', 'other'];
    const make = (tag, parent, text, className) => {
        const element = document.createElement(tag);
        if (text !== undefined) element.textContent = text;
        if (className) element.className = className;
        parent.append(element);
        return element;
    };
    const style = (name) =>
        getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const short = (value) =>
        value === null || value === undefined ? '' : String(+value.toPrecision(4));

    // A label looks the same in all panels.
    function labelsOf(figure) {
        const labels = [];
        for (const panel of figure.panels)
            for (const line of panel.lines)
                if (!labels.includes(line.label)) labels.push(line.label);
        return labels;
    }
    const colorOf = (labels, label) =>
        label === 'no compression'
            ? style('--ink')
            : colors[labels.filter((l) => l !== 'no compression').indexOf(label) % colors.length];
    const dashOf = (labels, label) =>
        Math.floor(labels.indexOf(label) / colors.length) > 0 ? [6, 4] : undefined;

    // Lines share their places across; bands lie between two lines that are not drawn.
    function dataOf(panel) {
        const xs = [...new Set(panel.lines.flatMap((line) => line.points.map((p) => p[0])))].sort(
            (a, b) => a - b,
        );
        const data = [xs];
        for (const line of panel.lines)
            for (const column of [1, 2, 3]) {
                const at = new Map(line.points.map((p) => [p[0], p[column]]));
                data.push(xs.map((x) => (at.has(x) ? at.get(x) : null)));
            }
        return data;
    }

    function axis(of, values) {
        const names = of.names;
        const plain = {
            label: of.label,
            font: '12px system-ui, sans-serif',
            labelFont: '12px system-ui, sans-serif',
            labelSize: 20,
            stroke: style('--ink'),
            grid: { stroke: style('--line'), width: 1 },
            ticks: { stroke: style('--line'), width: 1 },
            values: (_, at) => at.map((v) => (v === null ? '' : short(v))),
        };
        if (names)
            return {
                ...plain,
                splits: () => names.map((_, i) => i),
                values: (_, at) => at.map((i) => names[i] ?? ''),
                rotate: names.join('').length > 40 ? -40 : 0,
                size: names.join('').length > 40 ? 110 : 50,
            };
        return values ? { ...plain, splits: () => values } : plain;
    }

    // Between categories there is nothing: an interval is a bar at its own.
    function drawIntervals(u, panel, labels) {
        const { ctx } = u;
        ctx.save();
        ctx.lineWidth = 2 * devicePixelRatio;
        for (const line of panel.lines) {
            ctx.strokeStyle = colorOf(labels, line.label);
            for (const [x, , low, high] of line.points) {
                if (low === null || high === null) continue;
                const at = u.valToPos(x, 'x', true);
                ctx.beginPath();
                ctx.moveTo(at, u.valToPos(low, 'y', true));
                ctx.lineTo(at, u.valToPos(high, 'y', true));
                ctx.stroke();
            }
        }
        ctx.restore();
    }

    function plot(figure, panel, parent, labels) {
        const series = [
            {
                label: figure.x.label,
                value: (_, v) => (figure.x.names ? (figure.x.names[v] ?? '') : short(v)),
            },
        ];
        const bands = [];
        for (const line of panel.lines) {
            const color = colorOf(labels, line.label);
            const unseen = {
                show: true,
                stroke: 'transparent',
                width: 0,
                points: { show: false },
                class: 'band',
                label: '',
            };
            series.push(
                {
                    label: line.label || panel.y.label,
                    stroke: color,
                    width: figure.x.names ? 0 : 2,
                    spanGaps: true,
                    dash: dashOf(labels, line.label),
                    points: { show: line.points.length <= 40, size: 6, fill: color },
                    value: (_, v) => short(v),
                },
                unseen,
                unseen,
            );
            if (!figure.x.names)
                bands.push({
                    series: [series.length - 1, series.length - 2],
                    fill: color.length === 7 ? color + '26' : 'transparent',
                });
        }
        const data = dataOf(panel);
        const box = make('div', parent);
        const range = (log) => (log ? { distr: 3, log: 10 } : {});
        const places = data[0].map((x) => (figure.x.log ? Math.log(x) : x)),
            apart = (60 / Math.max(200, box.clientWidth - 80)) * (places.at(-1) - places[0]),
            few = // a tick for each, where their numbers do not overlap
                data[0].length <= 8 &&
                !figure.x.names &&
                places.every((x, i) => i === 0 || x - places[i - 1] >= apart);
        const chart = new uPlot(
            {
                width: Math.max(260, box.clientWidth),
                height: 280,
                series,
                bands,
                hooks: figure.x.names ? { draw: [(u) => drawIntervals(u, panel, labels)] } : {},
                cursor: { drag: { x: true, y: false } },
                legend: { show: figure.panels.length === 1 },
                scales: {
                    x: {
                        time: false,
                        ...(figure.x.log ? { distr: 3, log: 2 } : {}),
                        ...(figure.x.names ? { range: [-0.5, figure.x.names.length - 0.5] } : {}),
                    },
                    y: range(panel.y.log),
                },
                axes: [axis(figure.x, few ? data[0] : null), { ...axis(panel.y, null), size: 64 }],
            },
            data,
            box,
        );
        new ResizeObserver(() => {
            if (Math.abs(box.clientWidth - chart.width) > 2)
                chart.setSize({ width: Math.max(260, box.clientWidth), height: 280 });
        }).observe(box);
    }

    function bars(figure, panel, parent) {
        const box = make('div', parent, undefined, 'bars');
        const total = (i) =>
            panel.lines.reduce(
                (sum, line) => sum + (line.points.find((p) => p[0] === i)?.[1] ?? 0),
                0,
            );
        const most = Math.max(
            ...figure.panels.flatMap((p) =>
                figure.x.names.map((_, i) =>
                    p.lines.reduce(
                        (sum, line) => sum + (line.points.find((q) => q[0] === i)?.[1] ?? 0),
                        0,
                    ),
                ),
            ),
        );
        figure.x.names.forEach((name, i) => {
            if (total(i) === 0) return;
            make('span', box, name === 'none' ? 'no compression' : name, 'name');
            const bar = make('span', box, undefined, 'bar');
            for (const line of panel.lines) {
                const seconds = line.points.find((p) => p[0] === i)?.[1] ?? 0;
                const piece = make('span', bar);
                piece.style.width = `${(100 * seconds) / most}%`;
                piece.style.background = `var(--${phases.includes(line.label) ? line.label : 'other'})`;
                piece.title = `${line.label}: ${short(seconds)} s`;
            }
            make('span', box, `${short(total(i))} s`);
        });
    }

    function draw(holder) {
        const figure = JSON.parse(holder.querySelector('script').textContent);
        const labels = labelsOf(figure);
        const one = figure.panels.length === 1 && figure.kind !== 'phases'; // the chart has its own key
        const key = one ? null : make('ul', holder, undefined, 'key');
        for (const label of one ? [] : labels) {
            const item = make('li', key);
            make('span', item).style.background =
                figure.kind === 'phases' ? `var(--${label})` : colorOf(labels, label);
            item.append(label);
        }
        const panels = make('div', holder, undefined, 'panels');
        for (const panel of figure.panels) {
            const place = make('div', panels);
            if (panel.title) make('h4', place, panel.title);
            if (figure.kind === 'phases') bars(figure, panel, place);
            else plot(figure, panel, place, labels);
        }
    }

    function drawAll() {
        for (const holder of document.querySelectorAll('.chart')) {
            for (const child of [...holder.children])
                if (child.tagName !== 'SCRIPT') child.remove();
            draw(holder);
        }
    }
    drawAll();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
    addEventListener('beforeprint', () =>
        document.querySelectorAll('details').forEach((d) => {
            d.open = true;
        }),
    );
})();
