// People: their roles, what they may use, and forgetting them.

import {Act} from "../acts.js";
import {session} from "../api.js";
import {ACTS, Table} from "../table.js";
import {html, useRef, useState} from "../ui.js";
import {dollars, plural} from "../words.js";

const ROLES = ["owner", "member", "guest", "blocked"];
const LIMITS = [["usd_per_day", "Dollars a day"], ["tokens_per_day", "Tokens a day"], ["messages_per_day", "Messages a day"], ["messages_per_minute", "Messages a minute"]];

/** `person` is one to begin with, by id. */
export function Roles({person}) {
  return html`
    <${Table} title="People with a role or limits of their own" path="/bus/v1/people" name="people" keyOf=${(one) => one.person}
      empty="Nobody has a role or limits of their own; the settings decide." columns=${[
        ["Person", (one) => html`${one.name || one.person}${one.name ? html`<br /><span class="quiet">${one.person}</span>` : ""}`],
        ["Role", (one) => one.role ?? html`<span class="quiet">as the settings say</span>`],
        ["Limits", (one) => told(one.limits) || html`<span class="quiet">as the settings say</span>`],
        [ACTS, (one) => html`<${Acts} person=${one.person} name=${one.name || one.person} role=${one.role} limits=${one.limits} />`],
      ]} />
    ${session.value.acts && html`<${Somebody} key=${person} person=${person} />`}`;
}

/** Limits in words; 0 is none. */
function told(limits) {
  return LIMITS.filter(([kind]) => limits[kind] !== undefined).map(([kind, title]) =>
    (limits[kind] === 0 ? `${title}: no limit` : `${title}: ${kind === "usd_per_day" ? dollars(limits[kind]) : limits[kind].toLocaleString()}`)).join(", ");
}

function Acts({person, name, role, limits}) {
  const [limiting, setLimiting] = useState(false);
  const path = `/bus/v1/people/${encodeURIComponent(person)}`;
  return html`
    <div class="buttons">
      ${ROLES.filter((one) => one !== role).map((one) => html`<${Act} key=${one} label=${one} about=${name} danger=${one === "blocked"}
        path=${`${path}/role`} body=${{role: one}} question=${`${name} becomes: ${one}.`} done=${`${name} is now ${one}.`} />`)}
      ${role && html`<${Act} label="Remove role" about=${`of ${name}`} method="DELETE" path=${`${path}/role`}
        question="The settings decide again." done="The role is removed." />`}
      <button aria-label=${`Limits of ${name}`} aria-expanded=${limiting ? "true" : "false"} onClick=${() => setLimiting(!limiting)}>Limits</button>
      <${Act} label="Forget" about=${name} danger path=${`${path}/forget`}
        question=${`Every conversation in which ${name} took part, also with others, and all that is stored about them is deleted for good.`}
        done=${(found) => `${name} is forgotten: ${plural(found.sessions, "session")} and ${plural(found.entries, "other entry", "other entries")} are deleted.`} />
    </div>
    ${limiting && html`<${Limits} path=${path} name=${name} limits=${limits} onDone=${() => setLimiting(false)} />`}`;
}

function Limits({path, name, limits, onDone}) {
  const form = useRef(null);
  const wanted = () => Object.fromEntries(LIMITS.map(([kind]) => [kind, form.current.elements[kind].value])
    .filter(([, value]) => value !== "").map(([kind, value]) => [kind, Number(value)]));
  return html`
    <form class="limits" ref=${form} onSubmit=${(event) => event.preventDefault()}>
      ${LIMITS.map(([kind, title]) => html`<label key=${kind}>${title}
        <input name=${kind} type="number" min="0" step=${kind === "usd_per_day" ? "any" : "1"} defaultValue=${limits[kind] ?? ""} /></label>`)}
      <p class="quiet">Empty fields follow the settings; 0 means no limit. Use counts from now on if there was no limit before.</p>
      <div class="buttons"><${Act} label="Set limits" about=${`of ${name}`} path=${`${path}/limit`} body=${wanted} done=${`${name} has these limits now.`} then=${onDone} />
        <button type="button" onClick=${onDone}>Cancel</button></div>
    </form>`;
}

/** The acts on somebody who is not in the list, by their id. */
function Somebody({person}) {
  const [id, setId] = useState(person);
  const known = /^[^:\s]+:\S+$/.test(id.trim());
  return html`
    <section aria-labelledby="somebody">
      <h2 id="somebody">Somebody else</h2>
      <label class="check">Person <input value=${id} placeholder="platform:id" aria-label="A person, as platform:id" onInput=${(event) => setId(event.target.value)} /></label>
      ${known ? html`<${Acts} key=${id.trim()} person=${id.trim()} name=${id.trim()} role=${null} limits=${{}} />`
        : html`<p class="quiet">A person is their platform and their id there, as behind a name in a session.</p>`}
    </section>`;
}
