/** The list above the field: commands after a slash, names after an @. */

import { el } from "../look.js";

const MOST = 8;

export class Suggestions {
  /** `sources` has `commands()` with [{name, about}], `names()` with [{name, kind}], and `ask()` for others' names. */
  constructor(id, input, sources) {
    this.input = input;
    this.sources = sources;
    this.list = el("ul", { class: "suggestions", id, role: "listbox", "aria-label": "Suggestions", hidden: true });
    this.list.addEventListener("mousedown", (event) => event.preventDefault()); // the field stays in focus
    input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    input.addEventListener("click", () => this.update());
    this.close();
  }

  close() {
    this.list.hidden = true;
    this.input.removeAttribute("aria-activedescendant");
  }

  get open() {
    return !this.list.hidden;
  }

  /** Show the entries that match the text before the cursor; `asks` for others' names, unless they have just come. */
  update(asks = true) {
    const before = this.input.value.slice(0, this.input.selectionEnd);
    this.items = this.commands(before) ?? this.names(before, asks) ?? [];
    this.at = 0;
    this.list.replaceChildren(...this.items.map((item, at) => this.draw(item, at)));
    if (!this.items.length) return this.close();
    this.list.hidden = false;
    this.mark();
  }

  commands(before) {
    const typed = /^\/([\w-]*)$/.exec(before)?.[1].toLowerCase();
    if (typed === undefined) return null;
    const fitting = this.sources.commands().filter(({ name }) => name.startsWith(typed));
    return fitting.map(({ name, about }) => ({ from: 0, text: `/${name}`, about, name: `/${name}` }));
  }

  names(before, asks) {
    const found = /(^|[\s(])@([\p{L}\p{N}_.-]*)$/u.exec(before);
    if (!found) return null;
    const typed = found[2].toLowerCase();
    if (asks && !typed) this.sources.ask();
    const fitting = this.sources.names().filter(({ name }) => name.toLowerCase().split(/\s/).some((word) => word.startsWith(typed)));
    const from = before.length - found[2].length - 1;
    return fitting.slice(0, MOST).map(({ name, kind }) => ({ from, text: `@${name} `, about: kind, name: `@${name}` }));
  }

  draw(item, at) {
    const row = el("li", { role: "option", id: `${this.list.id}-${at}`, "data-name": item.name }, el("code", {}, item.name), ` ${item.about}`);
    row.addEventListener("mousedown", (event) => {
      event.preventDefault();
      this.take(item);
    });
    return row;
  }

  mark() {
    [...this.list.children].forEach((row, at) => row.setAttribute("aria-selected", String(at === this.at)));
    this.input.setAttribute("aria-activedescendant", `${this.list.id}-${this.at}`);
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  take({ from, text }) {
    const { value, selectionEnd } = this.input;
    const rest = value.slice(selectionEnd);
    this.input.value = value.slice(0, from) + text + rest;
    this.input.setSelectionRange(from + text.length, from + text.length);
    this.input.dispatchEvent(new Event("input", { bubbles: true }));
    this.close();
    this.input.focus();
  }

  /** Handle a key; returns whether it was meant for the list. */
  key(event) {
    if (!this.open) return false;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.at = (this.at + (event.key === "ArrowDown" ? 1 : -1) + this.items.length) % this.items.length;
      this.mark();
      return true;
    }
    if (event.key === "Escape") {
      event.stopPropagation();
      this.close();
      return true;
    }
    const item = this.items[this.at];
    const typed = this.input.value.slice(item.from, this.input.selectionEnd);
    const done = this.items.some(({ name }) => name === typed);
    if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && !done)) {
      this.take(item);
      return true;
    }
    return false;
  }
}
