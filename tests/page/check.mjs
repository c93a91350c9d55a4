// The page in a real browser, end to end: check.mjs STRAIT CHROMIUM. Numbers on the screen are held
// against the rows of the server, which tests/serve holds against strait run. Nothing waits for a
// time: each step waits for what it wants to see.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { readFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const require = createRequire(`${root}page/package.json`);
const puppeteer = require('puppeteer-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [, , strait, chromium, pictures] = process.argv,
    only = process.env.PARTS;
let failed = 0,
    n = 0;

function check(what, holds, found = '') {
    n++;
    if (holds) return;
    failed++;
    console.log(`not ok: ${what}${found === '' ? '' : `: found ${found}`}`);
}

// --- the server, and one between it and the page that is slow or broken -------------------------

const PORT = 18765 + (process.pid % 2000);
const server = spawn(strait, ['serve', '--port', String(PORT)], {
    stdio: ['ignore', 'pipe', 'inherit'],
});
const address = await new Promise((resolve, reject) => {
    server.stdout.once('data', (data) => resolve(String(data).trim()));
    server.once('exit', (code) => reject(new Error(`strait serve ended with status ${code}`)));
});

let mood = 'good',
    held = [],
    asked = 0;
const between = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const isQuestion = request.url === '/api/run';
    asked += isQuestion;
    if (isQuestion && mood === 'broken') {
        request.socket.destroy();
        return;
    }
    if (isQuestion && mood === 'nonsense') {
        response.end('<html>not JSON');
        return;
    }
    if (isQuestion && mood === 'slow') await new Promise((go) => held.push(go));
    const answer = await fetch(address.replace(/\/$/, '') + request.url, {
        method: request.method,
        headers: { 'Content-Type': request.headers['content-type'] || 'text/plain' },
        body: request.method === 'POST' ? Buffer.concat(parts) : undefined,
    });
    response.writeHead(answer.status, {
        'Content-Type': answer.headers.get('content-type'),
        'Content-Security-Policy': answer.headers.get('content-security-policy'),
    });
    response.end(Buffer.from(await answer.arrayBuffer()));
});
await new Promise((done) => between.listen(0, '127.0.0.1', done));
const through = `http://127.0.0.1:${between.address().port}/`;

// --- the browser --------------------------------------------------------------------------------

const browser = await puppeteer.launch({
    executablePath: chromium,
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--force-prefers-reduced-motion'],
});
const outside = [];
async function open(url, width = 1280, media = []) {
    const page = await browser.newPage();
    page.setDefaultTimeout(Number(process.env.PATIENCE_MS || 60000));
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaFeatures([
        { name: 'prefers-reduced-motion', value: 'reduce' },
        ...media,
    ]);
    page.on('pageerror', (e) => check('no error in a script', false, e.message));
    page.on('request', (r) => {
        if (
            !r.url().startsWith(address) &&
            !r.url().startsWith(through) &&
            !r.url().startsWith('data:')
        )
            outside.push(r.url());
    });
    page.on('console', (m) => {
        if (m.type() === 'error' && /Content Security|Refused/.test(m.text()))
            check('nothing is blocked', false, m.text());
    });
    await page.goto(url);
    await page.waitForSelector('body[data-ready]');
    return page;
}
const text = (page, selector) => page.$eval(selector, (e) => e.textContent);
const answered = (page) =>
    page.waitForFunction(
        () =>
            document.querySelector('#answer').textContent !== '' &&
            document.querySelector('#curve table'),
    );
async function accessible(page, name) {
    await page.evaluate(axe);
    const found = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
    check(
        `axe-core: ${name}`,
        found.violations.length === 0,
        found.violations
            .map(
                (v) =>
                    `${v.id} (${v.nodes.length}): ${v.nodes[0].html} ${v.nodes[0].failureSummary}`,
            )
            .join(' | '),
    );
}
async function picture(page, name) {
    if (!pictures) return;
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
}
const rowsOf = async (experiment) =>
    (
        await (
            await fetch(`${address}api/run`, {
                method: 'POST',
                headers: { 'Content-Type': 'application/json' },
                body: JSON.stringify({ experiment }),
            })
        ).json()
    ).rows;

