// One round in motion: who works, what is under way; and the same as bars over time.
import { texts } from './texts.js';
import { make, seconds, bytes, fill } from './show.js';
import { whoIsFirst, CUT_S } from './experiment.js';
import { legend } from './phases.js';

const MOST = 16,
    PLAY_S = 9;
const WORK = ['compute', 'encode', 'decode', 'aggregate'];
let playing = 0,
    paused = matchMedia('(prefers-reduced-motion: reduce)').matches;

const whoOf = (round, rank) =>
    round.has_server
        ? rank === 0
            ? texts.server
            : fill(texts.client, { k: rank })
        : fill(texts.rank, { k: rank });

function spansOf(round) {
    return round.spans
        .map(([kind, rank, peer, from, to, n]) => ({
            kind,
            rank,
            peer,
            from: from - round.start_s,
            to: to - round.start_s,
            n,
        }))
        .filter((s) => s.kind !== 'wait');
}

// What happens to the first client in this round: {kind, rank, at, until}; null where nothing does.
function hitOf(round, state, end) {
    if (!state.event || state.experiment) return null;
    const at = Math.max(0, state.at - round.start_s);
    return {
        kind: state.event,
        rank: round.has_server ? 1 : 0,
        at,
        until: Math.min(end, state.event === 'cut' ? at + CUT_S : end),
    };
}

// Somebody who is dead begins nothing, and ends nothing that was begun.
const alive = (spans, hit) =>
    !hit || hit.kind !== 'kill'
        ? spans
        : spans
              .filter(
                  (s) => (s.kind === 'transfer' ? s.peer : s.rank) !== hit.rank || s.from < hit.at,
              )
              .map((s) =>
                  s.kind !== 'transfer' && s.rank === hit.rank
                      ? { ...s, to: Math.min(s.to, hit.at) }
                      : s,
              );

const RING_HEIGHT = 72; // half of the ring's, as is
const ringWidth = (wide) => (wide / 2 - 60) * 0.7;

// A server stands in the middle of its clients; without one ranks stand in a ring.
function placesOf(round, shown, wide) {
    const middle = wide / 2;
    const places = [];
    for (let r = 0; r < shown; r++) {
        if (round.has_server && r === 0) {
            places.push([middle, 34]);
            continue;
        }
        const k = round.has_server ? r - 1 : r,
            n = round.has_server ? shown - 1 : shown;
        if (round.has_server)
            places.push([n === 1 ? middle : 20 + ((wide - 40) * k) / (n - 1), 175]);
        else
            places.push([
                middle + ringWidth(wide) * Math.sin((2 * Math.PI * k) / n),
                110 - RING_HEIGHT * Math.cos((2 * Math.PI * k) / n),
            ]);
    }
    return places;
}

function castOf(round, places, wide) {
    const size = places.length > 12 && wide < 500 ? 8 : 14;
    const svg = make('svg', { viewBox: `0 0 ${wide} 220`, class: 'cast', 'aria-hidden': 'true' });
    const wires = places.map(([x, y], r) => {
        const next = round.has_server ? places[0] : places[(r + 1) % places.length];
        if (round.has_server && r === 0) return null;
        const wire = make('line', { x1: x, y1: y, x2: next[0], y2: next[1], class: 'wire' });
        svg.append(wire);
        return wire;
    });
    const nodes = places.map(([x, y], r) => {
        const isServer = round.has_server && r === 0,
            name = isServer ? texts.server : String(r);
        const node = make('circle', { cx: x, cy: y, r: isServer ? 20 : size, class: 'node' });
        const outward = [(x - wide / 2) / ringWidth(wide), (y - 110) / RING_HEIGHT]; // names stand outside
        const at = isServer
            ? { x: x + 28, y: y + 5 }
            : round.has_server
              ? { x, y: y + size + 18, 'text-anchor': 'middle' }
              : { x: x + 30 * outward[0], y: y + 5 + 26 * outward[1], 'text-anchor': 'middle' };
        svg.append(node, make('text', at, name));
        return node;
    });
    const dots = make('g');
    svg.append(dots);
    return { svg, nodes, dots, wires };
}

