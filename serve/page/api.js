import { texts } from './texts.js';

// Questions to the server: one of a kind at a time, and the last one asked is the one that is shown.
const SLOW_MS = 1500,
    PATIENCE_MS = 130000,
    AGAIN_MS = 2000;

async function ask(path, body, signal) {
    const response = await fetch(
        path,
        body === undefined
            ? { signal }
            : {
                  method: 'POST',
                  headers: { 'Content-Type': 'application/json' },
                  body: JSON.stringify(body),
                  signal,
              },
    );
    let answer;
    try {
        answer = await response.json();
    } catch (e) {
        if (signal && signal.aborted) throw e;
        throw new Error(texts.unreadable);
    }
    if (!response.ok) {
        const refused = new Error(answer.error || String(response.status));
        refused.status = response.status;
        throw refused;
    }
    return answer;
}

export const get = (path) => ask(path);
export const post = (path, body, signal) => ask(path, body, signal);

// handlers: answer(data, ms), refused(text), broken(text), slow(). While a question is under way,
// only the newest of those that come waits; one that is slow already is given up for it.
export function channel(path, handlers) {
    let running = null,
        waiting = null,
        latest = null;
    function start(body) {
        const control = new AbortController(),
            began = performance.now();
        const turn = { control, began, given: false };
        running = turn;
        const slow = setTimeout(
            () => running === turn && handlers.slow && handlers.slow(),
            SLOW_MS,
        );
        const end = setTimeout(() => control.abort(), PATIENCE_MS);
        post(path, body, control.signal)
            .then(
                (answer) => turn.given || handlers.answer(answer, performance.now() - began),
                (why) => {
                    if (turn.given) return;
                    if (why.status && why.status !== 503) handlers.refused(why.message);
                    else {
                        handlers.broken(why.name === 'AbortError' ? texts.no_answer : why.message);
                        setTimeout(() => latest === body && !running && start(body), AGAIN_MS);
                    }
                },
            )
            .finally(() => {
                clearTimeout(slow);
                clearTimeout(end);
                if (running !== turn) return;
                running = null;
                if (waiting) {
                    const next = waiting;
                    waiting = null;
                    start(next);
                }
            });
    }
    return (body) => {
        latest = body;
        if (running && performance.now() - running.began < SLOW_MS) {
            waiting = body;
            return;
        }
        if (running) {
            running.given = true;
            running.control.abort();
        }
        waiting = null;
        start(body);
    };
}
