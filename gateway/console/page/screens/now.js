// Now: the gateway at one glance.

import {Act} from "../acts.js";
import {get} from "../api.js";
import {useLive} from "../live.js";
import {Day} from "./day.js";
import {ACTS, Plain} from "../table.js";
import {html} from "../ui.js";
import {ago, count, exact, plural} from "../words.js";

export function Now() {
  const {found: status, trouble} = useLive(() => get("/bus/v1/status"));
  return html`
    <h1>Now</h1>
    ${trouble && html`<p class="trouble" role="alert">${trouble}</p>`}
    ${status ? html`<${Status} status=${status} />` : html`<p class="quiet">Asking the gateway …</p>`}`;
}

function Status({status}) {
  const {sessions, waiting, decisions} = status;
  const several = status.nodes.length + status.fronts.length > 1; // the inside matters to nobody with one node
  const undecided = decisions.reports + decisions.requests + decisions.questions;
  return html`
    <${Day} hours=${status.last_day.hours} />
    <h2>At present</h2>
    <ul class="numbers">
      <${Number_} name="at work" value=${count(sessions.at_work)} more=${`of ${plural(sessions.all, "session")}`}
        href="#/sessions?state=working" />
      <${Number_} name="waiting" value=${count(waiting.events + waiting.pages)}
        more=${`${count(waiting.events)} in, ${count(waiting.pages)} out`} />
      <${Number_} name="set aside" href="#/decisions" value=${count(status.dead_letters)} bad=${status.dead_letters > 0}
        more=${status.dead_letters ? "messages that could not be processed" : "nothing"} />
      <${Number_} name="to decide" href="#/decisions" value=${count(undecided)} bad=${undecided > 0}
        more=${`${plural(decisions.questions, "tool that asks", "tools that ask")}, ${plural(decisions.reports, "report")}, ${plural(decisions.requests, "request")} to get in. ${plural(decisions.asked, "question waits", "questions wait")} for people`} />
    </ul>
    <${Plain} title="Platforms" rows=${status.platforms} keyOf=${(one) => one.name} empty="No platform is connected at this node." columns=${[
      ["Platform", (one) => one.name],
      ["Connected", (one) => (one.trouble ? html`<span class="bad">off: ${one.trouble}</span>` : html`<${Ago} at=${one.connected_at} />`)],
      ["Last in", (one) => html`<${Ago} at=${one.last_in_at} />`],
      ["Last out", (one) => html`<${Ago} at=${one.last_out_at} />`],
      ["Pauses asked for", (one) => (one.pauses ? html`${count(one.pauses)}, the last <${Ago} at=${one.paused_at} />` : "none")],
    ]} />
    ${several && html`<${Plain} title="Nodes" rows=${[...status.nodes, ...status.fronts.map((one) => ({...one, front: true}))]}
      keyOf=${(one) => `${one.front ? "front" : "node"} ${one.name}`} empty="No node serves conversations."
      about=${html`<p class=${status.shards.held < status.shards.all ? "bad" : "quiet"}>
        ${status.shards.held} of ${status.shards.all} shards are held.</p>`} columns=${[
        ["Node", (one) => html`<${Node} name=${one.name} />`],
        ["Does", (one) => (one.front ? "front" : serving(one))],
        ["Shards", (one) => (one.front ? "none" : one.shards)],
        [ACTS, (one) => (one.front ? "" : html`<${Draining} node=${one} />`)],
      ]} />`}
    <p class="quiet">Parley ${status.version}, as of ${exact(status.at)}.</p>`;
}

/** A node by the beginning of its name, which is long and random. */
function Node({name}) {
  return html`<code title=${name}>${name.slice(0, 8)}</code>`;
}

function serving(node) {
  if (!node.draining) return "serves conversations";
  return node.shards ? `is being emptied, ${plural(node.shards, "shard")} left` : html`<b>is empty</b>`;
}

function Draining({node}) {
  const path = `/bus/v1/nodes/${encodeURIComponent(node.name)}`;
  return node.draining
    ? html`<${Act} key="undrain" label="Undrain" about=${node.name} path=${`${path}/undrain`} done="The node takes its part again." />`
    : html`<${Act} key="drain" label="Drain" about=${node.name} path=${`${path}/drain`} done="The node gives its conversations to the others."
        question="It finishes what it is at, gives its shards to the other nodes, and takes no new ones until you undrain it or it starts anew." />`;
}

export function Ago({at}) {
  return at ? html`<time datetime=${at} title=${exact(at)}>${ago(at)}</time>` : html`<span class="quiet">never</span>`;
}

function Number_({name, value, more, bad, href}) {
  const inside = html`<span class="name">${name}</span><strong class=${bad ? "bad" : ""}>${value}</strong>
    <span class="quiet">${more}</span>`;
  return html`<li>${href ? html`<a href=${href}>${inside}</a>` : html`<div>${inside}</div>`}</li>`;
}