// Every number of the picture is its row's.
async function numbers() {
    const page = await open(`${address}#clients=5&rate=100&bound=0.01`);
    await answered(page);
    const experiment = JSON.parse(await page.$eval('#as-json', (e) => e.value));
    check(
        'the slider is in the experiment',
        experiment.clients === 5 &&
            experiment.network.client.rate === '100 Mbps' &&
            experiment.codec.bound.range === 0.01,
        JSON.stringify(experiment),
    );
    const rows = await rowsOf(experiment),
        coded = rows.find((r) => !r.reference),
        plain = rows.find((r) => r.reference);
    check(
        'the answer is the row',
        Number(await page.$eval('#answer', (e) => e.dataset.roundS)) === coded.round_s,
    );
    const totals = await page.$$eval('#phases [data-round-s]', (cells) =>
        cells.map((c) => Number(c.dataset.roundS)),
    );
    check(
        'the bars are the rows',
        totals[0] === coded.round_s && totals[1] === plain.round_s,
        totals,
    );
    const curve = await page.$$eval('#curve tbody tr', (lines) =>
        lines.map((l) => [
            l.querySelector('th').textContent,
            ...[...l.querySelectorAll('td')].map((c) => Number(c.dataset.value)),
        ]),
    );
    const here = curve.find(([clients]) => clients === '5');
    check(
        'the curve has the row',
        here && here[1] === plain.round_s && here[2] === coded.round_s,
        JSON.stringify(curve),
    );
    check(
        'what limits it is the row’s',
        (await text(page, '#limit')) === coded.limits.text,
        await text(page, '#limit'),
    );
    await page.waitForSelector('#faster:not(.stale) td');
    check(
        'what would help saves the most first',
        (
            await page.$$eval('#faster [data-round-s]', (cells) =>
                cells.map((c) => Number(c.dataset.roundS)),
            )
        ).every((s, i, all) => s < coded.round_s && (i === 0 || s >= all[i - 1])),
    );
    await accessible(page, 'explore');
    await picture(page, 'explore');
    await page.close();
}

// Keyboard alone: a slider moves, the link and the answer follow, going back goes back.
async function keyboard() {
    const page = await open(address);
    await answered(page);
    const before = await page.$eval('#answer', (e) => e.dataset.roundS);
    await page.focus('#c-clients');
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(
        (old) => document.querySelector('#answer').dataset.roundS !== old,
        {},
        before,
    );
    check(
        'the next place of clients is 12',
        /With 12 clients/.test(await text(page, '#answer')),
        await text(page, '#answer'),
    );
    await page.waitForFunction(() => location.hash.includes('clients=12'));
    check(
        'the slider keeps the focus',
        await page.evaluate(() => document.activeElement.id === 'c-clients'),
    );
    await page.focus('#c-rate');
    await page.keyboard.press('ArrowLeft');
    await page.waitForFunction(
        () =>
            document.querySelector('#lever-title').textContent.includes('bandwidth') &&
            document.querySelector('#lever table'),
    );
    check('the lever has its own curve', (await page.$$('#lever tbody tr')).length > 5);
    await page.close();
}

// A link beyond the sliders, one with nonsense, an experiment by hand, one that is refused.
async function links() {
    let page = await open(`${address}#clients=777&rate=123456&codec=none&bound=x&foo=1`);
    await page.waitForFunction(() =>
        /777 clients/.test(document.querySelector('#answer').textContent),
    );
    check(
        'a slider says the value beyond its end',
        (await page.$eval('#c-rate', (e) => e.getAttribute('aria-valuetext'))) === '123 Gbps',
    );
    await page.close();
    page = await open(`${address}#model=nosuch`);
    await page.waitForFunction(() => !document.querySelector('#problem').hidden);
    check(
        'a refusal is one line',
        /experiment#\/model: expected a shipped model|experiment#\/model: /.test(
            await text(page, '#problem'),
        ),
        await text(page, '#problem'),
    );
    await page.click('#more summary');
    const own = {
        schema: 'strait-experiment/1',
        model: 'cnn',
        strategy: 'fedavg',
        clients: 3,
        network: { client: { rate: '1 Gbps' }, server: { rate: '1 Gbps' } },
    };
    await page.$eval(
        '#as-json',
        (e, t) => {
            e.value = t;
        },
        JSON.stringify(own),
    );
    await page.click('#apply-json');
    await page.waitForFunction(
        () =>
            location.hash.includes('experiment=') &&
            document.querySelector('#answer').textContent !== '',
    );
    const [row] = await rowsOf({ ...own, clients: 8 });
    await page.waitForFunction(
        (s) => Number(document.querySelector('#answer').dataset.roundS) === s,
        {},
        row.round_s,
    );
    await page.close();
}

