/** The field for messages: it grows with its text, takes files, and serves for replies and edits. */

import { el, icon, ICONS } from "../look.js";
import { plainText } from "../messages/markdown.js";
import { Recorder } from "./recorder.js";
import { Suggestions } from "./suggestions.js";
import { Uploads } from "./uploads.js";

const TYPING_EVERY_MS = 3000;

export class Composer {
  /** `on` has `send(text, {files, quote})`, `change(message, text)`, `stop()`, `last()`, `typing()`, `draft(text)`,
   * `commands()` and `names()`. */
  constructor(place, { label, on }) {
    this.on = on;
    this.maxText = Infinity;
    this.typedAt = 0;
    this.about = null;
    this.place = null;
    this.left = new Map(); // what waits to be sent in other places: the message that is answered, and files
    this.waits = false;
    this.input = el("textarea", { rows: "1", "aria-label": label, placeholder: label, dir: "auto", "aria-autocomplete": "list", "aria-controls": `${place.id}-list`, enterkeyhint: "enter" });
    this.suggestions = new Suggestions(`${place.id}-list`, this.input, on);
    this.uploads = new Uploads({ changed: () => this.changed(false), complain: (text) => this.complain(text), warn: (text) => this.showError(text) });
    this.recorder = new Recorder({
      done: (file, send) => this.spoken(file, send),
      complain: (text) => this.complain(text),
      changed: () => this.recording(),
    });
    this.error = el("p", { class: "form-error", role: "alert", hidden: true });
    this.typing = el("div", { class: "typing-words", "aria-live": "polite" });
    this.stop = el("button", { type: "button", class: "stop", hidden: true }, icon(ICONS.stop), "Stop");
    this.context = el("div", { class: "context", hidden: true });
    this.form = el("form", {}, this.suggestions.list, this.context, this.uploads.list, this.field(), this.recorder.bar, this.recorder.told);
    const status = el("div", { class: "typing" }, this.typing, this.stop);
    place.replaceChildren(status, this.error, this.form);
    this.listen();
  }

  field() {
    this.button = el("button", { type: "submit", class: "send", "aria-label": "Send", disabled: true }, icon(ICONS.send));
    this.attach = el("button", { type: "button", class: "icon attach", "aria-label": "Attach files", title: "Attach files", hidden: true }, icon(ICONS.clip));
    this.picker = el("input", { type: "file", multiple: true, hidden: true, tabindex: "-1", "aria-hidden": "true" });
    this.line = el("div", { class: "field" }, this.attach, this.recorder.button, this.picker, this.input, this.button);
    return this.line;
  }

  listen() {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.input.addEventListener("input", () => this.changed(true));
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.stop.addEventListener("click", () => {
      this.on.stop();
      this.focus();
    });
    this.attach.addEventListener("click", () => this.picker.click());
    this.picker.addEventListener("change", () => {
      this.take(this.picker.files);
      this.picker.value = "";
    });
    this.input.addEventListener("paste", (event) => {
      if (!event.clipboardData?.files.length) return;
      event.preventDefault();
      this.take(event.clipboardData.files);
    });
  }

  /** Attach files to the message. */
  take(files) {
    this.showError("");
    this.uploads.add(files);
    this.focus();
  }

  /** A recording has ended: it is sent once it is uploaded, with what is written, or stays with it. */
  spoken(file, send) {
    this.uploads.add([file]);
    if (send && this.uploads.items.length) this.submit();
  }

  recording() {
    this.showError("");
    this.line.hidden = this.recorder.active;
    if (!this.recorder.active) this.focus();
  }

  /** The limits, at each new connection: what waited for one is uploaded. */
  limit({ max_text, max_file_bytes, max_files, voice_s }) {
    this.maxText = max_text;
    this.uploads.maxBytes = max_file_bytes;
    this.uploads.maxFiles = max_files;
    this.attach.hidden = !max_file_bytes;
    this.recorder.limit(max_file_bytes ? voice_s : 0);
    const elsewhere = [...this.left.values()].flatMap(([, items]) => items);
    for (const item of [...this.uploads.items, ...elsewhere]) item.again?.();
  }

  get value() {
    return this.input.value;
  }

  set value(text) {
    this.waits = false;
    this.input.value = text;
    this.showError("");
    this.changed(false);
  }

