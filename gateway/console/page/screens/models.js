// Models: what they are asked for, who stands in, which are not asked for a while, and how they answer.

import {Act} from "../acts.js";
import {get, session as login} from "../api.js";
import {useLive} from "../live.js";
import {Ago} from "./now.js";
import {ACTS, Plain} from "../table.js";
import {html} from "../ui.js";
import {count, dollars, seconds, time} from "../words.js";

const PURPOSES = {
  execute: "all that has no model of its own", decide: "decisions", summarize: "summaries", compile: "programs", describe: "pictures",
  transcribe: "voice notes", speak: "spoken answers",
};

const WHY = {
  LLMKeyRefused: "its key is refused", LLMNotOffered: "its provider does not have it", LLMQuotaSpent: "its quota is spent",
  LLMRateLimited: "it has too many requests", LLMTimeout: "it was silent for too long", LLMUnavailable: "it is not available",
};

export function Models() {
  const {found, trouble} = useLive(() => get("/bus/v1/models"));
  return html`
    <h1>Models</h1>
    ${trouble && html`<p class="trouble" role="alert">${trouble}</p>`}
    ${!found && !trouble && html`<p class="quiet">Asking the gateway …</p>`}
    ${found && html`
      <${Plain} title="In the settings" rows=${found.models} keyOf=${(one) => one.name}
        empty=${found.here ? "The settings have no model." : "This process asks no models: it is a front."} columns=${[
          ["Name", (one) => one.name],
          ["Asked for", (one) => one.purposes.map((name) => PURPOSES[name] ?? name).join(", ") || html`<span class="quiet">what programs name it for</span>`],
          ["Models, in order", (one) => one.missing
            ? html`<span class="bad">${one.missing}</span>`
            : html`<ol class="runs">${one.chain.map((link) => html`<li key=${link.entry}>${link.model}${link.entry !== one.name && link.entry !== link.model ? html` <span class="quiet">${link.entry}</span>` : ""}
                ${link.cooling && html`<br /><span class="bad">not asked before ${time(link.cooling.until)}: ${WHY[link.cooling.why] ?? link.cooling.why}${link.cooling.times > 1 ? `, ${link.cooling.times} times in a row` : ""}</span>`}</li>`)}</ol>`],
          [ACTS, (one) => html`<div class="buttons"><${Act} label="Test call" about=${one.name} path=${`/bus/v1/models/${encodeURIComponent(one.name)}/test`}
            done=${(came) => came.tried.map((link) => `${link.model}: ${link.error ?? `answers in ${seconds(link.took_s)}`}`).join("; ")} /></div>`],
        ]} />
      <${Plain} title="How they answer" rows=${found.asked} keyOf=${(one) => one.model} empty="No model was asked in 30 days."
        columns=${[
          ["Model", (one) => one.model, (one) => one.model],
          ["In 30 days", (one) => html`${dollars(one.usd, one.unpriced)}<br /><span class="quiet">${count(one.charged)} answers, ${count(one.tokens_in)} tokens in, ${count(one.tokens_out)} out</span>`, (one) => one.usd],
          ["Answers", (one) => count(one.answers), (one) => one.answers],
          ["Median", (one) => html`${seconds(one.median_s)}${one.first_s !== null && html`<br /><span class="quiet">first text ${seconds(one.first_s)}</span>`}`, (one) => one.median_s],
          ["p95", (one) => seconds(one.p95_s), (one) => one.p95_s],
          ["Slowest", (one) => seconds(one.slowest_s), (one) => one.slowest_s],
          ["Last", (one) => html`<${Ago} at=${one.last_at} />`, (one) => one.last_at],
          ["Failures", (one) => html`<${Failures} of=${one} />`, (one) => one.failures],
        ]} />
      <p class="quiet">Answers, times and failures are those of all processes that live, since each began; times are those of the last answers.</p>`}`;
}

/** How often something failed, when it did last, and why. */
export function Failures({of}) {
  if (!of.failures) return "none";
  return html`<span class="bad">${count(of.failures)}</span>, the last <${Ago} at=${of.error_at} />${of.error
    ? html`<br /><span class="bad why">${of.error}</span>` : login.value.words && html`<br /><span class="quiet">at another process, whose log says why</span>`}`;
}