// Nonsense in a link: words that the page knows are as they are without it, and what cannot be asked
// is one line that says so, without an answer.
async function nonsense() {
    const said = async (hash, pattern) => {
        const page = await open(`${address}#${hash}`);
        await page.waitForFunction(() => !document.querySelector('#problem').hidden);
        const found = await text(page, '#problem');
        check(`#${hash} is refused`, pattern.test(found), found);
        check(
            `#${hash} has no answer, and none is under way`,
            (await text(page, '#answer')) === '' && (await text(page, '#status')) === '',
            await text(page, '#status'),
        );
        await page.close();
    };
    await said('experiment=foo', /^Expected JSON: /);
    await said('experiment=null', /^Expected JSON: no object/);
    await said('model=own', /a model of your own, whose file no link contains/);
    await said('rtt=-5', /rtt: expected a time of at least 0 s, found "-5 ms"/);
    await said('clients=1e9', /clients: expected at most 10000 on this page/);
    let page = await open(`${address}#tab=x&lever=x&link=x&event=x&y=x&preset=x&profile=x`);
    await answered(page);
    const experiment = JSON.parse(await page.$eval('#as-json', (e) => e.value));
    check(
        'words that nobody knows change nothing',
        !experiment.network.events &&
            !Array.isArray(experiment.network.client) &&
            !experiment.codec.profile &&
            (await page.$eval('#explore', (e) => !e.hidden)),
        JSON.stringify(experiment),
    );
    await page.close();
    page = await open(`${address}#lever=deadline`);
    await page.waitForSelector('#lever tbody tr');
    const places = await page.$$eval('#lever tbody th', (all) => all.map((e) => e.textContent));
    check('a logarithmic axis has no 0', places.length > 4 && !places.includes('0'), places);
    await page.close();
    const own = await open(address);
    await answered(own);
    const file = `${mkdtempSync(`${tmpdir()}/strait-page-`)}/large.csv`;
    writeFileSync(file, 'x'.repeat(1100000));
    await own.click('#more summary');
    await (await own.$('#own-model')).uploadFile(file);
    await own.waitForFunction(() =>
        /at most 1 MB/.test(document.querySelector('#problem').textContent),
    );
    writeFileSync(file, 'no,table\n');
    await (await own.$('#own-model')).uploadFile(file);
    await own.waitForFunction(() =>
        /^table:1: /.test(document.querySelector('#problem').textContent),
    );
    check('a table that is refused has no answer', (await text(own, '#answer')) === '');
    rmSync(dirname(file), { recursive: true });
    await own.close();
}

// Packet losses of a large model: an estimate that says so, in the sentence and below the curve; of
// a small one what is simulated in full replaces it.
async function estimates() {
    let page = await open(`${address}#loss=1`);
    await page.waitForFunction(() =>
        /in full it would take about \d+ s/.test(document.querySelector('#answer').textContent),
    );
    await page.waitForSelector('#round:not(.stale) input[type=range]');
    check(
        'an estimated curve says so',
        /^Estimated: losses by formula/.test(await text(page, '#curve-note')),
        await text(page, '#curve-note'),
    );
    const shown = await page.$eval('#answer', (e) => Number(e.dataset.roundS));
    const drawn = await page.$eval('#round .buttons .note, #round .buttons', (e) => e.textContent);
    check(
        'the round is that of the estimate',
        drawn.includes(`${Number(shown.toPrecision(3)).toLocaleString('en')} s`),
        drawn,
    );
    await picture(page, 'estimate');
    await page.close();
    page = await open(`${address}#model=cnn&loss=1&clients=2`);
    const experiment = JSON.parse(await page.$eval('#as-json', (e) => e.value));
    const [row] = await rowsOf(experiment);
    await page.waitForFunction(
        (s) => Number(document.querySelector('#answer').dataset.roundS) === s,
        {},
        row.round_s,
    );
    check(
        'the row in full has replaced the estimate',
        !/estimate/.test(await text(page, '#answer')),
        await text(page, '#answer'),
    );
    await page.close();
}

