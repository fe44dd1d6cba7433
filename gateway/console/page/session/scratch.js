// A copy of a session in a scratch room: spoken to, and its variables changed.

import {Act} from "../acts.js";
import {answerOf} from "../deciding/questions.js";
import {go} from "../places.js";
import {html, useRef, useState} from "../ui.js";

/** Something that no other request has, so that what is sent twice is done once. */
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");
}

export const isScratch = (about) => about?.conversation.startsWith("scratch:") ?? false;

/** The button that copies a session as it was at a moment. */
export function ForkHere({id, at}) {
  return html`<${Act} label="Fork here" path=${`/bus/v1/sessions/${id}/scratch`} body=${() => ({at, key: newKey()})}
    done=${(found) => (found.begun ? "This is a copy, in a scratch room. Nobody else sees it." : "The copy has not begun yet. It will be the first of the sessions.")}
    then=${(found) => found.begun && go(`session/${found.session}${found.words ? `?${new URLSearchParams({words: found.words})}` : ""}`)} />`;
}

/** Where a press on an option of a copy's question goes: in the name of `as`, or of whose answer alone counts. */
export const saying = (id, as) => (asked, number) => {
  const who = asked.of[0]?.id ?? as;
  return who && asked.kind === "question"
    ? {path: `/bus/v1/sessions/${id}/messages`, body: () => ({text: asked.options[number], as: who, key: newKey()}), done: null}
    : answerOf(id)(asked, number);
};

/** What one says to a copy, in one's own name or in that of somebody who took part. */
export function Composer({id, people, as, setAs, words, working}) {
  const field = useRef(null);
  const others = people.filter((one) => !one.id.startsWith("client:"));
  return html`
    <form class="composer" aria-label="Speak to the copy" onSubmit=${(event) => event.preventDefault()}>
      <p class="quiet" role="status">${working ? "At work …" : ""}</p>
      <label>As <select value=${as} onChange=${(event) => setAs(event.target.value)}>
        <option value="">myself</option>
        ${others.map((one) => html`<option key=${one.id} value=${one.id}>${one.name}</option>`)}
      </select></label>
      <div class="field">
        <textarea ref=${field} rows="2" aria-label="Message to the copy" placeholder="Message to the copy" maxlength="20000" defaultValue=${words} required dir="auto"
          onKeyDown=${(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            event.target.form.querySelector("button").click();
          }}></textarea>
        <${Act} label="Send" path=${`/bus/v1/sessions/${id}/messages`} done=${null}
          body=${() => ({text: field.current.value, as: as || null, key: newKey()})}
          then=${() => { field.current.value = ""; field.current.focus(); }} />
      </div>
    </form>`;
}

/** The variables of an agent of a copy, or the names of a frame, each of which can be given another value. */
export function Changeable({id, agent, frame = null, values, title}) {
  const entries = Object.entries(values);
  if (!entries.length) return null;
  return html`
    <dl class="values" aria-label=${title}>
      ${entries.map(([name, value]) => html`<${Variable} key=${name} id=${id} agent=${agent} frame=${frame} name=${name} value=${value} />`)}
    </dl>`;
}

function Variable({id, agent, frame, name, value}) {
  const [open, setOpen] = useState(false);
  const field = useRef(null);
  const text = JSON.stringify(value);
  return html`
    <div>
      <dt>${name}</dt>
      <dd>
        ${!open && html`<code>${text}</code> <button class="link" aria-label=${`Change ${name}`} onClick=${() => setOpen(true)}>Change</button>`}
        ${open && html`
          <form class="answering" onSubmit=${(event) => event.preventDefault()}>
            <input ref=${field} aria-label=${`New value of ${name}, as JSON`} defaultValue=${text} required />
            <${Act} label="Set" about=${name} path=${`/bus/v1/sessions/${id}/variables`} done=${`${name} is to change.`}
              body=${() => ({agent, frame, name, value: valueOf(field.current.value), key: newKey()})} then=${() => setOpen(false)} />
            <button type="button" onClick=${() => setOpen(false)}>Cancel</button>
          </form>`}
      </dd>
    </div>`;
}

function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("A value is JSON: 12, true, null, \"words\", [1, 2] or {\"a\": 1}.");
  }
}
