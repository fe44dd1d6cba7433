// What agents ask people and tools ask to be allowed, wherever it is asked; answered here as well.

import {Act} from "../acts.js";
import {session} from "../api.js";
import {Ago} from "../screens/now.js";
import {SessionLink, Table} from "../table.js";
import {html, useRef} from "../ui.js";

const CHARS = 400;

export function Questions() {
  return html`
    <${Table} title="Questions that wait for an answer" path="/bus/v1/questions" name="questions"
      keyOf=${(one) => `${one.session}.${one.page}`} empty="No agent and no tool waits for an answer." columns=${[
        ["Question", (one) => html`<${SessionLink} session=${one.session} at=${one.seq} text=${shown(one)} />
          <br /><span class="quiet">${one.kind === "approval" ? "A tool asks to be used" : `${one.agent} asks`}</span>`],
        ["Conversation", (one) => html`${one.conversation}<br /><span class="quiet">${one.program}</span>`],
        ["Asked", (one) => html`<${Ago} at=${one.asked_at} />`],
        ["Answer", (one) => html`<${Answer} one=${one} />`],
      ]} />`;
}

function shown(one) {
  if (one.text === null) return "a question";
  return one.text.length > CHARS ? `${one.text.slice(0, CHARS)} …` : one.text;
}

function Answer({one}) {
  if (one.of.length) return html`<span class="quiet">${one.of.some(Boolean) ? `Only ${one.of.join(", ")} can answer.` : "Only one person can answer."}</span>`;
  if (!session.value.acts) return html`<span class="quiet">waits</span>`;
  return one.options?.length
    ? html`<div class="buttons">${one.options.map((option, number) => html`
        <${Answering} key=${option} one=${one} label=${option} body=${{option: number}} />`)}</div>`
    : html`<${Words} one=${one} />`;
}

function Words({one}) {
  const field = useRef(null);
  return html`
    <form class="answering" onSubmit=${(event) => event.preventDefault()}>
      <input ref=${field} aria-label=${`Answer to ${shown(one).slice(0, 80)}`} maxlength="10000" required />
      <${Answering} one=${one} label="Answer" body=${() => ({text: field.current.value})} />
    </form>`;
}

function Answering({one, label, body}) {
  return html`<${Act} label=${label} about=${label === "Answer" ? "" : `to ${shown(one).slice(0, 80)}`} body=${body} done=${outcome} path=${answers(one.session, one)} />`;
}

const answers = (id, one) => `/bus/v1/questions/${encodeURIComponent(id)}/${one.page}/answer`;

/** Where a press on an option of a session's question goes: it is answered from here, unless somebody's answer alone counts. */
export const answerOf = (id) => (asked, number) => (asked.of.length ? null : {path: answers(id, asked), body: {option: number}, done: outcome});

/** What became of an answer, in a sentence. */
function outcome(found) {
  if (!found.settled) return "Your answer is kept. The conversation has not taken it yet.";
  if (found.counted) return `Answered: ${found.answer}.`;
  if (found.answer) return `Yours does not count. It was answered before: ${found.answer}${found.by ? `, by ${found.by}` : ""}.`;
  return "The question was closed before anybody answered.";
}