// Each step: covered, guessed, shown; and its figures are those of rows.
async function lessons() {
    const page = await open(`${address}#tab=lesson`);
    for (let step = 0; step < 6; step++) {
        await page.waitForFunction(
            (k) =>
                document
                    .querySelector('#lesson-steps [aria-current]')
                    .textContent.startsWith(String(k + 1)),
            {},
            step,
        );
        check(
            `step ${step + 1} is covered before the guess`,
            await page.$eval('#explore', (e) => e.classList.contains('covered') && e.inert),
        );
        if (step === 1) await accessible(page, 'lesson');
        if (await page.$('#guess input[type=number]'))
            await page.type('#guess input[type=number]', '42');
        else await page.click('#guess input[type=radio]');
        await page.click('#guess button[type=submit]');
        await page.waitForFunction(() => document.querySelectorAll('#reveal p').length === 2);
        const told = await text(page, '#reveal');
        check(`step ${step + 1} has all its figures`, !/[{}]|NaN|undefined/.test(told), told);
        check(
            `step ${step + 1} is uncovered`,
            !(await page.$eval('#explore', (e) => e.classList.contains('covered'))),
        );
        if (step === 1)
            check(
                'the break-even of the README, 42 clients',
                /from 42 clients/.test(told) && /That is right/.test(told),
                told,
            );
        if (pictures) console.log(told);
        await picture(page, `lesson-${step + 1}`);
        if (step < 5) await page.click('#lesson-next');
    }
    await page.close();
    const linked = await open(`${address}#tab=lesson&step=4`);
    await answered(linked);
    check(
        'a link to a step alone has its 16 clients',
        /With 16 clients/.test(await text(linked, '#answer')),
        await text(linked, '#answer'),
    );
    await linked.close();
}

// A server that is slow: said so; of many questions only the last one's answer is shown.
async function slow() {
    const page = await open(through);
    await answered(page);
    mood = 'slow';
    held = [];
    asked = 0;
    await page.focus('#c-clients');
    for (let i = 0; i < 6; i++) await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => /long/.test(document.querySelector('#status').textContent));
    check('few questions wait though six moves were made', asked <= 4, asked);
    mood = 'good';
    held.forEach((go) => go());
    await page.waitForFunction(() =>
        /With 48 clients/.test(document.querySelector('#answer').textContent),
    );
    mood = 'broken';
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() =>
        /does not answer/.test(document.querySelector('#problem').textContent),
    );
    mood = 'nonsense';
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() =>
        /cannot be read/.test(document.querySelector('#problem').textContent),
    );
    await accessible(page, 'broken server');
    mood = 'good';
    await page.waitForFunction(
        () =>
            document.querySelector('#problem').hidden &&
            /With 96 clients/.test(document.querySelector('#answer').textContent),
    );
    await page.close();
}

async function phone() {
    for (const scheme of ['light', 'dark']) {
        const page = await open(`${address}#tab=explore`, 390, [
            { name: 'prefers-color-scheme', value: scheme },
        ]);
        await answered(page);
        check(
            'nothing is wider than the phone',
            await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
            await page.evaluate(() => document.documentElement.scrollWidth),
        );
        await accessible(page, `phone, ${scheme}`);
        await picture(page, `phone-${scheme}`);
        await page.close();
    }
}

async function training() {
    const page = await open(`${address}#tab=train`);
    await page.select('#train-task', 'quadratic');
    await page.click('#train-form button');
    await page.waitForFunction(() => document.querySelectorAll('#train-result p').length === 2);
    const told = await text(page, '#train-result');
    check(
        'both settings tell of 20 rounds',
        (told.match(/after 20 rounds/g) || []).length === 2,
        told,
    );
    await accessible(page, 'training');
    await picture(page, 'training');
    await page.close();
}

