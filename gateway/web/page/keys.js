/** Keys on messages: one tab stop for each list, arrows between messages, letters for what can be done with one. */

import { el } from "./look.js";

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
  ["Tab", "to the messages, and on to the text"],
  ["Ctrl K", "go to a room"],
  ["Ctrl Shift F", "search this room"],
  ["↑", "in an empty text: edit your last message"],
  ["Esc", "close what is open"],
  ["?", "show these keys"],
];

/** Let the keys of a list of messages work. `views()` are its messages in order; each has its row in `rowElement`, if it has one. */
export class MessageKeys {
  constructor(list, views) {
    this.list = list;
    this.views = views;
    this.stop = null;
    list.addEventListener("focusin", (event) => this.visit(event.target.closest(".row")));
    list.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** Make the last message the list's tab stop, unless somebody is among them. */
  settle() {
    if (this.stop?.isConnected && this.list.contains(document.activeElement)) return;
    const views = this.views();
    for (let at = views.length - 1; at >= 0; at -= 1) if (views[at].rowElement) return this.visit(views[at].rowElement);
  }

  visit(row) {
    if (!row || row === this.stop) return;
    if (this.stop) this.stop.tabIndex = -1;
    this.stop = row;
    row.tabIndex = 0;
  }

  pressed(event) {
    if (event.target !== this.stop || event.ctrlKey || event.metaKey || event.altKey) return;
    const talk = this.views().filter((view) => view.rowElement);
    const at = talk.findIndex((view) => view.rowElement === this.stop);
    const places = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: talk.length - 1 };
    if (event.key in places) talk[Math.max(0, Math.min(places[event.key], talk.length - 1))].rowElement.focus();
    else if (!talk[at]?.act(event.key.length === 1 ? event.key.toLowerCase() : event.key)) return;
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