function gantt(round, spans, { shown, end, whole, hit, endText }) {
    const height = shown * 16 + 4,
        left = 74,
        wide = whole - left;
    const svg = make('svg', { viewBox: `0 0 ${whole} ${height + 16}`, role: 'img' });
    for (let r = 0; r < shown; r++)
        svg.append(make('text', { x: 0, y: r * 16 + 12 }, whoOf(round, r)));
    if (hit && hit.rank < shown && hit.at < end)
        svg.append(
            make('rect', {
                x: left + (wide * hit.at) / end,
                y: hit.rank * 16,
                width: Math.max(2, (wide * (hit.until - hit.at)) / end),
                height: 15,
                class: 'hit',
            }),
        );
    for (const s of spans) {
        if (s.rank >= shown) continue;
        if (s.from >= end) continue;
        const x = left + (wide * Math.max(0, s.from)) / end,
            width = Math.max(0.6, (wide * (Math.min(end, s.to) - Math.max(0, s.from))) / end);
        const thin = s.kind === 'transfer';
        svg.append(
            make('rect', {
                x,
                y: s.rank * 16 + (thin ? 9 : 1),
                width,
                height: thin ? 5 : 7,
                class: s.kind,
            }),
        );
    }
    svg.append(
        make('text', { x: left, y: height + 13 }, '0'),
        make('text', { x: whole, y: height + 13, 'text-anchor': 'end' }, endText),
    );
    const head = make('line', { y1: 0, y2: height, class: 'playhead' });
    svg.append(head);
    return {
        svg,
        move: (t) => {
            const x = left + (wide * t) / end;
            head.setAttribute('x1', x);
            head.setAttribute('x2', x);
        },
    };
}

function words(round, spans) {
    const list = [...spans]
        .sort((a, b) => a.from - b.from)
        .slice(0, 14)
        .map((s) => {
            const t = seconds(Math.max(0, s.from));
            return make(
                'li',
                {},
                s.kind === 'transfer'
                    ? fill(texts.transfer_event, {
                          t,
                          from: whoOf(round, s.peer),
                          to: whoOf(round, s.rank),
                          mb: bytes(s.n),
                      })
                    : fill(texts.event, {
                          t,
                          who: whoOf(round, s.rank),
                          what: texts.phases[s.kind],
                      }),
            );
        });
    return make('details', {}, make('summary', {}, texts.events), make('ol', {}, ...list));
}

// What happened, when, and what it did to this round.
function hitNote(hit, state, round, { row, endless }) {
    const who = whoIsFirst(round.has_server),
        into = seconds(state.at - round.start_s),
        [before, now] = [row.rounds_s && row.rounds_s[0], row.rounds_s && row.rounds_s.at(-1)];
    const words = [fill(texts.hit_note[hit.kind], { into, at: seconds(state.at), who })];
    if (state.at >= round.end_s) words.push(texts.hit_late);
    if (row.rounds_s && row.rounds_s.length === 2)
        words.push(
            fill(endless ? texts.hit_endless : texts.hit_means, {
                hit: seconds(now),
                before: seconds(before),
            }),
        );
    return make('p', { class: 'note', id: 'hit-note' }, words.join(' '));
}

// What is shown of a round without an end, in rounds.
const ENDLESS_ROUNDS = 1.5;

