// What is asked when a slider moves: the moved point first, estimated where its exact time takes
// long; then the curves in the same way; and once the slider rests, all of it exactly.
import { texts } from './texts.js';
import { channel } from './api.js';
import { fill, byId } from './show.js';

// What the exact rows of losses cost the server: segments and their acknowledgements, 0.4 us each
// segment (docs/experiment.md, detail), one run and 2 to 8 further draws a row.
const SEGMENT_BYTES = 1448,
    SEGMENT_S = 0.4e-6,
    DRAWN_SEGMENTS = 2e6;
const REST_MS = 300,
    AFFORDABLE_S = 15;
const draws = (segments) => Math.max(2, Math.min(8, Math.floor(DRAWN_SEGMENTS / segments)));

// Seconds that exact rows in place of these would take; 0: not known, or few.
export function exactSeconds(rows) {
    let s = 0;
    for (const row of rows) {
        const segments = row.estimate && row.bytes ? 1 + row.bytes.payload / SEGMENT_BYTES : 0;
        if (segments > 0) s += segments * SEGMENT_S * (1 + draws(segments));
    }
    return s;
}
const isEstimate = (rows) => rows.some((row) => row.estimate);

// problem(text): the line of what is wrong. show: {point, curve, lever, faster}, each given an
// answer, point also what to say of an estimate; nothing(): a setting that is refused has no answer.
export function setUpAsking(problem, show) {
    let asked = null,
        resting = 0;
    const status = (text) => {
        byId('status').textContent = text;
    };
    const handlers = (answer, more = {}) => ({
        answer: (data, ms) => {
            problem('');
            status(fill(texts.done, { ms: Math.round(ms) }));
            answer(data);
        },
        refused: (text) => {
            problem(text);
            status('');
        },
        broken: (why) => problem(fill(texts.broken, { why })),
        slow: () => status(texts.slow),
        ...more,
    });
    // A curve that is replaced by an exact one; where that takes too long, it stays.
    const curve = (at, draw) => {
        const fresh = (data) => {
            byId(at).classList.remove('stale');
            byId(`${at}-note`).textContent = isEstimate(data.rows)
                ? fill(texts.estimates, { how: howOf(data.rows) })
                : '';
            draw(data);
        };
        const exact = channel('/api/run', handlers(fresh, { hasty: true, refused: () => {} }));
        const first = channel(
            '/api/run',
            handlers(
                (data) => {
                    fresh(data);
                    if (asked.rests && !isEstimate(data.rows)) exact(asked[at]);
                    else asked[`${at}Later`] = isEstimate(data.rows) ? null : asked[at];
                },
                { hasty: true },
            ),
        );
        return {
            first: (body) => {
                exact(null);
                first(body && { ...body, estimate: true });
            },
            exact,
        };
    };
    const curves = { curve: curve('curve', show.curve), lever: curve('lever', show.lever) };
    const faster = channel(
        '/api/run',
        handlers(
            (data) => {
                byId('faster').classList.remove('stale');
                show.faster(data);
            },
            { hasty: true, refused: () => {} },
        ),
    );
    const point = channel(
        '/api/run',
        handlers(
            (data) => {
                byId('round').classList.remove('stale');
                show.point(data, '');
            },
            {
                hasty: true,
                slow: () => status(texts.exact_follows),
                refused: (text, code) => {
                    if (code === 504 && asked.first) tooLong(asked.first);
                    else problem(text);
                },
            },
        ),
    );
    const round = channel(
        '/api/run',
        handlers(
            (data) => {
                byId('round').classList.remove('stale');
                show.point(data, estimateText(data.rows, false));
            },
            { hasty: true },
        ),
    );
    const quick = channel(
        '/api/run',
        handlers(
            (data) => {
                asked.first = data;
                show.point(data, estimateText(data.rows, exactSeconds(data.rows) < AFFORDABLE_S));
                curves.curve.first(asked.curve);
                curves.lever.first(asked.lever);
                clearTimeout(resting);
                resting = setTimeout(rest, REST_MS);
            },
            {
                refused: (text) => {
                    problem(text);
                    status('');
                    show.nothing();
                },
            },
        ),
    );
    // The estimate stays, with the round that it is of.
    function tooLong(data) {
        show.point(data, estimateText(data.rows, false));
        byId('faster').replaceChildren();
        byId('faster').classList.remove('stale');
        round({ ...asked.point, estimate: true, round: true });
    }
    function rest() {
        const { rows } = asked.first;
        asked.rests = true;
        if (exactSeconds(rows) < AFFORDABLE_S) {
            point({ ...asked.point, round: true });
            if (!isEstimate(rows)) faster({ ...asked.point, why: true });
        } else tooLong(asked.first);
        for (const at of ['curve', 'lever'])
            if (asked[`${at}Later`]) curves[at].exact(asked[`${at}Later`]);
    }

    // bodies: {point, curve, lever or null} of the page as it is now; null: nothing is asked.
    return (bodies) => {
        clearTimeout(resting);
        for (const give of [point, round, faster, curves.curve.first, curves.lever.first])
            give(null);
        status(bodies ? texts.computing : '');
        if (!bodies) return;
        asked = { ...bodies, first: null, rests: false };
        for (const at of ['curve', 'faster', 'round', ...(bodies.lever ? ['lever'] : [])])
            byId(at).classList.add('stale');
        quick({ ...bodies.point, estimate: true });
    };
}

const howOf = (rows) => [...new Set(rows.flatMap((row) => row.estimate || []))].join('; ');
function estimateText(rows, follows) {
    if (!isEstimate(rows)) return '';
    return fill(follows ? texts.estimate_first : texts.estimate_only, {
        how: howOf(rows),
        s: Math.round(exactSeconds(rows)) || '20',
    });
}
