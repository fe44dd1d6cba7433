// What was said, found in the tapes: by the search of the tape service, the latest first.

import {get} from "../api.js";
import {VirtualList} from "../list.js";
import {html, useEffect, useRef, useState} from "../ui.js";
import {ago, exact} from "../words.js";

const ROW = 76;
const LIMIT = 50;

/** What is searched, by its name in the address: a title and the kinds of facts. */
export const AMONG = {
  said: ["what was said", "heard,changed,transcribed,fin,held,close,speech,word_down,word_up"],
  failures: ["failures", "ret,failed,rej,uncaught,broken,drop"],
  all: ["all entries", ""],
};

/**
 * The hits of a question in the words of people, agents and models. `tape` is searched, or all sessions without one;
 * `onOpen` is given a hit.
 */
export function Found({question, among = "said", from = "", until = "", tape = "", onOpen}) {
  const [state, setState] = useState({hits: [], next: null, sealed: 0, busy: true, trouble: ""});
  const asked = useRef(null);
  const fetched = async (after, before) => {
    asked.current?.abort();
    const own = (asked.current = new AbortController());
    setState((known) => ({...known, hits: before, busy: true, trouble: ""}));
    const query = {
      q: question, kinds: AMONG[among]?.[1] ?? "", from: dayBegins(from), until: dayEnds(until), limit: LIMIT, after,
      scope: tape ? "" : "sessions.*",
    };
    try {
      const found = await get(tape ? `${tape}/search` : "/tape/v1/search", query, own.signal);
      const known = new Set(before.map(keyOf));
      const hits = [...before, ...found.hits.filter((one) => !known.has(keyOf(one)))];
      setState({hits, next: found.next, sealed: found.sealed, busy: false, trouble: ""});
    } catch (error) {
      if (error.name !== "AbortError") setState({hits: before, next: null, sealed: 0, busy: false, trouble: error.message});
    }
  };
  useEffect(() => {
    void fetched("", []);
    return () => asked.current?.abort();
  }, [question, among, from, until, tape]);
  const {hits, next, sealed, busy, trouble} = state;
  return html`
    ${trouble && html`<p class="trouble" role="alert">${trouble}</p>`}
    <p class="quiet found" role="status">${busy ? "Searching …" : summary(hits, next, tape)}
      ${!busy && sealed ? " Some of it is encrypted, and its key is not here." : ""}
      ${!busy && next && html` <button onClick=${() => fetched(next, hits)}>Look further</button>`}</p>
    ${hits.length > 0 && html`<${VirtualList} rows=${hits} rowHeight=${ROW} keyOf=${keyOf} label="What was found" onOpen=${onOpen}
      row=${(hit) => html`<${Hit} hit=${hit} alone=${Boolean(tape)} />`} />`}`;
}

/** The session of a hit. */
export const sessionOf = (hit) => hit.tape.replace(/^sessions\./, "");

const keyOf = (hit) => `${hit.tape}-${hit.entry.id}`;

function summary(hits, next, tape) {
  const place = tape ? "the latest entries" : "the sessions that were active last";
  if (!hits.length) return next ? `Nothing was found in ${place}.` : "Nothing was found.";
  return next ? `Found in ${place}.` : `${hits.length} found.`;
}

function Hit({hit, alone}) {
  const {entry} = hit;
  return html`
    <div class=${`hit-row${alone ? " alone" : ""}`}>
      <span class="who"><b>${whose(hit)}</b><span class="quiet">${alone ? `entry ${entry.id}` : hit.conversation}</span></span>
      <span class="excerpt">${hit.excerpt.length
        ? hit.excerpt.map((one, number) => (one.found ? html`<mark key=${number}>${one.text}</mark>` : one.text))
        : html`<span class="quiet">The words are in different parts of it.</span>`}</span>
      <span class="when quiet" title=${exact(entry.date)}>${ago(entry.date)}</span>
    </div>`;
}

const SAYS = {
  fin: "An agent said", held: "An agent said", close: "An agent said", speech: "An agent said", opening: "An agent began",
  transcribed: "Said aloud", changed: "Changed by its author", set: "A variable was set", res: "A call returned",
  ret: "A playbook ended", stmt: "The model wrote", rej: "The check refused", failed: "A statement failed", drop: "A call failed",
  uncaught: "Nobody caught it", broken: "The program cannot go on", memory: "Remembered", start: "A playbook began",
};

function whose({entry, who}) {
  if (who) return html`<bdi>${who}</bdi> said`;
  return entry.kind === "heard" ? entry.payload.name : SAYS[entry.kind] ?? `Fact “${entry.kind}”`;
}

/** The moments at which a day of this browser begins and ends, for a date such as 2026-11-23. */
const dayBegins = (date) => (date ? new Date(`${date}T00:00:00`).toISOString() : "");
const dayEnds = (date) => (date ? new Date(`${date}T23:59:59.999`).toISOString() : "");
