// The page: state in the link, questions to the server, pictures of its answers.
import { texts, lesson } from './texts.js';
import { readState, writeState, initial, LEVERS } from './state.js';
import {
    experimentOf,
    extrasOf,
    countsOf,
    leverSweep,
    isNamed,
    isEndless,
    firstOf,
} from './experiment.js';
import { get, post } from './api.js';
import { setUpAsking } from './asking.js';
import { make, byId, fill, seconds, number, pairs, isPlain, codecName } from './show.js';
import { drawControls, presets, presetState, tenBillion, valueText } from './controls.js';
import { drawPhases, drawFaster, mostOf } from './phases.js';
import { drawChart, drawWords, follow } from './charts.js';
import { drawRound } from './round.js';
import { drawLesson, isCovered, stateOf } from './lesson.js';
import { setUpReal } from './real.js';
import { setUpTrain } from './train.js';
import { setUpPlan } from './plan.js';

// What the server reads of a question, less the experiment itself.
const MOST_TABLE_BYTES = 1e6;

let state = readState(location.hash || (location.pathname === '/plan' ? '#tab=plan' : '')),
    choices = null,
    own = { name: '', table: '' };

// --- what comes back ---------------------------------------------------------------------------

function problem(text) {
    byId('problem').hidden = !text;
    byId('problem').textContent = text || '';
}

// Less than this is no difference: it would read "1 times faster".
const SAME = 0.005;

// about: what is to be said of an estimate
function showPoint(data, about) {
    const [{ row, plain }] = pairs(data.rows),
        s = texts.sentence,
        words = [];
    if (isEndless(state, row)) {
        showEndless(row);
        if (data.round) drawRound(byId('round'), data.round, { state, row, endless: true, hit });
        return;
    }
    const values = { n: row.clients, with: seconds(row.round_s), codec: codecName(row) };
    let short = fill(texts.short_plain, values);
    if (isPlain(row) || !plain) words.push(fill(s.plain, values));
    else {
        const times = plain.round_s / row.round_s;
        words.push(
            fill(Math.abs(times - 1) < SAME ? s.same : times >= 1 ? s.faster : s.slower, {
                ...values,
                without: seconds(plain.round_s),
                times: number(times >= 1 ? times : 1 / times),
            }),
        );
        short = fill(texts.short, {
            ...values,
            times: number(times >= 1 ? times : 1 / times),
            faster: times >= 1 ? texts.faster_word : texts.slower_word,
        });
    }
    byId('short').textContent = isCovered(state) ? '' : short;
    if (row.interval_s)
        words.push(
            fill(s.interval, { low: seconds(row.interval_s[0]), high: seconds(row.interval_s[1]) }),
        );
    words.push(mostOf(row), about);
    byId('answer').textContent = words.filter(Boolean).join(' ');
    byId('answer').dataset.roundS = row.round_s;
    byId('limit').textContent = row.limits ? row.limits.text : '';
    const named = [[codecName(row), row]];
    if (!isPlain(row) && plain) named.push([texts.plain, plain]);
    drawPhases(byId('phases'), named);
    if (data.round) drawRound(byId('round'), data.round, { state, row, endless: false, hit });
}

// Somebody is waited for who never answers: no number is shown of a round without an end.
function showEndless(row) {
    const s = texts.sentence,
        known = isNamed(choices.strategies, state.strategy),
        values = { ...firstOf(state), n: row.clients, strategy: state.strategy };
    showNothing();
    const way =
        known && known.parameters.some((p) => p.name === 'deadline')
            ? s.endless_deadline
            : s.endless_others;
    byId('short').textContent = isCovered(state) ? '' : fill(texts.short_endless, values);
    byId('answer').textContent = `${fill(s.endless, values)} ${fill(way, values)}`;
    byId('answer').dataset.roundS = row.round_s;
}

function showNothing() {
    for (const id of ['short', 'answer', 'limit', 'phases', 'faster']) byId(id).replaceChildren();
    byId('faster').classList.remove('stale');
}

function hit(kind, at) {
    state = {
        ...state,
        event: kind === 'undo' ? '' : kind,
        at: kind === 'undo' ? 0 : Number(at.toPrecision(6)),
    };
    history.pushState(null, '', link(state));
    ask();
}

