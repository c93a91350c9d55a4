// Reports in a real browser: report.mjs STRAIT CHROMIUM [FOLDER for pictures]. Nothing outside is
// asked for, nothing of a title runs, all charts are drawn, what a table says is what the rows say,
// axe-core finds nothing, and no page is wider than its screen.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const require = createRequire(`${root}page/package.json`);
const puppeteer = require('puppeteer-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [, , strait, chromium, pictures] = process.argv;
let failed = 0,
    n = 0;

function check(what, holds, found = '') {
    n++;
    if (holds) return;
    failed++;
    console.log(`not ok: ${what}${found === '' ? '' : `: found ${found}`}`);
}

const folder = mkdtempSync(`${tmpdir()}/strait-report-`);
const evil =
    '</script><script>window.bad = 1</script><img src="http://127.0.0.1:9/x" onerror="window.bad = 1">\u2028"\'';
const experiment = {
    schema: 'strait-experiment/1',
    title: evil,
    model: 'cnn',
    clients: 2,
    strategy: { name: 'fedavg', rounds: 2, local_steps: 1 },
    codec: 'none',
    network: { client: { rate: '100 Mbps', rtt: '10 ms' }, server: { rate: '1 Gbps' } },
    vary: {
        '/clients': [2, 4, 8],
        '/network/client/rate': ['10 Mbps', '100 Mbps'],
        '/codec': [
            'none',
            { name: 'sz', bound: { range: 1e-3 } },
            { name: 'sz', bound: { range: 1e-2 } },
        ],
    },
};
writeFileSync(`${folder}/e.json`, JSON.stringify(experiment));
const run = (...args) =>
    execFileSync(strait, args, {
        cwd: folder,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
    });
run('run', 'e.json', '--on', 'fluid', '--out', 'r');
run('report', 'r', 'r', '--title', evil, '--out', 'report.html');
const rows = run('export', 'r', '--json')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

const browser = await puppeteer.launch({
    executablePath: chromium,
    headless: true,
    args: ['--no-sandbox', '--disable-gpu'],
});
for (const [width, scheme] of [
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
]) {
    const name = `${width} ${scheme}`,
        asked = [];
    const page = await browser.newPage();
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    page.on('request', (request) => asked.push(request.url()));
    page.on('pageerror', (error) => check(`no error in a script, ${name}`, false, error.message));
    await page.goto(`file://${folder}/report.html`, { waitUntil: 'load' });
    check(`nothing outside is asked for, ${name}`, asked.length === 1, asked.join(' '));
    check(
        `nothing of a title runs, ${name}`,
        await page.evaluate(() => window.bad === undefined && !document.querySelector('img')),
    );
    check(
        `titles are shown as they are, ${name}`,
        (await page.$eval('h2', (e) => e.textContent)).startsWith(
            '</script><script>window.bad = 1',
        ),
    );
    const charts = await page.$$eval('.chart', (all) =>
        all.map((c) => c.querySelectorAll('canvas, .bars').length),
    );
    check(
        `every chart is drawn, ${name}`,
        charts.length === 6 && charts.every((k) => k > 0),
        charts.join(' '),
    );
    check(
        `one round is drawn, ${name}`,
        (await page.$$eval('svg.timeline rect', (all) => all.length)) > 10,
    );
    check(
        `no wider than the screen, ${name}`,
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        await page.evaluate(() => document.documentElement.scrollWidth),
    );
    await page.$$eval('details', (all) =>
        all.forEach((d) => {
            d.open = true;
        }),
    );
    const shown = await page.$$eval('table', (all) => {
        const table = all.find((t) => t.caption?.textContent === 'All points');
        return [...table.tBodies[0].rows].map((row) => row.cells[2].textContent);
    });
    check(
        `as many points as rows, ${name}`,
        shown.length === rows.length && rows.length === 18,
        shown.length,
    );
    rows.forEach((row, i) =>
        check(
            `point ${i} is its row, ${name}`,
            Math.abs(Number(shown[i]) / row['/round_s'] - 1) < 1e-3,
            shown[i],
        ),
    );
    await page.emulateMediaType('print');
    const printed = page.waitForFunction(
        () => getComputedStyle(document.querySelector('.bars')).printColorAdjust === 'exact',
        { timeout: 10000 },
    );
    check(`bars are printed, ${name}`, await printed.then(() => true).catch(() => false));
    await page.emulateMediaType('screen');
    await page.evaluate(axe);
    const found = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
    check(
        `axe-core, ${name}`,
        found.violations.length === 0,
        found.violations
            .map(
                (v) =>
                    `${v.id} (${v.nodes.length}): ${v.nodes[0].html.slice(0, 300)} ${v.nodes[0].failureSummary}`,
            )
            .join(' | '),
    );
    if (pictures) {
        mkdirSync(pictures, { recursive: true });
        await page.$$eval('details', (all) =>
            all.forEach((d) => {
                d.open = false;
            }),
        );
        await page.screenshot({
            path: `${pictures}/report-${width}-${scheme}.png`,
            fullPage: true,
        });
    }
    await page.close();
}
await browser.close();
rmSync(folder, { recursive: true });
console.log(`report: ${n} checks, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