  /** Go to another place, whose draft this is. The reply and the files that wait in the place that is left stay there. */
  moveTo(place, draft) {
    this.left.set(this.place, [this.about?.quote, this.uploads.items]);
    const [quote, items] = this.left.get(place) ?? [null, []];
    this.place = place;
    this.about = null;
    this.context.hidden = true;
    this.recorder.leave();
    this.value = draft;
    this.uploads.exchange(items);
    if (quote) this.reply(quote);
  }

  setLabel(label) {
    this.input.placeholder = label;
    this.input.setAttribute("aria-label", label);
  }

  setStoppable(working) {
    if (this.stop.hidden !== working) return;
    if (!working && document.activeElement === this.stop) this.focus();
    this.stop.hidden = !working;
  }

  focus() {
    this.input.focus();
  }

  complain(text) {
    this.waits = false;
    this.showError(text);
  }

  showError(text) {
    this.error.textContent = text;
    this.error.hidden = !text;
  }

  /** Make the next message a reply to this one. */
  quote(message) {
    this.reply(message);
    this.focus();
  }

  reply(message) {
    this.setContext({ quote: message }, `Replying to ${message.name}`, plainText(message.text));
  }

  /** Edit this message: the field's text replaces its text. */
  edit(message) {
    this.setContext({ edit: message }, "Editing your message", "");
    this.value = message.written ?? message.text;
    this.input.setSelectionRange(this.value.length, this.value.length);
    this.focus();
  }

  setContext(about, title, text) {
    const close = el("button", { type: "button", class: "icon", "aria-label": "Cancel" }, icon(ICONS.close));
    close.addEventListener("click", () => this.leave());
    this.about = about;
    this.context.replaceChildren(el("span", { class: "quote-name" }, title), el("span", { class: "quote-text", dir: "auto" }, text), close);
    this.context.hidden = false;
  }

  /** Leave the reply or the edit. */
  leave() {
    const editing = this.about?.edit;
    this.about = null;
    this.context.hidden = true;
    if (editing) this.value = "";
    this.focus();
  }

  /** Send the message. If a file is still being uploaded, it is sent after that, unless the person changes it first. */
  submit() {
    const text = this.value.trim();
    const { files } = this.uploads;
    this.waits = !this.uploads.ready;
    if (this.uploads.items.some((item) => item.again)) this.showError("Not sent yet: a file waits until the connection is back.");
    if (this.button.disabled) return;
    const length = text.length <= this.maxText ? text.length : [...text].length;
    if (length > this.maxText) {
      const [has, most] = [length.toLocaleString(), this.maxText.toLocaleString()];
      this.showError(`This message has ${has} characters; the limit is ${most}. Shorten or split it.`);
      return;
    }
    const { edit, quote } = this.about ?? {};
    if (edit && !this.on.change(edit, text)) return;
    this.about = null;
    this.context.hidden = true;
    this.value = "";
    this.on.draft("");
    this.typedAt = 0;
    this.suggestions.close();
    if (!edit) {
      this.uploads.clear();
      this.on.send(text, { files, quote });
    }
    this.focus();
  }

  changed(byPerson) {
    const { input } = this;
    input.style.height = "auto";
    input.style.height = `${Math.min(input.scrollHeight, window.innerHeight * 0.4)}px`;
    const something = this.value.trim() || this.uploads.files.length;
    this.button.disabled = !something || !this.uploads.ready;
    if (byPerson) this.waits = false;
    if (this.waits && this.uploads.ready) this.submit();
    if (!byPerson) return;
    this.suggestions.update();
    this.showError("");
    if (!this.about?.edit) this.on.draft(this.value.length < 20_000 ? this.value : "");
    if (this.value && !this.value.startsWith("/") && Date.now() - this.typedAt > TYPING_EVERY_MS) {
      this.typedAt = Date.now();
      this.on.typing();
    }
  }

  key(event) {
    if (event.isComposing) return;
    if (this.suggestions.key(event)) {
      event.preventDefault();
      return;
    }
    if (event.key === "Escape" && this.about) {
      event.preventDefault();
      this.leave();
    } else if (event.key === "ArrowUp" && !this.value && !this.about) {
      const last = this.on.last();
      if (!last) return;
      event.preventDefault();
      this.edit(last);
    }
    const touch = matchMedia("(pointer: coarse)").matches;
    if (event.key === "Enter" && !event.shiftKey && !(touch && !event.ctrlKey)) {
      event.preventDefault();
      this.submit();
    }
  }
}
