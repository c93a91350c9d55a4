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

// Answers of late, by question: what was asked before is there at once.
const KEPT = 64,
    KEPT_CHARS = 100000,
    kept = new Map();
function keep(key, answer) {
    if (key.length > KEPT_CHARS) return;
    kept.delete(key);
    kept.set(key, answer);
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
}

// handlers: answer(data, ms), refused(text, status), broken(text), slow(). While a question is under
// way, only the newest of those that come waits; one that is slow already is given up for it, and
// where the handlers are hasty, any. Asking nothing (null) gives up.
export function channel(path, handlers) {
    let running = null,
        waiting = null,
        latest = null;
    function start(body) {
        const control = new AbortController(),
            began = performance.now(),
            key = path + JSON.stringify(body);
        if (kept.has(key)) {
            handlers.answer(kept.get(key), 0);
            return;
        }
        const turn = { control, began, given: false };
        running = turn;
        const slow = setTimeout(
            () => running === turn && handlers.slow && handlers.slow(),
            SLOW_MS,
        );
        const end = setTimeout(() => control.abort(), PATIENCE_MS);
        post(path, body, control.signal)
            .then(
                (answer) => {
                    if (turn.given) return;
                    keep(key, answer);
                    handlers.answer(answer, performance.now() - began);
                },
                (why) => {
                    if (turn.given) return;
                    if (why.status && why.status !== 503) handlers.refused(why.message, why.status);
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
        if (running && body && !handlers.hasty && performance.now() - running.began < SLOW_MS) {
            waiting = body;
            return;
        }
        if (running) {
            running.given = true;
            running.control.abort();
            running = null;
        }
        waiting = null;
        if (body) start(body);
    };
}
