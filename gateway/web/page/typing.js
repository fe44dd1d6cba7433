/** Who is writing, in the room and in its open thread. */

import { el } from "./look.js";

const LASTS_MS = 6000;

export class TypingLine {
  /** `changed()` is called when somebody began or stopped. */
  constructor(changed) {
    this.changed = changed;
    this.who = new Map();
  }

  began({ by, name, kind, thread }) {
    const key = `${thread ?? ""} ${by}`;
    clearTimeout(this.who.get(key)?.timer);
    const timer = setTimeout(() => this.end(key), LASTS_MS);
    this.who.set(key, { name, kind, thread: thread ?? null, timer });
    this.changed();
  }

  said({ by, thread }) {
    this.end(`${thread ?? ""} ${by}`);
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
    if (!here.length) {
      place.replaceChildren();
      return;
    }
    const names = here.length > 3 ? "Several people" : here.map((each) => each.name).join(", ");
    const verb = here.every((each) => each.kind === "agent") ? "thinking" : "typing";
    const dots = el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i"));
    place.replaceChildren(dots, `${names} ${here.length > 1 ? "are" : "is"} ${verb}`);
  }
}
