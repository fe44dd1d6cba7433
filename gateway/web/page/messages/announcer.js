/** What a screen reader says of new messages. It is apart from the list, whose parts come and go while one scrolls. */

import { el } from "../look.js";
import { plainText } from "./markdown.js";

const MOST_AT_ONCE = 3;
const KEPT = 6;
const TOGETHER_MS = 200;

export class Announcer {
  constructor() {
    this.waiting = [];
    this.element = el("div", { class: "unseen", role: "log", "aria-live": "polite", "aria-relevant": "additions", "aria-label": "New messages" });
  }

  /** Say a message, or how many there are when many come at once. */
  say(message) {
    if (!this.waiting.length) setTimeout(() => this.flush(), TOGETHER_MS);
    this.waiting.push(message);
  }

  flush() {
    const messages = this.waiting.splice(0);
    const lines = messages.map(({ kind, name, text }) => (kind === "notice" ? plainText(text) : `${name}: ${plainText(text)}`));
    const said = lines.length > MOST_AT_ONCE ? [`${lines.length} new messages`] : lines;
    this.element.append(...said.map((line) => el("p", {}, line)));
    while (this.element.childElementCount > KEPT) this.element.firstChild.remove();
  }
}