const speedup = ({ row, plain }) => (plain ? plain.round_s / row.round_s : null);

function paysText(all) {
    const faster = all.filter((p) => speedup(p) > 1).map((p) => p.row.clients),
        s = texts.sentence;
    if (all.length === 0 || isPlain(all[0].row)) return '';
    if (faster.length === 0) return s.never;
    if (faster.length === all.length) return s.always;
    const last = faster.at(-1) === all.at(-1).row.clients;
    return fill(last ? s.pays : s.pays_between, { first: faster[0], last: faster.at(-1) });
}

function showCurve(data) {
    const all = pairs(data.rows).sort((a, b) => a.row.clients - b.row.clients),
        xs = all.map((p) => p.row.clients);
    const coded = !isPlain(all[0].row),
        marks = [{ x: state.clients }];
    if (all.every((p) => isEndless(quiet(state), p.row))) {
        drawWords(byId('curve'), texts.sentence.none_ends);
        return;
    }
    const plainRows = all.map((p) => (coded ? p.plain : p.row));
    const chart = {
        xName: texts.clients,
        xs,
        xLog: 2,
        marks,
        summary: `${texts.curve}: ${paysText(all)}`,
    };
    if (state.y === 'speedup' && coded) {
        drawChart(byId('curve'), {
            ...chart,
            yName: texts.faster,
            series: [{ name: codecName(all[0].row), values: all.map(speedup), colour: 'coded' }],
            marks: [...marks, { y: 1 }],
        });
        return;
    }
    const series = [
        {
            name: texts.plain,
            values: plainRows.map((r) => (r ? r.round_s : null)),
            colour: 'plain',
            dash: [6, 4],
        },
    ];
    let bands;
    if (coded) {
        series.push({
            name: codecName(all[0].row),
            values: all.map((p) => p.row.round_s),
            colour: 'coded',
        });
        const ends = [1, 0].map((k) =>
            all.map((p) => (p.row.interval_s ? p.row.interval_s[k] : null)),
        );
        series.push(
            { name: texts.high, values: ends[0], colour: 'coded', width: 0 },
            { name: texts.low, values: ends[1], colour: 'coded', width: 0 },
        );
        bands = [
            {
                series: [3, 4],
                fill: getComputedStyle(document.documentElement).getPropertyValue('--band'),
            },
        ];
    }
    drawChart(byId('curve'), { ...chart, yName: texts.seconds, yLog: true, series, bands });
}

let leverValues = [];
function showLever(data) {
    const all = pairs(data.rows),
        lever = state.lever;
    if (all.length !== leverValues.length) return;
    const name = texts.sliders[lever],
        title = isPlain(all[0].row) ? texts.lever_plain : texts.lever;
    byId('lever-title').textContent = fill(title, {
        slider: name.charAt(0).toLowerCase() + name.slice(1),
    });
    if (all.every((p) => isEndless(quiet(state), p.row))) {
        drawWords(byId('lever'), texts.sentence.none_ends);
        return;
    }
    const log = lever === 'clients' ? 2 : !['rtt', 'loss'].includes(lever);
    const chart = {
        xName: texts.sliders[lever] + (texts.units[lever] ? `, ${texts.units[lever]}` : ''),
        xs: leverValues,
        xLog: log,
        marks: [{ x: state[lever] }],
        summary: byId('lever-title').textContent,
    };
    if (isPlain(all[0].row)) {
        const times = all.map((p) => p.row.round_s);
        drawChart(byId('lever'), {
            ...chart,
            yName: texts.seconds,
            yLog: Math.max(...times) > 10 * Math.min(...times), // else the short ones lie on 0
            series: [{ name: texts.plain, values: times, colour: 'plain' }],
        });
    } else {
        const coded = all.find((p) => !isPlain(p.row)).row;
        drawChart(byId('lever'), {
            ...chart,
            yName: texts.faster,
            series: [
                {
                    name: codecName(coded, lever !== 'bound'), // there x is the bound
                    values: all.map(speedup),
                    colour: 'coded',
                },
            ],
            marks: [...chart.marks, { y: 1 }],
        });
    }
}

