// Programs: what is served, in which versions, and how it does.

import {Act} from "../acts.js";
import {get, session} from "../api.js";
import {useLive} from "../live.js";
import {Failed} from "./decisions.js";
import {Ago} from "./now.js";
import {ACTS, Plain, SessionLink} from "../table.js";
import {html, useState} from "../ui.js";
import {count, failed} from "../words.js";

export function Programs() {
  const {found, trouble} = useLive(() => get("/bus/v1/programs"));
  return html`
    <h1>Programs</h1>
    ${trouble && html`<p class="trouble" role="alert">${trouble}</p>`}
    <div class="buttons"><${Act} label="Reload" about="all programs" path="/bus/v1/programs/reload"
      done="All nodes read their programs again. Errors in a file show under “How it does”." /></div>
    ${!found && !trouble && html`<p class="quiet">Asking the gateway …</p>`}
    ${found?.programs.map((one) => html`<${Program} key=${one.program} program=${one} />`)}`;
}

function Program({program}) {
  const path = `/bus/v1/programs/${encodeURIComponent(program.program)}`;
  const name = `program-${program.program}`;
  return html`
    <section class="card" aria-labelledby=${name}>
      <h2 id=${name}>${program.program} <small class="quiet">version ${program.digest.slice(0, 8)}</small></h2>
      <p><a href=${`#/sessions?${new URLSearchParams({text: program.program})}`}>Its sessions</a></p>
      <ul>
        ${program.agents.map((agent) => html`
          <li key=${agent.class}><b>${agent.class}</b>${agent.kind === "AI" ? "" : ` (${agent.kind})`}:
            ${" "}${agent.playbooks.map((one) => `${one.name}${one.public ? " (public)" : ""}`).join(", ") || (["MCP", "A2A"].includes(agent.kind) ? html`<a href="#/tools">tools on a server</a>` : "no playbooks")}</li>`)}
      </ul>
      <${Opened} title="How it does">${() => html`<${Practice} path=${path} digest=${program.digest} />`}<//>
      ${session.value.words && html`<${Opened} title="Text">${() => html`<${Texts} key=${program.digest} path=${path} />`}<//>`}
    </section>`;
}

/** A part that is fetched once somebody opens it. */
function Opened({title, children}) {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(event) => setOpen(event.target.open)}><summary>${title}</summary>${open && children()}</details>`;
}

function Texts({path}) {
  const {found, trouble} = useLive(() => get(path), [], 10_000);
  return html`
    ${trouble && html`<p class="trouble">${trouble}</p>`}
    ${found?.files.map((file) => html`<h3 key=${file.name}>${file.name} <small>as the file is now</small></h3><pre class="program" tabindex="0" role="region" aria-label=${file.name}>${file.text}</pre>`)}`;
}

function Practice({path, digest}) {
  const {found, trouble} = useLive(() => get(`${path}/practice`), [digest], 10_000);
  const inFile = found?.rolled_back?.instead_of ?? found?.versions.find((one) => one.served)?.digest;
  if (!found) return html`<p class=${trouble ? "trouble" : "quiet"}>${trouble || "Asking the gateway …"}</p>`;
  return html`
    ${found.refused && html`<div class="trouble"><p>Its files could not be read <${Ago} at=${found.refused.at} />; the version before is served.</p>
      ${found.refused.error && html`<pre tabindex="0" role="region" aria-label="What is wrong">${found.refused.error}</pre>`}</div>`}
    ${found.rolled_back && html`<p>${found.rolled_back.by} rolled it back <${Ago} at=${found.rolled_back.at} />. Version
      ${" "}<code>${found.rolled_back.version.slice(0, 8)}</code> is served until the file changes.</p>`}
    <${Plain} title="Versions" level="3" rows=${found.versions} keyOf=${(one) => one.digest} empty="None is kept." columns=${[
      ["Version", (one) => html`<code>${one.digest.slice(0, 8)}</code>${one.served ? " (served)" : ""}${found.rolled_back && one.digest === inFile ? ", in the file" : ""}`],
      ["Taken up", (one) => (one.taken_up_at ? html`<${Ago} at=${one.taken_up_at} />` : html`<span class="quiet">not kept any more</span>`)],
      ["Sessions on it", (one) => count(one.sessions)],
      [ACTS, (one) => !one.served && one.taken_up_at && html`<${Act} label=${one.digest === inFile ? "Serve the file again" : "Roll back"}
        about=${`to ${one.digest.slice(0, 8)}`} path=${`${path}/rollback`} body=${{version: one.digest}} done="All nodes serve that version from now on."
        question=${one.digest === inFile ? "New conversations begin with what the file has. Those at work finish on theirs."
          : "New conversations begin with this version, until the file changes. Those at work finish on theirs. The file is not changed."} />`],
    ]} />
    <${Plain} title="Failures by step" level="3" rows=${found.failures} keyOf=${(one) => `${one.place} ${one.error_type}`}
      empty="Nothing failed that nobody caught." columns=${[
        ["Step", (one) => html`<${Failed} one=${one} />`],
        ["Error", (one) => failed(one.error_type)],
        ["Times", (one) => count(one.count), (one) => one.count],
        ["Last", (one) => html`<${Ago} at=${one.last_at} />, <${SessionLink} session=${one.session} at=${one.seq} text="the moment" />`, (one) => one.last_at],
      ]} />
    <${Plain} title="Ratings by step in 30 days" level="3" rows=${found.ratings} keyOf=${(one) => one.step} empty="Nobody has rated what it says." columns=${[
      ["Step", (one) => one.step || "outside of steps"],
      ["Thumbs up", (one) => count(one.up), (one) => one.up],
      ["Thumbs down", (one) => html`<span class=${one.down > one.up ? "bad" : ""}>${count(one.down)}</span>`, (one) => one.down],
    ]} />`;
}
