// Sessions: all of them, the most recently active first.

import {get, session} from "../api.js";
import {VirtualList, useRows} from "../list.js";
import {go} from "../places.js";
import {html, useEffect, useMemo, useRef, useState} from "../ui.js";
import {ago, count, exact, plural} from "../words.js";

const STATES = ["working", "resting", "ended", "replaced", "archived"];
const ROW = 64;

export function Sessions({query}) {
  const [all, setAll] = useState(null);
  const words = session.value.words ? "1" : "";
  const wanted = useMemo(() => ({state: query.get("state") ?? "", text: query.get("text") ?? ""}), [query.toString()]);
  const about = JSON.stringify(wanted);
  const found = useRows(async (after) => {
    const page = await get("/bus/v1/sessions", {...wanted, words, after, limit: 50});
    setAll(page.all);
    return {rows: page.sessions, next: page.next};
  }, (one) => one.session, about);
  return html`
    <h1>Sessions <small>${all === null ? "" : count(all)}</small></h1>
    <${Filter} wanted=${wanted} />
    ${found.trouble && html`<p class="trouble" role="alert">${found.trouble}</p>`}
    ${found.fetched && !found.rows.length && html`<p class="quiet">${
      wanted.state || wanted.text
        ? found.ends ? "No session fits." : html`None among those that were active last. <button onClick=${found.more}>Look further</button>`
        : "There are no sessions yet. One begins when somebody writes to an agent."}</p>`}
    <${VirtualList} rows=${found.rows} rowHeight=${ROW} keyOf=${(one) => one.session} label="Sessions" ends=${found.ends}
      onEnd=${found.more} onOpen=${(one) => go(`session/${one.session}`)} row=${(one) => html`<${Row} one=${one} />`} />`;
}

function Filter({wanted}) {
  const field = useRef(null);
  const waits = useRef(0);
  const apply = (change) => {
    const next = {...wanted, ...change};
    const text = new URLSearchParams(Object.entries(next).filter(([, value]) => value)).toString();
    go(`sessions${text ? `?${text}` : ""}`, {instead: true});
  };
  useEffect(() => {
    if (document.activeElement !== field.current) field.current.value = wanted.text;
  }, [wanted.text]);
  return html`
    <form class="filter" role="search" onSubmit=${(event) => event.preventDefault()}>
      <input type="search" id="filter" ref=${field} placeholder="Conversation, session or program" aria-label="Find sessions"
        onInput=${(event) => {
          clearTimeout(waits.current);
          waits.current = setTimeout(() => apply({text: event.target.value.trim()}), 200);
        }} />
      <label>State
        <select value=${wanted.state} onChange=${(event) => apply({state: event.target.value})}>
          <option value="">any</option>
          ${STATES.map((state) => html`<option key=${state} value=${state}>${state}</option>`)}
        </select>
      </label>
    </form>`;
}

function Row({one}) {
  return html`
    <div class="session-row">
      <span class=${`state ${one.state}`}>${one.state}</span>
      <span class="conversation"><b>${one.conversation}</b>${one.people?.length ? html`<span class="quiet">${one.people.join(", ")}</span>` : ""}</span>
      <span class="program quiet">${one.program}</span>
      <span class="words">${one.last ? html`${one.last.who ? html`<b>${one.last.who}: </b>` : ""}${one.last.text}` : ""}</span>
      <span class="when quiet" title=${exact(one.last_at)}>${ago(one.last_at)} · ${plural(one.facts, "fact")}</span>
    </div>`;
}
