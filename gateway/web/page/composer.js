/** Where a message is written: grows with its text, knows the commands, keeps what cannot be sent. */

import { el, icon, ICONS } from "./look.js";

const TYPING_EVERY_MS = 3000;
const COMMANDS = [
  ["/help", "what you can do here"],
  ["/new", "end this session and begin another"],
  ["/stop", "stop what the agents are doing"],
  ["/status", "what is going on"],
];

export class Composer {
  /** `on` has `send(text)`, `typing()` and `draft(text)`. */
  constructor(place, { label, on }) {
    this.on = on;
    this.maxText = 100_000;
    this.typedAt = 0;
    const id = `${place.id}-commands`;
    this.input = el("textarea", { rows: "1", "aria-label": label, placeholder: label, dir: "auto", "aria-controls": id, enterkeyhint: "enter" });
    this.button = el("button", { type: "submit", class: "send", "aria-label": "Send", disabled: true }, icon(ICONS.send));
    this.commands = el("ul", { class: "commands", id, role: "listbox", "aria-label": "Commands", hidden: true });
    this.error = el("p", { class: "form-error", role: "alert", hidden: true });
    this.typing = el("div", { class: "typing", "aria-live": "polite" });
    this.form = el("form", {}, this.commands, el("div", { class: "field" }, this.input, this.button));
    place.replaceChildren(this.typing, this.error, this.form);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.input.addEventListener("input", () => this.changed(true));
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("blur", () => setTimeout(() => (this.commands.hidden = true), 150));
  }

  get value() {
    return this.input.value;
  }

  set value(text) {
    this.input.value = text;
    this.showError("");
    this.changed(false);
  }

  setLabel(label) {
    this.input.placeholder = label;
    this.input.setAttribute("aria-label", label);
  }

  focus() {
    this.input.focus();
  }

  showError(text) {
    this.error.textContent = text;
    this.error.hidden = !text;
  }

  submit() {
    const text = this.value.trim();
    if (!text) return;
    const length = text.length <= this.maxText ? text.length : [...text].length;
    if (length > this.maxText) {
      const [has, most] = [length.toLocaleString(), this.maxText.toLocaleString()];
      this.showError(`This message has ${has} characters; ${most} is the most. Shorten or split it.`);
      return;
    }
    this.value = "";
    this.on.draft("");
    this.typedAt = 0;
    this.on.send(text);
    this.focus();
  }

  changed(byPerson) {
    const input = this.input;
    input.style.height = "auto";
    input.style.height = `${Math.min(input.scrollHeight, window.innerHeight * 0.4)}px`;
    this.button.disabled = !this.value.trim();
    this.suggest();
    if (!byPerson) return;
    this.showError("");
    this.on.draft(this.value.length < 20_000 ? this.value : "");
    if (this.value && !this.value.startsWith("/") && Date.now() - this.typedAt > TYPING_EVERY_MS) {
      this.typedAt = Date.now();
      this.on.typing();
    }
  }

  suggest() {
    const typed = this.value.toLowerCase();
    const fitting = /^\/\w*$/.test(typed) ? COMMANDS.filter(([name]) => name.startsWith(typed)) : [];
    this.commands.replaceChildren(...fitting.map(([name, about], at) => this.command(name, about, at === 0)));
    this.commands.hidden = !fitting.length;
  }

  command(name, about, selected) {
    const item = el("li", { role: "option", "aria-selected": String(selected), "data-name": name }, el("code", {}, name), ` ${about}`);
    item.addEventListener("mousedown", (event) => {
      event.preventDefault();
      this.complete(name);
    });
    return item;
  }

  complete(name) {
    this.value = name;
    this.commands.hidden = true;
    this.focus();
  }

  key(event) {
    if (event.isComposing) return;
    if (!this.commands.hidden && this.commandKey(event)) {
      event.preventDefault();
      return;
    }
    const touch = matchMedia("(pointer: coarse)").matches;
    if (event.key === "Enter" && !event.shiftKey && !(touch && !event.ctrlKey)) {
      event.preventDefault();
      this.submit();
    }
  }

  /** Whether the key was for the list of commands. */
  commandKey(event) {
    const items = [...this.commands.children];
    const at = items.findIndex((item) => item.ariaSelected === "true");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = (at + (event.key === "ArrowDown" ? 1 : -1) + items.length) % items.length;
      items.forEach((item, index) => (item.ariaSelected = String(index === next)));
      return true;
    }
    if (event.key === "Escape") {
      event.stopPropagation();
      this.commands.hidden = true;
      return true;
    }
    const chosen = items[at].dataset.name;
    if (event.key === "Tab" || (event.key === "Enter" && chosen !== this.value)) {
      this.complete(chosen);
      return true;
    }
    return false;
  }
}
