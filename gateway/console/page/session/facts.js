// The facts around a moment, as they are on the tape.

import {get} from "../api.js";
import {html, useEffect, useState} from "../ui.js";
import {time} from "../words.js";

const AROUND = 25;

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
      <summary>The facts around it</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="Facts">
        <table>
          <thead><tr><th>Fact</th><th>Time</th><th>Tape</th><th>Kind</th><th>Content</th></tr></thead>
          <tbody>
            ${entries.map((one) => html`
              <tr key=${one.id} class=${one.id === at ? "here" : ""}>
                <th scope="row"><button class="link" onClick=${() => onMoment(one.id)}>${one.id}</button></th>
                <td>${time(one.date)}</td><td>${one.meta.tape}</td><td>${one.kind}</td>
                <td><code>${JSON.stringify(one.payload ?? {}).slice(0, 400)}</code></td>
              </tr>`)}
          </tbody>
        </table>
      </div>
    </details>`;
}
