/** Uploads: files are posted as soon as they are chosen, and sent with the next message. */

import { el, icon, ICONS } from "../look.js";
import { sizeText } from "../messages/extras.js";

export class Uploads {
  /** `changed()` is called when an upload starts, ends or fails; `complain(text)` says why a file is refused, `warn(text)`
   * why one waits. */
  constructor({ changed, complain, warn }) {
    this.changed = changed;
    this.complain = complain;
    this.warn = warn;
    this.maxBytes = 0;
    this.maxFiles = 10;
    this.items = [];
    this.list = el("ul", { class: "uploads", "aria-label": "Files to send", hidden: true });
  }

  get ready() {
    return this.items.every((item) => item.file);
  }

  get files() {
    return this.items.filter((item) => item.file).map((item) => item.file);
  }

  add(chosen) {
    for (const file of chosen) {
      if (!this.maxBytes) this.complain("This chat takes no files.");
      else if (this.items.length >= this.maxFiles) this.complain(`One message can have at most ${this.maxFiles} files.`);
      else if (file.size > this.maxBytes) {
        this.complain(`${file.name} is larger than the limit of ${sizeText(this.maxBytes)}.`);
      } else this.begin(file);
    }
  }

  begin(file) {
    const item = { file: null, again: null };
    const bar = el("progress", { max: "1", value: "0", "aria-label": `Uploading ${file.name}` });
    const remove = el("button", { type: "button", class: "icon", "aria-label": `Remove ${file.name}` }, icon(ICONS.close));
    remove.addEventListener("click", () => this.remove(item));
    const name = el("span", { class: "file-name" }, file.name);
    const kind = icon(ICONS.file);
    item.row = el("li", {}, kind, name, el("span", { class: "file-size" }, sizeText(file.size)), bar, remove);
    if (file.type.startsWith("image/")) showPicture(file, kind);
    this.items.push(item);
    item.among = this.items;
    this.list.append(item.row);
    this.post(item, file, bar);
    this.show();
  }

  post(item, file, bar) {
    const request = new XMLHttpRequest();
    item.request = request;
    request.open("POST", "/files");
    request.responseType = "json";
    if (file.type) request.setRequestHeader("content-type", file.type);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) bar.value = event.loaded / event.total;
    });
    request.addEventListener("load", () => {
      const answer = request.response ?? {};
      if (request.status !== 200) return this.fail(item, answer.error ?? "This file could not be uploaded.");
      item.file = { id: answer.id, name: file.name, type: answer.type, size: answer.size };
      bar.remove();
      this.show();
    });
    request.addEventListener("error", () => this.wait(item, file, bar));
    request.send(file);
  }

  /** A file that did not get through stays, and is uploaded when there is a connection again, or when the person wants it. */
  wait(item, file, bar) {
    const again = el("button", { type: "button", class: "again" }, "Try again");
    item.again = () => {
      item.again = null;
      this.warn("");
      again.replaceWith(bar);
      this.post(item, file, bar);
    };
    again.addEventListener("click", () => item.again?.());
    bar.replaceWith(again);
    this.warn(`${file.name} could not be uploaded. It waits until the connection is back.`);
  }

  fail(item, text) {
    this.complain(text);
    this.remove(item);
  }

  remove(item) {
    item.request.abort();
    item.row.remove();
    item.among.splice(item.among.indexOf(item), 1);
    this.show();
  }

  clear() {
    for (const item of [...this.items]) this.remove(item);
  }

  /** Put other files into the place of these, which the caller has. */
  exchange(items) {
    this.items = items;
    this.list.replaceChildren(...items.map((item) => item.row));
    this.show();
  }

  show() {
    this.list.hidden = !this.items.length;
    this.changed();
  }
}

/** Show a picture small in the place of its icon; the icon stays where the browser cannot decode the file. A canvas, since
 * the page's policy allows no picture by a local address. */
async function showPicture(file, kind) {
  const picture = await createImageBitmap(file).catch(() => null);
  if (!picture) return;
  const small = el("canvas", { width: "96", height: "96", "aria-hidden": "true" });
  const side = Math.min(picture.width, picture.height);
  const [left, top] = [(picture.width - side) / 2, (picture.height - side) / 2];
  small.getContext("2d").drawImage(picture, left, top, side, side, 0, 0, 96, 96);
  picture.close();
  kind.replaceWith(small);
}
