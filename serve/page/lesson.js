// Six steps: read, guess, see. What is asked for is covered until the guess.
import { texts, lesson } from './texts.js';
import { initial, stepOf as stepAt } from './state.js';
import { experimentOf, extrasOf } from './experiment.js';
import { post } from './api.js';
import { make, byId, fill, seconds, number, isPlain } from './show.js';

const guessed = new Map();
export const isCovered = (state) =>
    state.tab === 'lesson' && !guessed.has(lesson[stepOf(state)].id);
const stepOf = (state) => stepAt(state.step);
export const stateOf = (step) => ({ ...initial, ...lesson[step].state, tab: 'lesson', step });

// One round of each experiment of the step: the row itself, not its counterpart.
async function rounds(step, state, choices) {
    const rows = [];
    for (const changes of lesson[step].experiments) {
        const s = { ...state, ...changes };
        const answer = await post('/api/run', {
            experiment: experimentOf(s, choices),
            ...extrasOf(s),
        });
        rows.push(
            answer.rows.find((row) => !row.reference && (s.codec !== 'none' || isPlain(row))),
        );
    }
    return rows;
}

function figures(rows) {
    const values = {};
    rows.forEach((row, i) => {
        values[`s${i}`] = seconds(row.round_s);
        values[`ratio${i}`] = number(row.ratio);
        for (const [phase, s] of Object.entries(row.path_s)) values[`${phase}${i}`] = seconds(s);
    });
    if (rows.length > 1) values.times01 = number(rows[1].round_s / rows[0].round_s, 2);
    return values;
}

function verdict(step, guess, findings) {
    if (step.number) {
        const truth = findings.breakeven;
        if (!truth) return '';
        return Math.abs(guess - truth) <= 0.1 * truth
            ? texts.right
            : Math.abs(Math.log2(guess / truth)) <= 1
              ? texts.near
              : texts.wrong;
    }
    return Number(guess) === step.right ? texts.right : texts.wrong;
}

// findBreakeven(): {breakeven, pays} of the shown curve, once it is known.
export function drawLesson(state, choices, go, findBreakeven, uncover) {
    const at = stepOf(state),
        step = lesson[at];
    byId('lesson-steps').replaceChildren(
        ...lesson.map((s, i) =>
            make(
                'li',
                {},
                make(
                    'a',
                    { href: go.link(stateOf(i)), 'aria-current': i === at ? 'step' : false },
                    s.title,
                ),
            ),
        ),
    );
    byId('lesson-title').textContent = step.title;
    byId('lesson-text').replaceChildren(...step.text.map((t) => make('p', {}, t)));
    byId('lesson-back').disabled = at === 0;
    byId('lesson-next').disabled = at === lesson.length - 1;
    byId('lesson-back').onclick = () => go.to(stateOf(at - 1));
    byId('lesson-next').onclick = () => go.to(stateOf(at + 1));
    const form = byId('guess'),
        known = guessed.get(step.id);
    const inputs = step.number
        ? [
              make(
                  'label',
                  {},
                  make('span', {}, step.question),
                  ' ',
                  make('input', {
                      type: 'number',
                      name: 'guess',
                      min: 1,
                      step: 1,
                      required: true,
                      value: known === undefined ? false : known,
                  }),
              ),
          ]
        : [
              make(
                  'fieldset',
                  {},
                  make('legend', {}, step.question),
                  ...step.options.map((o, i) =>
                      make(
                          'label',
                          {},
                          make('input', {
                              type: 'radio',
                              name: 'guess',
                              value: i,
                              required: true,
                              checked: String(known) === String(i),
                          }),
                          o,
                      ),
                  ),
              ),
          ];
    form.replaceChildren(
        ...inputs,
        make('p', { class: 'buttons' }, make('button', { type: 'submit' }, texts.guess)),
    );
    byId('reveal').replaceChildren();
    form.onsubmit = async (event) => {
        event.preventDefault();
        const guess = new FormData(form).get('guess');
        guessed.set(step.id, guess);
        byId('reveal').textContent = texts.computing;
        uncover();
        try {
            const findings = step.find ? await findBreakeven(stateOf(at)) : {};
            const rows = await rounds(at, stateOf(at), choices);
            if (byId('lesson-title').textContent !== step.title) return;
            byId('reveal').replaceChildren(
                make('p', {}, make('strong', {}, verdict(step, guess, findings))),
                make('p', {}, fill(step.tell, { ...figures(rows), ...findings })),
            );
        } catch (why) {
            byId('reveal').textContent = why.message;
        }
    };
}
