// Programs: what is served, and who is on it.

import {get, session} from "../api.js";
import {html, useEffect, useState} from "../ui.js";

export function Programs() {
  const [programs, setPrograms] = useState(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    get("/bus/v1/programs").then((found) => setPrograms(found.programs), (error) => setTrouble(error.message));
  }, []);
  return html`
    <h1>Programs</h1>
    ${trouble && html`<p class="trouble" role="alert">${trouble}</p>`}
    ${programs?.map((one) => html`<${Program} key=${one.program} program=${one} />`)}`;
}

function Program({program}) {
  const [files, setFiles] = useState(null);
  const [trouble, setTrouble] = useState("");
  const read = (event) => {
    if (!event.target.open || files) return;
    get(`/bus/v1/programs/${encodeURIComponent(program.program)}`).then((found) => setFiles(found.files), (error) => setTrouble(error.message));
  };
  const name = `program-${program.program}`;
  return html`
    <section class="card" aria-labelledby=${name}>
      <h2 id=${name}>${program.program} <small class="quiet">version ${program.digest.slice(0, 8)}</small></h2>
      <p><a href=${`#/sessions?${new URLSearchParams({text: program.program})}`}>Its sessions</a></p>
      <ul>
        ${program.agents.map((agent) => html`
          <li key=${agent.class}><b>${agent.class}</b>${agent.kind === "AI" ? "" : ` (${agent.kind})`}:
            ${" "}${agent.playbooks.map((one) => `${one.name}${one.public ? " (public)" : ""}`).join(", ") || "no playbooks"}</li>`)}
      </ul>
      ${session.value.words && html`
        <details onToggle=${read}><summary>Text</summary>
          ${trouble && html`<p class="trouble">${trouble}</p>`}
          ${files?.map((file) => html`<h3 key=${file.name}>${file.name}</h3><pre class="program" tabindex="0" role="region" aria-label=${file.name}>${file.text}</pre>`)}
        </details>`}
    </section>`;
}
