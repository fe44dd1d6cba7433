// Sessions: all of them, the most recently active first, and what was said in them.

import {get, session} from "../api.js";
import {VirtualList, useRows} from "../list.js";
import {go} from "../places.js";
import {AMONG, Found, sessionOf} from "../searching/found.js";
import {Field} from "../searching/field.js";
import {html, useMemo, useState} from "../ui.js";
import {ago, count, dollars, exact, isolated, programNamed} from "../words.js";

const STATES = ["working", "resting", "ended", "replaced", "archived"];
const FIELDS = ["state", "text", "in", "q", "among", "from", "until"];
const ROW = 64;

export function Sessions({query}) {
  const [all, setAll] = useState(null);
  const wanted = useMemo(() => Object.fromEntries(FIELDS.map((name) => [name, query.get(name) ?? ""])), [query.toString()]);
  const apply = (change) => {
    const fields = Object.entries({...wanted, ...change}).filter(([, value]) => value);
    go(fields.length ? `sessions?${new URLSearchParams(fields)}` : "sessions", {instead: true});
  };
  const inWords = session.value.words && wanted.in === "words";
  return html`
    <h1>Sessions <small>${all === null ? "" : count(all)}</small></h1>
    <form class="filter" role="search" onSubmit=${(event) => event.preventDefault()}>
      ${session.value.words && html`
        <label>Find <select aria-label="Find what" value=${inWords ? "words" : ""} onChange=${(event) => apply({in: event.target.value})}>
          <option value="">sessions</option><option value="words">words in them</option></select></label>`}
      ${inWords
        ? html`<${Field} key="q" value=${wanted.q} label="Find words" hint="Words, or “a phrase”" onValue=${(q) => apply({q})} />
          <${Choice} title="Among" value=${wanted.among} options=${Object.entries(AMONG).map(([name, [title]]) => [name === "said" ? "" : name, title])}
            onValue=${(among) => apply({among})} />
          <label>From <input type="date" value=${wanted.from} onChange=${(event) => apply({from: event.target.value})} /></label>
          <label>Until <input type="date" value=${wanted.until} onChange=${(event) => apply({until: event.target.value})} /></label>`
        : html`<${Field} key="text" value=${wanted.text} waits=${200} label="Find sessions" hint="Conversation, session or program" onValue=${(text) => apply({text})} />
          <${Choice} title="State" value=${wanted.state} options=${[["", "any"], ...STATES.map((state) => [state, state])]}
            onValue=${(state) => apply({state})} />`}
    </form>
    ${!inWords && html`<${Listed} state=${wanted.state} text=${wanted.text} onAll=${setAll} />`}
    ${inWords && !wanted.q && html`<p class="quiet">All words must occur, in any order. Words in “quotation marks” must stand together. Typing errors are forgiven.</p>`}
    ${inWords && wanted.q && html`<${Found} question=${wanted.q} among=${wanted.among || "said"} from=${wanted.from} until=${wanted.until}
      onOpen=${(hit) => go(`session/${sessionOf(hit)}?at=${hit.entry.id}`)} />`}`;
}

function Listed({state, text, onAll}) {
  const words = session.value.words ? "1" : "";
  const found = useRows(async (after) => {
    const page = await get("/bus/v1/sessions", {state, text, words, after, limit: 50});
    onAll(page.all);
    return {rows: page.sessions, next: page.next};
  }, (one) => one.session, JSON.stringify({state, text}));
  return html`
    ${found.trouble && html`<p class="trouble" role="alert">${found.trouble}</p>`}
    ${found.fetched && !found.rows.length && html`<p class="quiet">${
      state || text
        ? found.ends ? "No session fits." : html`None among those that were active last. <button onClick=${found.more}>Look further</button>`
        : "There are no sessions yet. One begins when somebody writes to an agent."}</p>`}
    <${VirtualList} rows=${found.rows} rowHeight=${ROW} keyOf=${(one) => one.session} label="Sessions" ends=${found.ends}
      onEnd=${found.more} onOpen=${(one) => go(`session/${one.session}`)} row=${(one) => html`<${Row} one=${one} />`} />`;
}

function Choice({title, value, options, onValue}) {
  return html`
    <label>${title}
      <select value=${value} onChange=${(event) => onValue(event.target.value)}>
        ${options.map(([name, text]) => html`<option key=${name} value=${name}>${text}</option>`)}
      </select>
    </label>`;
}

function Row({one}) {
  return html`
    <div class="session-row">
      <span class=${`state ${one.state}`}>${one.state}</span>
      <span class="conversation"><b><bdi>${one.first || one.conversation}</bdi></b>
        <span class="quiet">${[one.first && one.conversation, ...(one.people ?? []).map(isolated)].filter(Boolean).join(", ")}</span></span>
      <span class="program quiet">${programNamed(one.program)}</span>
      <span class="words">${one.last ? html`${one.last.who ? html`<b><bdi>${one.last.who}</bdi>: </b>` : ""}<bdi>${one.last.text}</bdi>` : ""}</span>
      <span class="when quiet" title=${exact(one.last_at)}>${ago(one.last_at)}${one.spent.answers ? ` · ${dollars(one.spent.usd, one.spent.unpriced)}` : ""}</span>
    </div>`;
}
