// "Check it for real": the same point predicted and emulated.
import { texts } from './texts.js';
import { experimentOf, extrasOf, hasSteps, firstOf } from './experiment.js';
import { post } from './api.js';
import { make, byId, fill, seconds, number } from './show.js';
import { drawPhases } from './phases.js';

const MOST_CLIENTS = 4,
    MOST_MB = 60,
    SMALL = 'gpt';

// What a small machine can emulate in a minute; and what that changed, in words.
export function smallState(state, choices) {
    const model = choices.models.find((m) => m.name === state.model),
        isCut = state.link === 'cut' && !(state.deadline > 0),
        changes = texts.real_changes;
    const small = {
        ...state,
        experiment: '',
        event: '',
        at: 0,
        link: isCut ? 'ok' : state.link,
        clients: Math.min(state.clients, MOST_CLIENTS),
        steps: Math.min(state.steps, 5),
    };
    if (!model || model.MB > MOST_MB) small.model = SMALL;
    const what = [
        small.model !== state.model && fill(changes.model, { model: small.model }),
        small.clients !== state.clients && fill(changes.clients, { n: small.clients }),
        hasSteps(state, choices) &&
            small.steps !== state.steps &&
            fill(changes.steps, { n: small.steps }),
        state.event && fill(changes.event, firstOf(state)),
        isCut && fill(changes.link, firstOf(state)),
        state.experiment && changes.experiment,
    ].filter(Boolean);
    return { small, note: what.length ? fill(texts.real_model, { what: what.join('; ') }) : '' };
}

function show(rows) {
    const predicted = rows.find((r) => r.backend !== 'emu' && !r.reference),
        measured = rows.find((r) => r.backend === 'emu');
    const at = byId('real-result');
    drawPhases(at, [
        [texts.table.predicted, predicted],
        [texts.table.measured, measured],
    ]);
    const error = (100 * (predicted.round_s - measured.round_s)) / measured.round_s;
    at.prepend(
        make(
            'p',
            {},
            measured.valid
                ? fill(texts.real_result, {
                      measured: seconds(measured.round_s),
                      predicted: seconds(predicted.round_s),
                      error: number(Math.abs(error), 2),
                  })
                : fill(texts.real_invalid, { why: measured.invalid.join('; ') }),
        ),
    );
}

export function setUpReal(current) {
    let control = null;
    const start = byId('real-start'),
        stop = byId('real-stop'),
        result = byId('real-result');
    stop.onclick = () => control && control.abort();
    start.onclick = async () => {
        const { state, choices } = current(),
            { small, note } = smallState(state, choices);
        control = new AbortController();
        start.disabled = true;
        stop.disabled = false;
        const began = Date.now(),
            line = make('p', { role: 'status' });
        result.replaceChildren(make('p', { class: 'note' }, note), line);
        const tick = setInterval(() => {
            line.textContent = fill(texts.real_running, {
                s: Math.round((Date.now() - began) / 1000),
            });
        }, 1000);
        try {
            show(
                (
                    await post(
                        '/api/check',
                        { experiment: experimentOf(small, choices), ...extrasOf(small) },
                        control.signal,
                    )
                ).rows,
            );
            if (note) result.prepend(make('p', { class: 'note' }, note));
        } catch (why) {
            result.replaceChildren(
                make('p', {}, why.name === 'AbortError' ? texts.real_stopped : why.message),
            );
        }
        clearInterval(tick);
        start.disabled = false;
        stop.disabled = true;
        control = null;
    };
}