// hit(kind, t): what a button does to the first client at this moment of the run; state: what was
// done; row: that of the round; endless: this round only ends since links that are cut have a rate.
export function drawRound(at, round, { state, row, endless, hit }) {
    cancelAnimationFrame(playing);
    if (!round || !(round.end_s > round.start_s)) {
        at.replaceChildren();
        return;
    }
    const all = round.end_s - round.start_s,
        usual = row.rounds_s ? row.rounds_s[0] : all,
        end = endless
            ? Math.min(all, Math.max(ENDLESS_ROUNDS * usual, 1.2 * (state.at - round.start_s)))
            : all,
        done = hitOf(round, state, end),
        spans = alive(spansOf(round), done),
        shown = Math.min(round.ranks, MOST + 1);
    const wide = Math.max(320, Math.min(800, at.clientWidth || 800)),
        places = placesOf(round, shown, wide);
    const cast = castOf(round, places, wide),
        bars = gantt(round, spans, {
            shown,
            end,
            whole: wide,
            hit: done,
            endText: endless ? `${seconds(end)}, ${texts.goes_on}` : seconds(end),
        });
    const busy = WORK.map((kind) => [kind, spans.some((s) => s.kind === kind)])
        .filter(([, any]) => any)
        .map(([kind]) => texts.phases[kind]);
    bars.svg.setAttribute(
        'aria-label',
        fill(texts.round_picture, {
            end: seconds(end),
            work: [...busy, texts.phases.transfer].join(', '),
        }),
    );
    const time = make('span', { class: 'value' }),
        slide = make('input', {
            type: 'range',
            min: 0,
            max: 1000,
            value: done ? Math.ceil(Math.min(999, (1000 * done.at) / end)) : 0,
            'aria-label': texts.moment,
        });
    const button = make('button', { type: 'button' }, paused ? texts.play : texts.pause);
    const old = at.querySelector('details'),
        list = words(round, spans);
    list.open = !!(old && old.open);

    const isHit = (rank, t) => !!done && rank === done.rank && done.at <= t && t < done.until;
    function show(t) {
        bars.move(t);
        time.textContent = fill(texts.at, { t: seconds(t), end: seconds(end) });
        slide.setAttribute('aria-valuetext', time.textContent);
        cast.nodes.forEach((node, r) => {
            const now = spans.find(
                (s) => s.rank === r && s.from <= t && t < s.to && WORK.includes(s.kind),
            );
            node.setAttribute(
                'class',
                isHit(r, t) && done.kind === 'kill' ? 'node dead' : now ? now.kind : 'node',
            );
        });
        cast.wires.forEach((wire, r) => {
            const ends = round.has_server ? [r] : [r, (r + 1) % shown];
            const bad = ends.some((k) => isHit(k, t));
            if (wire) wire.setAttribute('class', bad ? `wire ${done.kind}` : 'wire');
        });
        cast.dots.replaceChildren(
            ...spans
                .filter(
                    (s) =>
                        s.kind === 'transfer' &&
                        s.from <= t &&
                        t < s.to &&
                        s.rank < shown &&
                        s.peer >= 0 &&
                        s.peer < shown,
                )
                .map((s) => {
                    const f = (t - s.from) / (s.to - s.from),
                        a = places[s.peer],
                        b = places[s.rank];
                    return make('circle', {
                        cx: a[0] + f * (b[0] - a[0]),
                        cy: a[1] + f * (b[1] - a[1]),
                        r: 5,
                        class: 'transfer',
                    });
                }),
        );
    }
    let began = 0,
        from = 0;
    function step(now) {
        if (!began) began = now;
        const f = (from + (now - began) / (1000 * PLAY_S)) % 1;
        slide.value = String(Math.round(1000 * f));
        show(f * end);
        playing = requestAnimationFrame(step);
    }
    function run(on) {
        paused = !on;
        button.textContent = on ? texts.pause : texts.play;
        cancelAnimationFrame(playing);
        began = 0;
        from = slide.value / 1000;
        if (on) playing = requestAnimationFrame(step);
    }
    button.addEventListener('click', () => run(paused));
    const hits = Object.entries(texts.hits)
        .filter(([kind]) => !state.experiment && (kind !== 'undo' || state.event))
        .map(([kind, name]) =>
            make(
                'button',
                {
                    type: 'button',
                    'aria-pressed': kind === 'undo' ? null : String(state.event === kind),
                    onclick: () => {
                        cancelAnimationFrame(playing);
                        hit(kind, round.start_s + (end * slide.value) / 1000);
                    },
                },
                fill(name, { who: whoIsFirst(round.has_server) }),
            ),
        );
    slide.addEventListener('input', () => {
        run(false);
        show((end * slide.value) / 1000);
    });
    at.replaceChildren(
        cast.svg,
        make('p', { class: 'buttons' }, button, time),
        slide,
        ...(hits.length === 0
            ? []
            : [
                  make(
                      'p',
                      { class: 'buttons', role: 'group', 'aria-label': texts.events_title },
                      make('span', { class: 'note' }, texts.events_title),
                      ...hits,
                  ),
              ]),
        ...(done ? [hitNote(done, state, round, { row, endless })] : []),
        bars.svg,
        legend(['compute', 'encode', 'transfer', 'decode', 'aggregate']),
        make('p', { class: 'note' }, fill(texts.round_note, { shown, ranks: round.ranks })),
        list,
    );
    show((end * slide.value) / 1000);
    if (!paused) run(true);
}
