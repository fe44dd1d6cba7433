/** Keys on messages: one tab stop for each list, arrows between messages, letters for what can be done with one. */

import { el } from "./look.js";
import { KEYS } from "./messages/message.js";
import { oneStop } from "./tab_stops.js";

const ON_A_MESSAGE = [
  ["↑ ↓", "the message before, the message after"],
  ["Home End", "the first message shown, the last"],
  ["R", "reply"],
  ["T", "reply in a thread"],
  ["+", "react"],
  ["C", "copy the text"],
  ["E", "edit your message"],
  ["Delete", "delete your message"],
];
const ANYWHERE = [
  ["Tab", "to the messages, through one of them, and on to the text"],
  ["Ctrl K", "go to a room"],
  ["Ctrl Shift F", "search this room, or all"],
  ["↑", "in an empty text: edit your last message"],
  ["Esc", "close what is open"],
  ["?", "show these keys"],
];

/** Let the keys of a list of messages work. `rows` has `viewOf(row)`, `rowBeside(row, by)`, which brings a row into view,
 * and `lastRow()`, the last one that is visible. */
export class MessageKeys {
  constructor(list, rows) {
    this.list = list;
    this.rows = rows;
    this.stop = null;
    oneStop(list, (element) => element.closest(".message:not(.notice)"), () => this.stop);
    list.addEventListener("focusin", (event) => this.visit(event.target.closest(".row")));
    list.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** Make the last visible message the list's tab stop, unless somebody is among them. */
  settle() {
    if (this.stop?.isConnected && this.list.contains(document.activeElement)) return;
    this.visit(this.rows.lastRow());
  }

  visit(row) {
    if (!row || row === this.stop) return;
    if (this.stop) this.stop.tabIndex = -1;
    this.stop = row;
    row.tabIndex = 0;
  }

  pressed(event) {
    if (event.target !== this.stop || event.ctrlKey || event.metaKey || event.altKey) return;
    const go = { ArrowUp: [this.stop, -1], ArrowDown: [this.stop, 1], Home: [null, 1], End: [null, -1] }[event.key];
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (go) this.rows.rowBeside(...go)?.focus({ preventScroll: true });
    else if (!this.rows.viewOf(this.stop)?.act(key) && !(key in KEYS)) return; // "e" edits or does nothing: it is no text
    event.preventDefault();
  }
}

/** Show the keys when "?" is pressed outside of a text. */
export function offerKeys(dialog) {
  const lines = (keys) => keys.flatMap(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)]);
  const close = el("button", { type: "button", class: "plain" }, "Close");
  close.addEventListener("click", () => dialog.close());
  dialog.append(
    el("h2", { id: "keys-title" }, "Keys"), el("dl", {}, ...lines(ANYWHERE)),
    el("h3", {}, "On a message"), el("dl", {}, ...lines(ON_A_MESSAGE)), el("div", { class: "buttons" }, close),
  );
  document.addEventListener("keydown", (event) => {
    const writes = event.target.closest?.("input, textarea, dialog");
    if (event.key !== "?" || writes || event.defaultPrevented) return;
    event.preventDefault();
    dialog.showModal();
  });
}