// Below a curve while something happens to a client in the round above.
function noteWithout(id) {
    if (!state.event || state.experiment) return;
    const text = fill(texts.hit_without, firstOf(state));
    byId(id).textContent = [byId(id).textContent, text].filter(Boolean).join(' ');
}

let lastCurve = null;
const askAll = setUpAsking(problem, {
    point: showPoint,
    nothing: showNothing,
    curve: (data) => {
        lastCurve = data;
        showCurve(data);
        noteWithout('curve-note');
        if (state.lever !== 'clients') return;
        showClientsLever(data);
        byId('lever').classList.remove('stale');
        byId('lever-note').textContent = byId('curve-note').textContent;
    },
    lever: (data) => {
        showLever(data);
        noteWithout('lever-note');
    },
    faster: (data) => {
        if (!isEndless(state, data.rows[0])) drawFaster(byId('faster'), data.faster, data.rows[0]);
    },
});

function showClientsLever(data) {
    const all = pairs(data.rows).sort((a, b) => a.row.clients - b.row.clients);
    leverValues = all.map((p) => p.row.clients);
    showLever({
        rows: all.flatMap((p) => (p.plain && p.plain !== p.row ? [p.row, p.plain] : [p.row])),
    });
}

// --- what is asked -----------------------------------------------------------------------------

function ask() {
    if (!['explore', 'lesson'].includes(state.tab)) {
        askAll(null);
        return;
    }
    if (state.model === 'own' && !own.table && !state.experiment) {
        askAll(null);
        problem(texts.own_absent);
        return;
    }
    try {
        if (document.activeElement !== byId('as-json'))
            byId('as-json').value = JSON.stringify(experimentOf(state, choices), null, 1);
        askAll({ point: pointBody(), curve: curveBody(), lever: leverBody() });
    } catch (why) {
        askAll(null);
        problem(fill(texts.not_json, { why: why.message }));
    }
}

const pointBody = () => ({
    experiment: experimentOf(state, choices),
    ...extrasOf(state, own.table),
});
// Curves are of the setting: what happens to one client at one moment of a run is of that run alone.
const quiet = (s) => ({ ...s, event: '', at: 0 });
function curveBody() {
    const counts = countsOf(state),
        most = counts.at(-1);
    return {
        experiment: {
            ...experimentOf(quiet(state), choices, most),
            vary: { '/clients': counts },
        },
        ...extrasOf(state, own.table, most),
    };
}
// The clients' own curve is that of all settings.
function leverBody() {
    if (state.lever === 'clients' || state.experiment) return null;
    const lever = leverSweep(state.lever, quiet(state), choices);
    leverValues = lever.values;
    return { experiment: lever.experiment, ...extrasOf(state, own.table) };
}

// The first count at which compression pays, exactly: between two counts of the curve, by halves.
async function findBreakeven(s) {
    const curve = async (counts) =>
        pairs(
            (
                await post('/api/run', {
                    experiment: { ...experimentOf(s, choices), vary: { '/clients': counts } },
                })
            ).rows,
        );
    let all = await curve([1, 2, 4, 8, 16, 32, 64]);
    for (;;) {
        const at = all.findIndex((p, i) => i > 0 && speedup(p) > 1 && speedup(all[i - 1]) <= 1);
        if (at < 0) return { pays: paysText(all), breakeven: 0 };
        const low = all[at - 1].row.clients,
            high = all[at].row.clients;
        if (high === low + 1)
            return { pays: fill(texts.sentence.pays, { first: high }), breakeven: high };
        const step = Math.max(1, Math.floor((high - low) / 8)),
            between = [];
        for (let n = low; n < high; n += step) between.push(n);
        all = await curve([...between, high]);
    }
}

// --- the page ----------------------------------------------------------------------------------

function link(to) {
    return writeState(to);
}
function go(to) {
    state = to;
    history.pushState(null, '', link(state));
    draw();
    window.scrollTo(0, 0);
}

let writing = 0;
function change(key, value) {
    state = { ...state, [key]: value };
    if (key === 'codec' && value !== 'sz') state.profile = '';
    if (LEVERS.includes(key)) state.lever = key;
    clearTimeout(writing);
    writing = setTimeout(() => history.replaceState(null, '', link(state)), 150);
    if (!LEVERS.includes(key)) drawControls(state, choices, own.name, change);
    ask();
}

