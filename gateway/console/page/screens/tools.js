// Tools: the servers of remote agents, and the calls of what they offer.

import {get} from "../api.js";
import {useLive} from "../live.js";
import {Failures} from "./models.js";
import {Ago} from "./now.js";
import {Plain} from "../table.js";
import {html} from "../ui.js";
import {count, plural, seconds} from "../words.js";

export function Tools() {
  const {found, trouble} = useLive(() => get("/bus/v1/tools"));
  return html`
    <h1>Tools</h1>
    ${trouble && html`<p class="trouble" role="alert">${trouble}</p>`}
    ${!found && !trouble && html`<p class="quiet">Asking the gateway …</p>`}
    ${found && !found.servers.length && html`<p class="quiet">No program has an agent whose tools are on a server (MCP or A2A).</p>`}
    ${found?.servers.map((one) => html`
      <section key=${one.agent} class="card">
        <${Plain} title=${one.agent} rows=${one.calls} keyOf=${(call) => call.tool} empty="None of its tools was called."
          about=${html`<p><code>${one.server}</code><br />
            ${one.trouble ? html`<span class="bad">Not connected: ${one.trouble}</span>`
              : one.connected_at ? html`Connected <${Ago} at=${one.connected_at} />, ${plural(one.tools ?? 0, "tool")}`
              : html`<span class="quiet">Not connected.</span>`}${one.programs.length ? html`<span class="quiet">, for ${one.programs.join(", ")}</span>` : ""}</p>`}
          columns=${[
            ["Tool", (call) => call.tool, (call) => call.tool],
            ["Answers", (call) => count(call.answers), (call) => call.answers],
            ["Median", (call) => seconds(call.median_s), (call) => call.median_s],
            ["p95", (call) => seconds(call.p95_s), (call) => call.p95_s],
            ["Slowest", (call) => seconds(call.slowest_s), (call) => call.slowest_s],
            ["Last", (call) => html`<${Ago} at=${call.last_at} />`, (call) => call.last_at],
            ["Failures", (call) => html`<${Failures} of=${call} />`, (call) => call.failures],
          ]} />
      </section>`)}
    ${found?.servers.length > 0 && html`<p class="quiet">Calls are those of all processes that live, since each began; times are those of the last answers.</p>`}`;
}
