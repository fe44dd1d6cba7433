// What owners do: a button that asks first where it has to, says what came of it, and is there only where one may.

import {news, send, session} from "./api.js";
import {html, signal, useRef, useState} from "./ui.js";

/** What the last act came to, shown on every screen until the next one. */
export const told = signal({text: "", bad: false});

/**
 * A button. It sends `body`, which may be a function that makes it; `question` is asked first; `danger` marks what
 * cannot be undone. `done` says what was done, by the answer where it is a function, and is null where it is
 * seen; `then` goes on with the answer.
 */
export function Act({label, about = "", question = "", danger = false, done = "", path, body = {}, method = "POST", then}) {
  const [busy, setBusy] = useState(false);
  const dialog = useRef(null);
  if (!session.value?.acts) return null;
  const run = async () => {
    if (busy) return;
    dialog.current?.close();
    setBusy(true);
    try {
      const found = await send(path, typeof body === "function" ? body() : body, method);
      const text = typeof done === "function" ? done(found) : done;
      told.value = {text: text === null ? "" : text || `${label}: done.`, bad: false};
      news.value += 1;
      then?.(found);
    } catch (error) {
      told.value = {text: `${label}: ${error.message}`, bad: true};
    } finally {
      setBusy(false);
    }
  };
  const name = about ? `${label} ${about}` : label;
  return html`
    <button class=${danger ? "danger" : ""} aria-disabled=${busy ? "true" : null} aria-label=${name}
      onClick=${(event) => { event.stopPropagation(); if (question) dialog.current.showModal(); else void run(); }}>${label}</button>
    ${question && html`
      <dialog ref=${dialog} aria-label=${name}>
        <p>${question}</p>
        <div class="buttons">
          <button class=${danger ? "danger" : "main"} onClick=${run}>${label}</button>
          <button autofocus onClick=${() => dialog.current.close()}>Cancel</button>
        </div>
      </dialog>`}`;
}

export function Told() {
  return html`<p class=${`told${told.value.bad ? " bad" : ""}`} role="status">${told.value.text}</p>`;
}