function cover() {
    const on = isCovered(state);
    for (const id of ['explore']) {
        byId(id).classList.toggle('covered', on);
        byId(id).dataset.cover = texts.hidden;
        byId(id).inert = on;
    }
}

function draw() {
    byId('tabs').replaceChildren(
        ...Object.entries(texts.tabs).map(([tab, name]) =>
            make(
                'a',
                {
                    href: link(tab === 'lesson' ? stateOf(0) : { ...state, tab }),
                    'aria-current': state.tab === tab ? 'page' : false,
                },
                name,
            ),
        ),
    );
    for (const id of ['lesson', 'plan', 'real', 'train']) byId(id).hidden = state.tab !== id;
    byId('explore').hidden = !['explore', 'lesson'].includes(state.tab);
    byId('show-times').setAttribute('aria-pressed', state.y !== 'speedup');
    byId('show-speedup').setAttribute('aria-pressed', state.y === 'speedup');
    byId('preset').value = state.preset;
    const note = (presets[state.preset] || {}).note;
    byId('preset-note').hidden = !note;
    if (note) byId('preset-note').textContent = fill(texts.preset_notes[note[0]], note[1]);
    if (state.model === 'own' && !own.table && note) own = { name: '10 GB', table: tenBillion };
    drawControls(state, choices, own.name, change);
    problem(state.experiment ? texts.from_json : '');
    if (state.tab === 'lesson')
        drawLesson(state, choices, { to: go, link }, findBreakeven, () => {
            cover();
            ask();
        });
    cover();
    ask();
}

function setUp() {
    document.title = texts.title;
    document.documentElement.lang = texts.language;
    document.querySelectorAll('[data-text]').forEach((e) => {
        e.textContent = texts[e.dataset.text];
    });
    byId('preset').replaceChildren(
        ...Object.entries(texts.presets).map(([name, text]) =>
            make('option', { value: name }, text),
        ),
    );
    byId('preset').onchange = () => go({ ...presetState(byId('preset').value), tab: 'explore' });
    byId('reset').onclick = () => go({ ...initial });
    for (const [id, y] of [
        ['show-times', 'times'],
        ['show-speedup', 'speedup'],
    ])
        byId(id).onclick = () => {
            state = { ...state, y };
            history.replaceState(null, '', link(state));
            for (const other of ['show-times', 'show-speedup'])
                byId(other).setAttribute('aria-pressed', other === id);
            if (lastCurve) showCurve(lastCurve);
        };
    byId('apply-json').onclick = () => {
        try {
            go({ ...state, experiment: JSON.stringify(JSON.parse(byId('as-json').value)) });
        } catch (why) {
            problem(fill(texts.not_json, { why: why.message }));
        }
    };
    byId('copy-link').onclick = async () => {
        await navigator.clipboard.writeText(location.href.replace(/#.*/, '') + link(state));
        byId('status').textContent = texts.copied;
    };
    byId('own-model').onchange = async (event) => {
        const [file] = event.target.files;
        if (!file) return;
        if (file.size > MOST_TABLE_BYTES) {
            problem(fill(texts.own_large, { mb: number(file.size / 1e6) }));
            event.target.value = '';
            return;
        }
        own = { name: file.name, table: await file.text() };
        event.target.value = ''; // so that the same file can be chosen again, edited
        go({ ...state, model: 'own', preset: '' });
    };
    const moved = () => {
        state = readState(location.hash);
        draw();
    };
    addEventListener('popstate', moved);
    follow([byId('curve'), byId('lever'), byId('train-race')]);
    setUpReal(() => ({ state, choices }));
    setUpTrain(() => ({ state, choices }));
    setUpPlan(() => ({ state, choices }));
}

async function begin() {
    document.querySelectorAll('[data-text]').forEach((e) => {
        e.textContent = texts[e.dataset.text];
    });
    byId('status').textContent = texts.computing;
    try {
        choices = await get('/api/choices');
    } catch (why) {
        problem(fill(texts.broken, { why: why.message }));
        setTimeout(begin, 2000);
        return;
    }
    problem('');
    setUp();
    draw();
    document.body.dataset.ready = 'yes';
}
begin();
