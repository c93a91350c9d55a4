// How long a moved slider takes to show its answer: moves.mjs STRAIT CHROMIUM. From the slider's
// event to the first frame with another answer, of every slider, losses and collectives of 64 ranks
// among them. A benchmark, no test: run it on a machine that does nothing else.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const puppeteer = createRequire(`${root}page/package.json`)('puppeteer-core');
const [, , strait, chromium] = process.argv;
const PORT = 20765 + (process.pid % 2000);
const server = spawn(strait, ['serve', '--port', String(PORT)], {
    stdio: ['ignore', 'pipe', 'inherit'],
});
const address = await new Promise((resolve, reject) => {
    server.stdout.once('data', (data) => resolve(String(data).trim()));
    server.once('exit', (code) => reject(new Error(`strait serve ended with status ${code}`)));
});

// A setting, and the places (by number) to which a slider is moved there.
const MOVES = [
    ['', 'clients', [12, 16]],
    ['', 'rate', [4, 12]],
    ['', 'server', [3, 12]],
    ['', 'rtt', [1, 10]],
    ['', 'loss', [1, 4, 7]],
    ['', 'bound', [0, 6]],
    ['', 'cores', [4]],
    ['', 'steps', [7]],
    ['', 'slowness', [4]],
    ['', 'deadline', [6]],
    ['strategy=bsp&clients=64', 'rate', [6]],
    ['strategy=localsgd&clients=64', 'rtt', [4]],
    ['strategy=fusion&clients=64', 'rate', [6]],
    ['strategy=dear&clients=64', 'bound', [6]],
    ['strategy=wfbp&clients=16', 'clients', [12]],
];

const browser = await puppeteer.launch({
    executablePath: chromium,
    args: ['--no-sandbox', '--disable-gpu'],
});
const all = [];
for (const [setting, slider, places] of MOVES) {
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(`${address}#${setting}`);
    await page.waitForSelector('body[data-ready]');
    await page.waitForFunction(() => document.querySelector('#answer').textContent !== '');
    for (const place of places) {
        const ms = await page.evaluate(
            (id, value) =>
                new Promise((done) => {
                    const input = document.getElementById(id),
                        answer = document.getElementById('answer');
                    let began = 0;
                    new MutationObserver((changes, observer) => {
                        if (began === 0) return;
                        observer.disconnect();
                        requestAnimationFrame(() => done(performance.now() - began));
                    }).observe(answer, { childList: true, characterData: true, subtree: true });
                    input.value = value;
                    began = performance.now();
                    input.dispatchEvent(new Event('input'));
                }),
            `c-${slider}`,
            place,
        );
        const answer = await page.$eval('#answer', (e) => e.textContent);
        all.push(ms);
        console.log(
            `${setting || 'the first setting'}: ${slider} to place ${place}: ${ms.toFixed(0)} ms` +
                (/estimate/.test(answer) ? ', an estimate' : ''),
        );
    }
    await page.close();
}
all.sort((a, b) => a - b);
console.log(
    `${all.length} moves: median ${all[Math.floor(all.length / 2)].toFixed(0)} ms, ` +
        `most ${all.at(-1).toFixed(0)} ms, ${all.filter((ms) => ms <= 100).length} within 100 ms`,
);
await browser.close();
server.kill('SIGINT');