const press = (page, pattern, place) =>
    page.evaluate(
        (source, at) => {
            const slide = document.querySelector('#round input[type=range]');
            slide.value = at;
            slide.dispatchEvent(new Event('input'));
            [...document.querySelectorAll('#round button')]
                .find((b) => new RegExp(source).test(b.textContent))
                .click();
        },
        pattern,
        place,
    );

// Somebody who is killed: without a deadline the round has no end and no time is shown of it; with
// one the others go on. Where there is no server, it is rank 0. Curves are of the setting alone.
async function deaths() {
    let page = await open(`${address}#clients=4&codec=none&server=10000`);
    await page.waitForSelector('#round:not(.stale) input[type=range]');
    await press(page, 'Kill client 1', 400);
    await page.waitForFunction(() =>
        /does not end/.test(document.querySelector('#answer').textContent),
    );
    await page.waitForFunction(() =>
        /This round does not end/.test(document.querySelector('#hit-note')?.textContent),
    );
    check(
        'a round without an end has no time',
        !/\d s\b/.test(await text(page, '#answer')) &&
            (await page.$('#phases [data-round-s]')) === null &&
            (await text(page, '#limit')) === '',
        await text(page, '#answer'),
    );
    const curve = await page.$$eval('#curve tbody td', (all) =>
        all.map((e) => Number(e.dataset.value)),
    );
    check('the curve is without the death', Math.max(...curve) < 1000, curve);
    check(
        'and says so',
        /Without what happens to client 1/.test(await text(page, '#curve-note')),
        await text(page, '#curve-note'),
    );
    await picture(page, 'kill');
    await press(page, 'Kill client 1', 500);
    await page.waitForFunction(() => !document.querySelector('#round').classList.contains('stale'));
    check('killed twice', /does not end/.test(await text(page, '#answer')));
    await page.close();
    page = await open(`${address}#clients=4&codec=none&server=10000&event=kill&at=45`);
    await page.waitForSelector('#hit-note');
    check(
        'what comes after the round is said to',
        /has ended by then/.test(await text(page, '#hit-note')),
        await text(page, '#hit-note'),
    );
    await page.close();
    page = await open(`${address}#clients=4&codec=none&server=10000&deadline=40`);
    await page.waitForSelector('#round:not(.stale) input[type=range]');
    await press(page, 'Kill client 1', 400);
    await page.waitForSelector('#hit-note');
    const experiment = JSON.parse(await page.$eval('#as-json', (e) => e.value)),
        [row] = await rowsOf(experiment);
    check(
        'with a deadline the client leaves',
        experiment.network.events[0].present === false && row.rounds_s[1] > 40,
        JSON.stringify(experiment.network.events),
    );
    await page.waitForFunction(
        (s) => Number(document.querySelector('#answer').dataset.roundS) === s,
        {},
        row.round_s,
    );
    check(
        'both rounds are the row’s',
        (await text(page, '#hit-note')).includes(
            `takes ${Number(row.rounds_s[1].toPrecision(3))} s, the one before it took ${Number(row.rounds_s[0].toPrecision(3))} s`,
        ),
        await text(page, '#hit-note'),
    );
    await page.close();
    page = await open(`${address}#strategy=bsp&model=resnet&clients=4&codec=none`);
    await page.waitForSelector('#round:not(.stale) input[type=range]');
    await press(page, 'Kill rank 0', 300);
    await page.waitForFunction(() =>
        /^Rank 0 no longer answers/.test(document.querySelector('#answer').textContent),
    );
    await page.close();
}

