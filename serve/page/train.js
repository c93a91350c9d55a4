// Live training: two settings race in simulated time, each a network that really trains.
import { texts } from './texts.js';
import { post } from './api.js';
import { make, byId, fill, seconds, bytes, number, codecName } from './show.js';
import { drawChart } from './charts.js';

const RACE_S = 6;
const TASKS = {
    quadratic: {
        strategy: { name: 'fedavg', rounds: 20, local_steps: 5 },
        training: { task: 'quadratic', lr: 0.01 },
    },
    'fashion-mlp': {
        strategy: { name: 'fedavg', rounds: 12, local_steps: 5 },
        training: {
            task: 'fashion-mlp',
            lr: 0.05,
            momentum: 0.9,
            samples: 4000,
            eval: { every: 1, samples: 1000 },
        },
    },
};
const CODECS = {
    none: 'none',
    'sz 0.001': { name: 'sz', bound: { range: 0.001 } },
    'sz 0.01': { name: 'sz', bound: { range: 0.01 } },
    'sz 0.1': { name: 'sz', bound: { range: 0.1 } },
    fp16: { name: 'fp16' },
    topk: { name: 'topk' },
    signsgd: { name: 'signsgd' },
};
let running = 0;

export function trainingOf(task, codec, state) {
    return {
        schema: 'strait-experiment/1',
        ...TASKS[task],
        codec: CODECS[codec],
        clients: Math.max(1, Math.min(state.clients, 16)),
        seed: 1,
        network: {
            client: { rate: `${state.rate / 100} Mbps`, rtt: `${state.rtt} ms` },
            server: { rate: `${state.server / 100} Mbps` },
        },
    };
}

const points = (row) =>
    row.training.rounds
        .map((r, i) => [row.training.end_s[i], row.training.loss[i]])
        .filter(([, y]) => y !== null);

function draw(rows, until) {
    const xs = [...new Set(rows.flatMap((row) => points(row).map(([x]) => x)))]
        .filter((x) => x <= until)
        .sort((a, b) => a - b);
    const series = rows.map((row, i) => {
        const at = new Map(points(row));
        return {
            name: codecName(row),
            values: xs.map((x) => at.get(x)),
            colour: i ? 'coded' : 'plain',
        };
    });
    if (xs.length > 0)
        drawChart(byId('train-race'), {
            xName: texts.train_x,
            yName: texts.train_y,
            xs,
            series,
            yLog: true,
            summary: texts.train,
        });
    byId('train-race')
        .querySelectorAll('details')
        .forEach((d) => {
            d.hidden = until < Infinity;
        });
}

function race(rows) {
    const end = Math.max(...rows.map((row) => row.training.end_s.at(-1))),
        turn = ++running;
    const tell = () =>
        byId('train-result').replaceChildren(
            ...rows.map((row) =>
                make(
                    'p',
                    {},
                    fill(texts.train_result, {
                        name: codecName(row),
                        rounds: row.training.rounds.length,
                        loss: number(row.training.final.loss),
                        s: seconds(row.total_s),
                        mb: bytes(row.bytes.payload),
                        accuracy:
                            row.training.final.accuracy === null
                                ? ''
                                : fill(texts.train_accuracy, {
                                      a: number(100 * row.training.final.accuracy),
                                  }),
                    }),
                ),
            ),
        );
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
        draw(rows, Infinity);
        tell();
        return;
    }
    const began = performance.now();
    let last = 0;
    (function step(now) {
        if (turn !== running) return;
        const f = (now - began) / (1000 * RACE_S);
        if (f >= 1) {
            draw(rows, Infinity);
            tell();
            return;
        }
        if (now - last > 80) {
            draw(rows, f * end);
            last = now;
        }
        requestAnimationFrame(step);
    })(began);
}

export function setUpTrain(current) {
    const pick = (id, label, all, value) => {
        const element = make(
            'select',
            { id },
            ...all.map(([v, name]) => make('option', { value: v }, name)),
        );
        element.value = value;
        return make('label', {}, label, element);
    };
    const names = Object.keys(CODECS).map((n) => [n, n === 'none' ? texts.no_codec : n]);
    const form = byId('train-form');
    const button = make('button', { type: 'submit' }, texts.train_start);
    form.replaceChildren(
        pick('train-task', texts.train_task, Object.entries(texts.tasks), 'fashion-mlp'),
        pick('train-a', texts.train_a, names, 'none'),
        pick('train-b', texts.train_b, names, 'sz 0.01'),
        make('p', { class: 'buttons' }, button),
    );
    form.onsubmit = async (event) => {
        event.preventDefault();
        running++;
        button.disabled = true;
        byId('train-result').textContent = texts.train_running;
        byId('train-race').replaceChildren();
        try {
            const answers = await Promise.all(
                ['train-a', 'train-b'].map((id) =>
                    post('/api/run', {
                        experiment: trainingOf(
                            byId('train-task').value,
                            byId(id).value,
                            current().state,
                        ),
                    }),
                ),
            );
            byId('train-result').textContent = '';
            race(answers.map((a) => a.rows.find((row) => !row.reference)));
        } catch (why) {
            byId('train-result').textContent = why.message;
        }
        button.disabled = false;
    };
}
