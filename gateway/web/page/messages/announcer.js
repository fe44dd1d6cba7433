/** What a screen reader says of new messages. It is apart from the list, whose parts come and go while one scrolls. */

import { el } from "../look.js";
import { plainText } from "./markdown.js";

const MOST_AT_ONCE = 3;
const TOGETHER_MS = 200;
const LASTS_MS = 10_000; // then it was heard, and would only be found twice

export class Announcer {
  constructor() {
    this.waiting = [];
    this.element = el("div", { class: "unseen", role: "log", "aria-live": "polite", "aria-relevant": "additions", "aria-label": "New messages" });
  }

  /** Say the message of an entry, or how many there are when many come at once. */
  say(entry) {
    if (!this.waiting.length) setTimeout(() => this.flush(), TOGETHER_MS);
    this.waiting.push(entry);
  }

  /** Leave nothing of a message that was deleted. */
  unsay(id) {
    for (const line of this.element.children) if (line.dataset.of === id) line.remove();
  }

  flush() {
    const messages = this.waiting.splice(0).map((entry) => entry.message).filter((message) => !message.deleted);
    const lines = messages.map(({ id, kind, name, text }) => el("p", { "data-of": id }, kind === "notice" ? plainText(text) : `${name}: ${plainText(text)}`));
    const shown = lines.length > MOST_AT_ONCE ? [el("p", {}, `${lines.length} new messages`)] : lines;
    this.element.append(...shown);
    setTimeout(() => shown.forEach((line) => line.remove()), LASTS_MS);
  }
}