// Client 1's link is slowed in the middle of the shown round, which is longer then; and undone.
async function hits() {
    const page = await open(`${address}#clients=4&codec=none&server=10000`);
    await answered(page);
    const before = await page.$eval('#answer', (e) => Number(e.dataset.roundS));
    await page.waitForSelector('#round input[type=range]');
    await page.$eval('#round input[type=range]', (e) => {
        e.value = 250;
        e.dispatchEvent(new Event('input'));
    });
    await page.evaluate(() =>
        [...document.querySelectorAll('#round button')]
            .find((b) => /tenth/.test(b.textContent))
            .click(),
    );
    await page.waitForSelector('#hit-note');
    const experiment = JSON.parse(await page.$eval('#as-json', (e) => e.value)),
        [event] = experiment.network.events;
    const [row] = await rowsOf(experiment);
    check(
        'the round is longer by the event',
        row.round_s > before &&
            Number(await page.$eval('#answer', (e) => e.dataset.roundS)) === row.round_s,
        JSON.stringify(event),
    );
    check(
        'the first round was not hit',
        Math.abs(row.rounds_s[0] - before) < 1e-6 * before,
        row.rounds_s,
    );
    await picture(page, 'hit');
    await page.evaluate(() =>
        [...document.querySelectorAll('#round button')]
            .find((b) => /Undo/.test(b.textContent))
            .click(),
    );
    await page.waitForFunction(
        (s) => Number(document.querySelector('#answer').dataset.roundS) === s,
        {},
        before,
    );
    await page.close();
}

// The planner's page: its recommendation is the best row of the plan that it asked for.
async function planning() {
    const page = await open(`${address}plan`);
    const asked = page.waitForRequest((r) => r.url().endsWith('/api/plan'));
    await page.click('#plan-form details summary');
    await page.type('#plan-form input[name=price-egress]', '0.08');
    await page.click('#plan-form button[type=submit]');
    const body = (await asked).postData();
    await page.waitForSelector('#plan-answer');
    const answer = await (
        await fetch(`${address}api/plan`, {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body,
        })
    ).json();
    check(
        'the recommendation is the plan’s',
        (await text(page, '#plan-answer')) === answer.text && /EUR/.test(answer.text),
        answer.text,
    );
    check(
        'five are shown',
        (await page.$$('#plan-result table:first-of-type tbody tr')).length >= 5,
    );
    await accessible(page, 'plan');
    await picture(page, 'plan');
    await page.close();
}

// An emulation that is stopped at once: said so, and another can begin.
async function real() {
    const page = await open(`${address}#tab=real&event=kill&at=3&link=cut&slowness=2`);
    const asked = page.waitForRequest((r) => r.url().endsWith('/api/check'));
    await page.click('#real-start');
    const { experiment, slowness } = JSON.parse((await asked).postData());
    check(
        'what would not end is not emulated',
        !experiment.network.events && !Array.isArray(experiment.network.client),
        JSON.stringify(experiment.network),
    );
    check('a slow client is emulated', slowness[0] === 2 && slowness[1] === 1, slowness);
    check(
        'what differs from the sliders is said',
        /the model is gpt; 4 clients; 5 local steps a round; nothing happens to client 1/.test(
            await text(page, '#real-result'),
        ),
        await text(page, '#real-result'),
    );
    await page.waitForFunction(() => !document.querySelector('#real-stop').disabled);
    await page.click('#real-stop');
    await page.waitForFunction(
        () =>
            /Stopped/.test(document.querySelector('#real-result').textContent) &&
            !document.querySelector('#real-start').disabled,
    );
    await accessible(page, 'check it for real');
    await page.close();
}

try {
    for (const part of [
        numbers,
        keyboard,
        links,
        nonsense,
        estimates,
        lessons,
        slow,
        phone,
        training,
        planning,
        hits,
        deaths,
        real,
    ]) {
        if (only && !only.split(',').includes(part.name)) continue;
        try {
            await part();
        } catch (why) {
            check(`${part.name} ends`, false, `${why.message} ${/check.mjs:\d+/.exec(why.stack)}`);
        }
    }
    check('nothing outside is asked for', outside.length === 0, outside.join(' '));
} finally {
    await browser.close();
    between.closeAllConnections();
    between.close();
    server.kill('SIGINT');
}
const status = await new Promise((done) => server.once('exit', done));
check('the server ends with status 0', status === 0, status);
console.log(`page: ${n} checks, ${failed} failed`);
process.exit(failed ? 1 : 0);
