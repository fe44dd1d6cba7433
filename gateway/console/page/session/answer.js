// One answer explained: what each model was sent and replied, what that took and cost, and the calls it made.

import {get} from "../api.js";
import {exactPlace, lineOf, written} from "./program.js";
import {momentOf} from "./strip.js";
import {html, useEffect, useState} from "../ui.js";
import {count, dollars, plural, seconds} from "../words.js";

const KEPT = "The latest calls of models are kept for 7 days.";

/** Where the work for an answer begins: behind what was said last before it, by people or by the same agent. */
export function beginningOf(mark, marks) {
  const ends = marks.filter((one) => one !== mark && momentOf(one) < mark.first && (one.kind === "heard" || (one.kind === "said" && one.lane === mark.lane)));
  return Math.max(0, ...ends.map(momentOf));
}

/** `mark` is what was said, `head` changes with what happens in the session. */
export function Answer({tape, mark, marks, head, program}) {
  const [calls, setCalls] = useState(null);
  const [trouble, setTrouble] = useState("");
  const after = beginningOf(mark, marks);
  const until = momentOf(mark);
  useEffect(() => {
    const stopped = new AbortController();
    get(`${tape}/calls`, {after, until}, stopped.signal).then((found) => {
      setCalls(found.calls);
      setTrouble("");
    }, (error) => error.name !== "AbortError" && setTrouble(error.message));
    return () => stopped.abort();
  }, [tape, after, until, head]);
  const made = marks.filter((one) => one.kind === "call" && one.lane === mark.lane && one.first > after && one.first < until);
  const exact = calls && !calls.some((call) => call.reply.includes(mark.text)) && exactPlace(program, mark.text);
  const asked = calls?.length > 1 ? "models that were asked" : "model that was asked";
  return html`
    <section class="card answer" aria-labelledby="answer-title">
      <h3 id="answer-title">This answer</h3>
      ${mark.text && html`<blockquote dir="auto">${mark.text}</blockquote>`}
      ${trouble && html`<p class="trouble" role="alert">${trouble}</p>`}
      ${exact && html`<p>These are the exact words of <b>${lineOf(exact)}</b>.</p>`}
      ${calls?.length > 0 && html`<h4>The ${asked} ${exact ? "before it" : "for it"}</h4>`}
      ${calls?.length > 1 && html`<${Figures} label="All together" figures=${together(calls)} />`}
      ${calls?.map((call, number) => html`<${Call} key=${`${call.asked_after} ${number}`} call=${call} program=${program} lane=${mark.lane} number=${calls.length > 1 ? number + 1 : 0} />`)}
      ${calls && !calls.length && html`<p class="quiet">No call of a model is kept for it: the program says it without one. ${KEPT}</p>`}
      ${made.length > 0 && html`<h4>Calls</h4><ul class="made">${made.map((one) => html`
        <li key=${one.key} class=${one.ok ? "" : "bad"}><code>${one.name}(${argumentsOf(one.text)})${one.result ? ` → ${one.result}` : ""}</code></li>`)}</ul>`}
    </section>`;
}

function Call({call, number, program, lane}) {
  const chars = call.prompt.reduce((sum, one) => sum + one.content.length, 0);
  return html`
    <div class="model-call">
      <p>${number > 0 && html`<b>${number}. </b>`}${call.text ? html`Step <q title=${`${call.step} ${call.text}`}>${written(program, call)}</q>` : html`Playbook <b>${call.playbook}</b>`}${call.text && html` <span class="quiet">${lineOf(call)}</span>`}${call.agent !== lane && html` <span class="quiet">of ${call.class}</span>`}</p>
      <${Figures} label=${`Call ${number || 1}`} figures=${figuresOf(call)} />
      <details><summary>The prompt as it was sent <span class="quiet">(${plural(call.prompt.length, "message")}, ${plural(chars, "character")})</span></summary>
        ${call.prompt.map((one, at) => html`<h4 key=${at}>${one.role}</h4><pre class="sent" tabindex="0">${one.content}${one.pictures.map((picture) => `\n[picture: ${picture}]`)}</pre>`)}</details>
      <details open><summary>The reply as it came${call.whole ? "" : html` <span class="bad">${call.error ? "(it broke off)" : "(left before its end)"}</span>`}</summary>
        <pre class="sent" tabindex="0">${call.reply || "Nothing came."}</pre>${call.error && html`<p class="bad">${call.error}</p>`}</details>
    </div>`;
}

/** The arguments of a call as one writes them; those that are cut as they are. */
function argumentsOf(text) {
  try {
    return Object.entries(JSON.parse(text || "{}")).map(([name, value]) => (/^\d+$/.test(name) ? "" : `${name}=`) + JSON.stringify(value)).join(", ");
  } catch {
    return text;
  }
}

function figuresOf(call) {
  const about = call.estimated ? "about " : "";
  return [
    ["Model", call.model], ["Tokens in", about + count(call.tokens_in)], ["of them cached", count(call.tokens_cached)],
    ["Tokens out", about + count(call.tokens_out)], ["First character", seconds(call.first_text_s)], ["Last character", seconds(call.seconds)],
    ["Cost", dollars(call.usd)],
  ];
}

function together(calls) {
  const sum = (name) => calls.reduce((all, one) => all + one[name], 0);
  const unknown = calls.filter((one) => one.usd === null).length;
  return [
    ["Calls of models", count(calls.length)], ["Tokens in", count(sum("tokens_in"))], ["of them cached", count(sum("tokens_cached"))], ["Tokens out", count(sum("tokens_out"))],
    ["Cost", dollars(unknown < calls.length ? sum("usd") : null, unknown)],
  ];
}

function Figures({figures, label}) {
  return html`<dl class="figures" aria-label=${label}>${figures.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
