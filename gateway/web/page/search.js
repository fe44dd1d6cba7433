/** Searching the room, or all: the newest messages with all the words; choosing one goes there. */

import { el, fullTimeOf, toast } from "./look.js";
import { plainText } from "./messages/markdown.js";

const PAUSE_MS = 250;
const AROUND = 60;
const byId = (id) => document.getElementById(id);

export class Search {
  /** `on` has `ask(words, everywhere)`, false when it cannot be asked now, `go(message)`, `title(room)`, and `isLong()`:
   * whether the page draws only a part of the room. */
  constructor(on) {
    this.on = on;
    this.dialog = byId("search");
    this.input = byId("search-words");
    this.state = byId("search-state");
    this.list = byId("search-list");
    byId("search-room").addEventListener("click", () => this.show());
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "f") return;
      if (!event.shiftKey) return this.hint();
      event.preventDefault();
      this.show();
    });
    this.everywhere = byId("search-everywhere");
    this.everywhere.addEventListener("change", () => this.ask());
    this.wider = byId("search-wider");
    this.wider.addEventListener("click", () => {
      this.everywhere.click();
      this.input.focus();
    });
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.ask(), PAUSE_MS);
    });
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("keydown", (event) => this.key(event));
  }

  /** Who searches with the browser finds only what is near: say so once. */
  hint() {
    if (this.hinted || !this.on.isLong()) return;
    this.hinted = true;
    toast("Your browser finds only nearby messages. Ctrl Shift F searches the whole room.");
  }

  show() {
    if (document.querySelector("dialog[open]")) return;
    this.dialog.showModal();
    this.input.select();
    this.ask();
  }

  ask() {
    clearTimeout(this.timer);
    this.words = this.input.value.trim();
    if (!this.words) this.draw([], "");
    else if (!this.on.ask(this.words, this.everywhere.checked)) this.draw([], "Not connected. Try again in a moment.");
  }

  /** Show what was found, unless other words were asked for meanwhile. */
  take({ room, words, messages, meant, more, whole }) {
    if (words !== this.words || !room !== this.everywhere.checked) return;
    const many = messages.length === 1 ? "1 message" : `${messages.length} messages`;
    this.meant = [...this.words.toLowerCase().split(/\s+/), ...meant];
    const like = meant.length ? `With ${meant.slice(0, 3).join(", ")}: ` : "";
    const all = meant.length ? `Nothing has these words. ${like}${many}.` : messages.length ? many : "Nothing found.";
    this.draw(messages, more ? `${like}The newest ${messages.length}; there are more.` : whole ? all : `${like}${many} among the newest 10,000.`);
    this.wider.hidden = this.everywhere.checked || messages.length > 0;
  }

  draw(messages, state) {
    this.state.textContent = state;
    this.wider.hidden = true;
    this.list.replaceChildren(...messages.map((message) => this.item(message)));
  }

  item(message) {
    const by = el("span", { class: "author" }, message.name);
    const at = el("time", { class: "time", datetime: message.at }, fullTimeOf(new Date(message.at)));
    const where = this.everywhere.checked ? el("span", { class: "addressee" }, `in ${this.on.title(message.room)}`) : null;
    const button = el("button", { type: "button" }, el("span", { class: "by-line" }, by, where, at), this.extract(message));
    button.addEventListener("click", () => {
      this.dialog.close();
      this.on.go(message);
    });
    return el("li", {}, button);
  }

  /** The text around the first of the words. */
  extract(message) {
    const text = plainText(message.text) || (message.files ?? []).map((file) => file.name).join(", ");
    const lower = text.toLowerCase();
    const first = this.meant.find((word) => lower.includes(word)) ?? "";
    const at = lower.indexOf(first);
    const from = Math.max(0, at - AROUND);
    const shown = text.slice(from, at + first.length + 2 * AROUND);
    const box = el("span", { class: "extract", dir: "auto" }, from ? "…" : "");
    box.append(text.slice(from, at), el("mark", {}, text.slice(at, at + first.length)), shown.slice(at - from + first.length));
    return box;
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const stops = [this.input, ...this.list.querySelectorAll("button")];
    stops[Math.max(0, Math.min(stops.indexOf(document.activeElement) + step, stops.length - 1))].focus();
  }
}
