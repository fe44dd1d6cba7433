// The facts around a moment, as they are on the tape.

import {get} from "../api.js";
import {html, useEffect, useState} from "../ui.js";
import {time} from "../words.js";

const AROUND = 40;
const GROWS = "grew";

/** The facts by which one text grows are one row, with all that came. */
function grownOnce(entries) {
  const rows = [];
  for (const one of entries) {
    const at = one.kind === GROWS ? rows.findLastIndex((row) => row.kind === GROWS && row.payload.page === one.payload.page) : -1;
    if (at < 0) {
      rows.push(one);
      continue;
    }
    const {payload, ...before} = rows[at];
    rows[at] = {...before, last: one.id, payload: {...payload, text: payload.text.slice(0, one.payload.at - payload.at) + one.payload.text}};
  }
  return rows;
}

export function Facts({tape, at, onMoment}) {
  const [open, setOpen] = useState(false);
  const [entries, setEntries] = useState([]);
  useEffect(() => {
    if (!open) return undefined;
    const stopped = new AbortController();
    get(`${tape}/entries`, {after: Math.max(0, at - AROUND), limit: AROUND * 2}, stopped.signal)
      .then((found) => setEntries(found.entries), () => {});
    return () => stopped.abort();
  }, [tape, at, open]);
  return html`
    <details class="facts" open=${open} onToggle=${(event) => setOpen(event.target.open)}>
      <summary>The entries around it</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="Entries">
        <table>
          <thead><tr><th>Entry</th><th>Time</th><th>Tape</th><th>Kind</th><th>Content</th></tr></thead>
          <tbody>
            ${grownOnce(entries).map((one) => html`
              <tr key=${one.id} class=${at >= one.id && at <= (one.last ?? one.id) ? "here" : ""}>
                <th scope="row"><button class="link" onClick=${() => onMoment(one.id)}>${one.last ? `${one.id}–${one.last}` : one.id}</button></th>
                <td>${time(one.date)}</td><td>${one.meta.tape}</td><td>${one.kind}</td>
                <td><code>${JSON.stringify(one.payload ?? {}).slice(0, 400)}</code></td>
              </tr>`)}
          </tbody>
        </table>
      </div>
    </details>`;
}
