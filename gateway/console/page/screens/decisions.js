// Decisions: what agents and tools ask, what failed, who asks to get in, and what could not be processed.

import {Act} from "../acts.js";
import {session} from "../api.js";
import {Questions} from "../deciding/questions.js";
import {Ago} from "./now.js";
import {useProgram, written} from "../session/program.js";
import {SessionLink, Table} from "../table.js";
import {html, useState} from "../ui.js";
import {failed} from "../words.js";

/** Where it failed: the step as its author wrote it, and its line. The codes are shown to who points at it. */
export function Failed({one}) {
  const program = useProgram(one.program);
  const [, file, line] = /^(.*):(\d+)$/.exec(one.source ?? "") ?? [];
  const text = one.instruction?.replace(/;?\s*(YLD for|done when) [^;]*/g, "");
  const step = written(program, {file, line: Number(line), step: text, text});
  const place = one.place.replace(/:\d[\d.]*(:[A-Z]{3})?$/, "").replace(": ", ", ");
  return html`<span title=${`${one.place} ${one.error_type}`}>${place}${step && html`<br /><q>${step}</q>`}${file && html`<br /><span class="quiet">${file}, line ${line}</span>`}</span>`;
}

export function Decisions({query}) {
  const [all, setAll] = useState(query.get("all") === "1");
  const words = session.value.words;
  return html`
    <h1>Decisions</h1>
    <${Questions} />
    <${Table} title="Failures that nobody caught" path="/bus/v1/reports" name="reports" query=${{open: all ? "" : "1"}}
      about=${html`<label class="check"><input type="checkbox" checked=${all} onChange=${(event) => setAll(event.target.checked)} />
        also reports that were decided</label>`}
      keyOf=${(one) => one.report} empty="Nothing has failed that waits for a decision." columns=${[
        ["Report", (one) => html`<${SessionLink} session=${one.session} at=${one.seq} text=${`${one.report}: ${failed(one.error_type)}`} />
          ${one.error && html`<br /><span class="quiet">${one.error}</span>`}`],
        ["Where", (one) => html`<${Failed} one=${one} />`],
        ["Conversation", (one) => html`${one.conversation}<br /><span class="quiet">${one.program}</span>`],
        ["Last", (one) => html`<${Ago} at=${one.last_at} />${one.count > 1 ? `, ${one.count} times` : ""}`],
        ["Decision", (one) => one.decided
          ? html`<span class="quiet">${one.decided === "again" ? "tried again" : "left"}</span>`
          : html`<div class="buttons">
              <${Act} label="Try again from there" about=${`report ${one.report}`} path=${`/bus/v1/reports/${one.report}/again`}
                question="The conversation continues from before the exchange that failed, and hears its words again."
                done="The conversation tries again." />
              <${Act} label="Leave it" about=${`report ${one.report}`} path=${`/bus/v1/reports/${one.report}/leave`} />
            </div>`],
      ]} />
    <${Table} title="Requests to get in" path="/bus/v1/requests" name="requests" keyOf=${(one) => one.person}
      empty="Nobody asks to get in." columns=${[
        ["Person", (one) => html`${one.name}<br /><span class="quiet">${one.person}</span>`],
        ["Conversation", (one) => one.conversation],
        ["Decision", (one) => one.code && html`<div class="buttons">
          ${["member", "guest"].map((role) => html`<${Act} key=${role} label=${`Let in as ${role}`} about=${one.name}
            path=${`/bus/v1/requests/${one.code}/approve`} body=${{role}} done=${`${one.name} is in as ${role}.`} />`)}
          <${Act} label="Block" about=${one.name} danger path=${`/bus/v1/people/${encodeURIComponent(one.person)}/role`}
            body=${{role: "blocked"}} question=${`${one.name} is ignored from now on.`} done=${`${one.name} is blocked.`} />
        </div>`],
      ]} />
    <${Table} title="Set aside" path="/bus/v1/dead-letters" name="letters" keyOf=${(one) => one.letter}
      empty="Everything could be processed." columns=${[
        ["Letter", (one) => html`${one.kind}<br /><span class="quiet">${one.letter}</span>`],
        ["Died", (one) => html`<${Ago} at=${one.died_at} />`],
        ["Conversation", (one) => html`${one.conversation}<br /><span class="quiet">${one.person}</span>`],
        ["Why", (one) => (words ? html`${one.why}${one.text && html`<br /><q>${one.text.slice(0, 200)}</q>`}` : html`<span class="quiet">for owners</span>`)],
        ["Decision", (one) => html`<div class="buttons">
          <${Act} label="Process again" about=${one.letter} path=${`/bus/v1/dead-letters/${one.letter}/replay`} done="It is processed again." />
          <${Act} label="Drop" about=${one.letter} danger method="DELETE" path=${`/bus/v1/dead-letters/${one.letter}`}
            question="The event is deleted for good." done="It is deleted." />
        </div>`],
      ]} />`;
}
