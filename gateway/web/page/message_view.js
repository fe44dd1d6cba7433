/** One message on the page. A growing one is drawn at most once per animation frame, and only its unsettled end. */

import { render, settledLength } from "./markdown.js";
import { avatar, copyText, dayOf, el, fullTimeOf, icon, ICONS, lookKey, hueOf, sameDay, timeOf } from "./look.js";

const TOGETHER_MS = 5 * 60_000;
const waiting = new Set();

function drawSoon(view) {
  if (!waiting.size) {
    requestAnimationFrame(() => {
      const views = [...waiting];
      waiting.clear();
      for (const each of views) each.draw();
    });
  }
  waiting.add(view);
}

export class MessageView {
  /** `actions` has `reply(message)`, `edit(message)` and `discard(message)`; any may be missing. */
  constructor(message, actions) {
    this.message = message;
    this.actions = actions;
    this.settled = 0;
    this.drawn = "";
    this.day = el("div", { class: "day", hidden: true }, el("span"));
    this.body = el("div", { class: "body", dir: "auto" });
    this.foot = el("div", { class: "foot" });
    this.element = el("li", { class: `message ${message.kind}`, "data-id": message.id }, this.day);
    if (message.kind === "notice") this.element.append(this.body);
    else this.element.append(this.row());
    this.update(message);
  }

  row() {
    const { by, name, kind } = this.message;
    const key = lookKey(by, name, kind);
    this.author = el("span", { class: "author" }, name);
    this.author.style.setProperty("--hue", hueOf(key));
    this.time = el("time", { class: "time" });
    const tag = kind === "agent" ? el("span", { class: "tag" }, "agent") : null;
    const by_line = el("div", { class: "by-line" }, this.author, tag, this.time);
    this.sideTime = el("time", { class: "side-time", "aria-hidden": "true" });
    const margin = el("div", { class: "margin" }, avatar(name, kind, key), this.sideTime);
    return el("div", { class: "row", tabindex: "-1" }, margin, el("div", { class: "said" }, by_line, this.body, this.foot), this.tools());
  }

  tools() {
    const copy = el("button", { type: "button", class: "icon", title: "Copy the text", "aria-label": "Copy the text" });
    copy.append(icon(ICONS.copy));
    copy.addEventListener("click", () => copyText(this.message.text, copy));
    const tools = el("div", { class: "tools" }, copy);
    if (this.actions.reply) {
      const reply = el("button", { type: "button", class: "icon reply", title: "Reply in thread", "aria-label": "Reply in thread" });
      reply.append(icon(ICONS.reply));
      reply.addEventListener("click", () => this.actions.reply(this.message));
      tools.append(reply);
    }
    return tools;
  }

  /** The message is like this now. */
  update(message) {
    this.message = message;
    this.element.classList.toggle("live", Boolean(message.live));
    this.element.classList.toggle("pending", Boolean(message.pending));
    this.element.classList.toggle("failed", Boolean(message.failed));
    if (message.live) this.element.setAttribute("aria-busy", "true");
    else this.element.removeAttribute("aria-busy");
    if (this.time) {
      const date = new Date(message.at);
      for (const time of [this.time, this.sideTime]) {
        time.dateTime = date.toISOString();
        time.textContent = timeOf(date);
      }
      this.time.title = fullTimeOf(date);
      this.drawFoot();
    }
    drawSoon(this);
  }

  draw() {
    const { text, live } = this.message;
    if (live && text.startsWith(this.drawn.slice(0, this.settled)) && this.settled <= text.length) {
      const cut = settledLength(text, this.settled);
      while (this.tail?.length) this.tail.pop().remove();
      if (cut > this.settled) this.body.append(render(text.slice(this.settled, cut)));
      const tail = render(text.slice(cut));
      this.tail = [...tail.childNodes];
      this.body.append(tail);
      this.settled = cut;
    } else if (text !== this.drawn || this.tail) {
      this.body.replaceChildren(render(text));
      this.settled = 0;
      this.tail = live ? [...this.body.childNodes] : null;
    }
    this.drawn = text;
  }

  drawFoot() {
    const { pending, failed, replies } = this.message;
    this.foot.replaceChildren();
    if (failed) {
      const edit = el("button", { type: "button", class: "link" }, "Edit");
      const discard = el("button", { type: "button", class: "link" }, "Discard");
      edit.addEventListener("click", () => this.actions.edit?.(this.message));
      discard.addEventListener("click", () => this.actions.discard?.(this.message));
      this.foot.append(el("span", { class: "failure", role: "alert" }, failed), " ", edit, " ", discard);
    } else if (pending) {
      this.foot.append(el("span", { class: "sending" }, "Sending…"));
    }
    if (replies?.count && this.actions.reply) {
      const word = replies.count === 1 ? "reply" : "replies";
      const faces = replies.faces.map((face) => avatar(face.name, face.kind, lookKey(face.by, face.name, face.kind)));
      const last = el("span", { class: "last" }, timeOf(new Date(replies.last)));
      const open = el("button", { type: "button", class: "replies" }, ...faces, `${replies.count} ${word}`, last);
      open.addEventListener("click", () => this.actions.reply(this.message));
      this.foot.append(open);
    }
  }

  /** Set the day above it and whether it continues what the same author said just before. */
  follow(previous) {
    const date = new Date(this.message.at);
    const before = previous && new Date(previous.at);
    const newDay = !before || !sameDay(before, date);
    this.day.hidden = !newDay;
    if (newDay) this.day.firstChild.textContent = dayOf(date);
    const together =
      !newDay && previous.by === this.message.by && previous.kind === this.message.kind && date - before < TOGETHER_MS;
    this.element.classList.toggle("continued", together && this.message.kind !== "notice");
  }
}
