/** The line that says who is writing, in the room and in its open thread. */

import { el } from "../look.js";

const LASTS_MS = 6000;

export class TypingLine {
  /** `changed()` is called when somebody starts or stops. */
  constructor(changed) {
    this.changed = changed;
    this.who = new Map();
  }

  told({ by, name, kind, thread, doing, ended }) {
    const key = `${thread ?? ""} ${by}`;
    if (ended) {
      this.end(key);
      return;
    }
    clearTimeout(this.who.get(key)?.timer);
    const timer = setTimeout(() => this.end(key), LASTS_MS);
    this.who.set(key, { name, kind, doing, thread: thread ?? null, timer });
    this.changed();
  }

  /** A message ends its author's writing, a notice that of all agents: those who continue say so again. */
  said({ by, thread, kind }) {
    const place = thread ?? null;
    for (const [key, each] of [...this.who]) {
      if (each.thread === place && (kind === "notice" ? each.kind === "agent" : key === `${thread ?? ""} ${by}`)) this.end(key);
    }
  }

  clear() {
    for (const key of [...this.who.keys()]) this.end(key);
  }

  end(key) {
    clearTimeout(this.who.get(key)?.timer);
    if (this.who.delete(key)) this.changed();
  }

  /** Show the line for one place; `thread` is null for the room itself. */
  show(place, thread) {
    const here = [...this.who.values()].filter((each) => each.thread === thread);
    const text = this.words(here);
    if (place.textContent === text) return;
    if (!text) {
      place.replaceChildren();
      return;
    }
    const dots = el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i"));
    place.replaceChildren(dots, el("span", { class: "who", dir: "auto" }, text));
  }

  /** Whether an agent works on an answer. */
  working(thread) {
    return [...this.who.values()].some((each) => each.thread === thread && each.kind === "agent");
  }

  words(here) {
    if (!here.length) return "";
    if (here.length === 1 && here[0].doing) return `${here[0].name}: ${here[0].doing}`;
    const names = here.length > 3 ? "Several people" : here.map((each) => each.name).join(", ");
    const verb = here.every((each) => each.kind === "agent") ? "thinking" : "typing";
    return `${names} ${here.length > 1 ? "are" : "is"} ${verb}`;
  }
}
