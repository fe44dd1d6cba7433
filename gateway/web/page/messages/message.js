/** One message on the page. A growing one is drawn at most once per animation frame, and only its unsettled end. */

import { colorCode } from "./colors.js";
import { pieces, render, settledLength } from "./markdown.js";
import { drawChoices, drawFiles, drawPicker, drawQuote, drawReactions } from "./extras.js";
import { avatar, copyText, dayOf, el, fullTimeOf, icon, ICONS, colored, isUnder, lookKey, sameDay, timeOf } from "../look.js";
import { mayGive, whyLink } from "./standing.js";

const TOGETHER_MS = 5 * 60_000;
const FRAME_MS = 8;
const HELD_MS = 450; // a finger on a message, until its sheet opens
const TREMBLE_PX = 10; // how far it may move meanwhile
const RELEASED_MS = 400; // after the finger has gone, until its click has come
const TOUCH = matchMedia("(hover: none)");
const CONTROLS = "button, a, audio, video, input, textarea, summary"; // they have a use of their own for a finger that stays
const seen = new IntersectionObserver((rows) => {
  for (const { isIntersecting, target } of rows) if (isIntersecting) target.dispatchEvent(new Event("pointerenter"));
});
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

/** The lines of what a person said that are shown at first. */
export const FOLDED_LINES = 30;
const LONG_CHARS = 3000;

/** What a key does on a message. */
export const KEYS = { r: "Reply", t: "Reply in thread", "+": "React", c: "Copy the text", e: "Edit", Delete: "Delete" };

export class MessageView {
  /** `actions` has `me()`, `marks()`, `thread(message)` (may be missing), `quote(message)`, `change(message)`,
   * `remove(message)`, `react(message, mark)`, `press(message, choice)`, `jump(id)`, `link(message)`, `newAfter()`,
   * `again(message)`, whether `askAgain(message)` can be, `pictures()`, `quoted(quote)`,
   * which gives its text of now, `folds(message)` and `unfold(message)` for what one repeats, and for one that could not be sent `editFailed(message)` and `discard(message)`. */
  constructor(message, actions) {
    this.message = message;
    this.actions = actions;
    this.settled = 0;
    this.drawn = "";
    this.whole = false;
    this.tail = [];
    this.day = el("div", { class: "day", hidden: true }, el("span"));
    this.body = el("div", { class: "body", dir: "auto" });
    this.head = el("div", { class: "above" });
    this.foot = el("div", { class: "foot" });
    this.fold = el("button", { type: "button", class: "link fold", hidden: true });
    this.fold.addEventListener("click", () => this.unfold(!this.message.whole));
    this.extras = "";
    this.element = el("li", { class: `message ${message.kind}`, "data-id": message.id }, this.day);
    this.element.classList.toggle("in-meeting", Boolean(message.meeting));
    this.element.classList.toggle("alone", Boolean(message.alone));
    this.element.classList.toggle("given", Boolean(message.given));
    const notice = [message.alone ? el("p", { class: "only-you" }, "Only you see this") : null, this.head, this.body, this.foot];
    if (message.kind === "notice") this.element.append(...notice.filter(Boolean));
    else this.element.append((this.rowElement = this.row()));
    this.update(message);
  }

  row() {
    const { by, name, kind, to } = this.message;
    const key = lookKey(by, name, kind);
    this.author = colored(el("span", { class: "author" }, name), key);
    this.time = el("time", { class: "time" });
    const link = el("a", { class: "time-link", href: this.actions.link(this.message), tabindex: "-1" }, this.time);
    const tag = kind === "agent" ? el("span", { class: "tag" }, "agent") : null;
    this.edited = el("span", { class: "edited", hidden: true }); // its word is the style's: who copies the text copies the text
    const addressee = to ? el("span", { class: "addressee" }, `to ${to}`) : null;
    const by_line = el("div", { class: "by-line" }, this.author, tag, addressee, link);
    this.sideTime = el("span", { class: "side-time", "aria-hidden": "true" });
    const margin = el("div", { class: "margin" }, avatar(name, kind, key), this.sideTime);
    const said = el("div", { class: "said" }, by_line, this.head, this.body, this.fold, this.edited, this.foot);
    const row = el("div", { class: "row", tabindex: "-1", role: "article", "aria-label": `Message from ${name}` }, margin, said);
    for (const near of ["pointerenter", "focusin"]) row.addEventListener(near, () => this.needTools());
    if (TOUCH.matches) {
      seen.observe(row); // nobody comes near there before a touch
      let held, at;
      const keeps = ({ target }) => target.closest(`${CONTROLS}, .selecting`);
      row.addEventListener("pointerdown", (event) => {
        at = event;
        if (event.pointerType === "touch" && !keeps(event)) held = setTimeout(() => this.openSheet(true), HELD_MS);
      });
      const trembles = (event) => event.type === "pointermove" && Math.hypot(event.x - at?.x, event.y - at?.y) < TREMBLE_PX;
      for (const end of ["pointerup", "pointermove", "pointercancel"]) row.addEventListener(end, (event) => trembles(event) || clearTimeout(held));
      row.addEventListener("contextmenu", (event) => keeps(event) || event.target.closest("img") || event.preventDefault());
      row.addEventListener("mousedown", (event) => event.target.closest("button, a") && event.preventDefault()); // a focus would move it away
    }
    return row;
  }

  /** The tools are made when somebody comes near: most messages are only read. */
  needTools() {
    if (!this.toolbar) {
      this.rowElement.append(this.tools());
      seen.unobserve(this.rowElement);
    }
    const archived = document.body.classList.contains("in-archive");
    for (const tool of this.toolbar.querySelectorAll("button.icon")) tool.hidden = archived && ![KEYS.c, "Actions"].includes(tool.title);
    if (this.again) this.again.hidden ||= !mayGive("undo") || !this.actions.again(this.message);
    this.why ??= whyLink(this.message);
    if (this.why && !this.why.parentNode) this.toolbar.querySelector('[aria-label="Copy the text"]').after(this.why);
    this.toolbar.classList.toggle("beside", !isUnder(this.toolbar, this.body.parentElement));
  }

  tools() {
    const copy = this.tool("copy", "Copy the text", () => copyText(this.message.text, copy));
    const react = this.tool("smile", "React", () => this.pick(react));
    const quote = this.tool("reply", "Reply", () => this.actions.quote(this.message));
    this.toolbar = el("div", { class: "tools", "aria-live": "off" }, react, quote);
    this.toolbar.append(copy, ...(this.message.kind === "agent" ? this.judging() : []));
    if (this.message.kind === "person" && this.message.by === this.actions.me()) {
      const change = this.tool("edit", "Edit", () => this.actions.change(this.message));
      const remove = this.tool("bin", "Delete", () => this.actions.remove(this.message));
      this.toolbar.append(change, remove);
    }
    if (this.actions.thread) {
      this.toolbar.append(this.tool("thread", "Reply in thread", () => this.actions.thread(this.message)));
    }
    if (TOUCH.matches) this.toolbar.append((this.more = this.tool("more", "Actions", () => this.openSheet())));
    this.more?.classList.add("more");
    return this.toolbar;
  }

  /** On a touch screen, the tools by their names, from below. It opens below a finger that is `held`, whose end presses
   * nothing. */
  openSheet(held = false) {
    this.needTools();
    if (this.toolbar.matches(".pending *, .failed *, .deleted *") || document.querySelector("dialog[open]")) return;
    const sheet = el("dialog", { class: "sheet", "aria-label": `Actions on the message from ${this.message.name}` });
    if (!this.toolbar.querySelector("[aria-label='React']").hidden) {
      sheet.append(drawPicker(this.actions.marks(), (mark) => {
        sheet.close();
        if (mark) this.actions.react(this.message, mark);
      }));
    }
    const offer = (drawn, name, act) => {
      const named = el("button", { type: "button" }, drawn, name);
      named.addEventListener("click", () => {
        sheet.close(); // first: it gives the focus back, which the tool may take
        act();
      });
      sheet.append(named);
    };
    for (const tool of this.toolbar.querySelectorAll(".icon:not(.more, [hidden], [aria-label='React'])")) {
      offer(tool.querySelector("svg").cloneNode(true), tool.title, () => tool.click());
      if (tool.title === KEYS.c && this.message.text) offer(icon(ICONS.select), "Select text", () => this.selectText());
    }
    const released = () => setTimeout(() => (held = false), RELEASED_MS); // behind the click that follows
    for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, released, { capture: true, once: true });
    document.addEventListener("pointerdown", () => (held = false), { capture: true, once: true });
    sheet.addEventListener("click", (event) => held && event.stopImmediatePropagation(), true);
    sheet.addEventListener("click", (event) => event.target === sheet && sheet.close());
    sheet.addEventListener("close", () => sheet.remove());
    document.body.append(sheet);
    this.more.focus({ preventScroll: true }); // where the focus comes back to
    sheet.showModal();
  }

  /** Select the text, and let a finger select less of it, until the next tap elsewhere. */
  selectText() {
    const row = this.rowElement;
    row.classList.add("selecting");
    getSelection().selectAllChildren(this.body);
    const end = ({ target }) => {
      if (row.contains(target)) return;
      row.classList.remove("selecting");
      getSelection().removeAllRanges();
      document.removeEventListener("pointerup", end);
    };
    document.addEventListener("pointerup", end); // a scroll has none
  }

  /** What is done with an agent's answer: it is rated, or asked for again. */
  judging() {
    const mine = () => this.message.reactions?.find(({ by }) => by.some(({ id }) => id === this.actions.me()))?.mark;
    const rate = (mark) => () => this.actions.react(this.message, mine() === mark ? "" : mark);
    this.again = this.tool("again", "Answer again", () => this.actions.askAgain(this.message));
    return [this.tool("good", "Good answer", rate("👍")), this.tool("bad", "Bad answer", rate("👎")), this.again];
  }

  /** Do what a key says; false when it says nothing here. */
  act(key) {
    const label = KEYS[key];
    this.needTools();
    const button = label && this.toolbar?.querySelector(`[aria-label="${label}"]`);
    if (!button || button.hidden || !this.toolbar.checkVisibility()) return false;
    button.click();
    return true;
  }

  tool(name, label, act) {
    const button = el("button", { type: "button", class: "icon", title: label, "aria-label": label }, icon(ICONS[name]));
    button.addEventListener("click", act);
    return button;
  }

  /** Let the reader choose a reaction. */
  pick(opener) {
    const close = (mark) => {
      const { picker } = this;
      this.picker = null; // before its removal, which moves the focus and would close it a second time
      picker?.remove();
      this.toolbar.classList.remove("open");
      opener.setAttribute("aria-expanded", "false");
      if (mark) this.actions.react(this.message, mark);
      opener.focus();
    };
    if (this.picker) return close(null);
    this.picker = drawPicker(this.actions.marks(), close);
    this.picker.addEventListener("focusout", (event) => {
      if (this.picker && event.relatedTarget !== opener && !this.picker.contains(event.relatedTarget)) close(null);
    });
    this.toolbar.prepend(this.picker);
    this.toolbar.classList.add("open");
    opener.setAttribute("aria-expanded", "true");
    this.picker.firstChild.focus();
  }

  /** Show the message's newest state. */
  update(message) {
    this.message = message;
    this.element.classList.toggle("live", Boolean(message.live));
    this.element.classList.toggle("pending", Boolean(message.pending));
    this.element.classList.toggle("failed", Boolean(message.failed));
    this.element.classList.toggle("deleted", Boolean(message.deleted));
    if (message.live) this.element.setAttribute("aria-busy", "true");
    else this.element.removeAttribute("aria-busy");
    if (this.time) {
      const date = new Date(message.at);
      this.time.dateTime = date.toISOString();
      this.time.textContent = timeOf(date);
      this.sideTime.textContent = timeOf(date).replace(/\s?[AP]M$/i, ""); // the margin is narrow
      this.time.title = fullTimeOf(date);
      this.edited.hidden = !message.edited || Boolean(message.deleted);
    }
    const long = message.text.length > LONG_CHARS || message.text.split("\n", FOLDED_LINES + 2).length > FOLDED_LINES + 1;
    this.fold.hidden = message.kind !== "person" || Boolean(message.deleted) || !long;
    this.unfold(message.whole);
    this.drawExtras();
    this.followed = undefined;
    drawSoon(this);
  }

  /** Show all of a long message, or its first lines. */
  unfold(whole) {
    this.message.whole = whole;
    this.body.classList.toggle("folded", !this.fold.hidden && !whole);
    this.fold.setAttribute("aria-expanded", String(Boolean(whole)));
    this.fold.textContent = whole ? "Show less" : "Show more";
    if (!whole) this.body.scrollTop = 0;
  }

  /** The message is out of sight, and drawn anew when it comes back. */
  dispose() {
    waiting.delete(this);
    if (this.rowElement) seen.unobserve(this.rowElement);
  }

  /** Draw new text: settled pieces for good, as many as a frame has time for, then the end, which may change. */
  draw() {
    const began = performance.now();
    const { live, deleted } = this.message;
    const text = deleted ? "*This message was deleted.*" : this.message.text;
    if (this.whole && !live && text === this.drawn) return;
    if (this.whole || !text.startsWith(this.drawn.slice(0, this.settled))) this.clear();
    if (!live && this.settled && pieces(text).length === 1) this.clear(); // as a whole: a link may lead to its end
    const cut = live ? settledLength(text, this.settled) : this.settled;
    const settled = cut > this.settled ? pieces(text.slice(this.settled, cut)) : [];
    const parts = [...settled, ...pieces(text.slice(cut))];
    while (this.tail.length) this.tail.pop().remove();
    this.drawn = text;
    while (parts.length > 1) {
      const part = parts.shift();
      const drawn = render(part);
      colorCode(drawn);
      this.body.append(drawn);
      this.settled += part.length;
      if (performance.now() - began > FRAME_MS) return drawSoon(this);
    }
    const end = render(parts[0]);
    if (!live) colorCode(end);
    this.tail = [...end.childNodes];
    this.body.append(end);
    this.whole = !live;
    if (this.edited && !live) this.placeEdited();
  }

  /** "edited" stands behind the last words, or below what has none, such as a table. */
  placeEdited() {
    let last = this.body.lastElementChild;
    while (last?.matches("ul, ol, blockquote, li:has(> :is(p, ul, ol, blockquote):last-child)")) last = last.lastElementChild;
    (last?.matches("p, li, h1, h2, h3, h4, h5, h6") ? last : this.body).append(this.edited);
  }

  clear() {
    this.tail = [];
    this.settled = 0;
    this.whole = false;
    this.body.replaceChildren();
  }

  /** Draw the text from its start. */
  redraw() {
    this.clear();
    drawSoon(this);
  }

  /** Draw the parts above and below the text, but only if they have changed, so that the focus stays. */
  drawExtras() {
    const { files, choices, reactions, pressed, pending, failed, replies } = this.message;
    const quote = this.message.quote && this.actions.quoted(this.message.quote);
    const folds = this.actions.folds(this.message);
    const extras = JSON.stringify([quote, folds, this.message.unfolded, files, choices, reactions, pressed, pending, failed, replies]);
    if (extras === this.extras) return;
    this.extras = extras;
    const answered = this.message.kind === "agent" && quote?.kind === "agent" && /(^|\s)✓\s/.test(quote.text); // an agent's question, which has its answer already
    const above = folds ? this.drawFold() : quote && !answered && drawQuote(quote, this.actions.jump);
    this.head.replaceChildren(...(above ? [above] : []));
    const focused = this.foot.contains(document.activeElement);
    this.drawFoot();
    if (focused) (this.foot.querySelector("button:not(:disabled)") ?? this.element.querySelector(".row"))?.focus();
  }

  /** What shows and hides the exchange that this message repeats. */
  drawFold() {
    const { unfolded } = this.message;
    const button = el("button", { type: "button", class: "link", "aria-expanded": String(Boolean(unfolded)) }, unfolded ? "Hide the earlier answer" : "Show the earlier answer");
    button.addEventListener("click", () => this.actions.unfold(this.message));
    return button;
  }

  drawFoot() {
    const { files, choices, reactions, pending, failed, replies } = this.message;
    this.foot.replaceChildren();
    if (files?.length) this.foot.append(drawFiles(files, this.actions.pictures));
    if (choices?.length) this.foot.append(drawChoices(this.message, this.actions.press));
    if (reactions?.length) this.foot.append(drawReactions(this.message, this.actions.me(), this.actions.react));
    if (failed) {
      const edit = el("button", { type: "button", class: "link" }, "Edit");
      const discard = el("button", { type: "button", class: "link" }, "Discard");
      edit.addEventListener("click", () => this.actions.editFailed(this.message));
      discard.addEventListener("click", () => this.actions.discard(this.message));
      this.foot.append(el("span", { class: "failure", role: "alert" }, failed), " ", edit, " ", discard);
    } else if (pending) {
      this.foot.append(el("span", { class: "sending" }, this.actions.connected() ? "Sending…" : "Not sent yet"));
    }
    if (replies?.count && this.actions.thread) {
      const word = replies.count === 1 ? "reply" : "replies";
      const faces = replies.faces.map((face) => avatar(face.name, face.kind, lookKey(face.by, face.name, face.kind)));
      const last = el("span", { class: "last" }, timeOf(new Date(replies.last)));
      const open = el("button", { type: "button", class: "replies" }, ...faces, `${replies.count} ${word}`, last);
      open.addEventListener("click", () => this.actions.thread(this.message));
      this.foot.append(open);
    }
  }

  /** Draw a line above the first message that the person has not seen. */
  markNew(previous) {
    const after = this.actions.newAfter();
    const { seq, by } = this.message;
    const fresh = after !== null && seq > after && by !== this.actions.me() && previous?.seq <= after;
    if (fresh && !this.newLine) this.day.after((this.newLine = el("div", { class: "new-line" }, el("span", {}, "New"))));
    if (this.newLine) this.newLine.hidden = !fresh;
  }

  /** Head the first message of a meeting with what it is about. */
  headMeeting(previous) {
    const { meeting } = this.message;
    const begins = Boolean(meeting) && previous?.meeting !== meeting;
    if (begins && !this.meeting) this.day.after((this.meeting = el("div", { class: "meeting-head" }, icon(ICONS.people), el("span", { dir: "auto" }, `Meeting: ${meeting}`))));
    if (this.meeting) this.meeting.hidden = !begins;
    return begins;
  }

  /** Set the day above it, and whether it continues the same author's previous message. The message that an agent
   * answers is not repeated directly below itself. */
  follow(previous) {
    if (this.followed === (previous ?? null)) return;
    this.followed = previous ?? null;
    this.markNew(previous);
    const date = new Date(this.message.at);
    const before = previous && new Date(previous.at);
    const newDay = !before || !sameDay(before, date);
    this.day.hidden = !newDay;
    if (newDay) this.day.firstChild.textContent = dayOf(date);
    const same = (part) => previous[part] === this.message[part];
    const heads = this.headMeeting(previous);
    const together = !newDay && !heads && same("meeting") && same("by") && same("kind") && same("to") && date - before < TOGETHER_MS;
    this.element.classList.toggle("continued", together && this.message.kind !== "notice");
    const { kind, quote, thread } = this.message;
    const hangs = kind === "agent" || quote?.id === thread;
    this.element.classList.toggle("answers-above", hangs && Boolean(quote) && quote.id === previous?.id);
  }
}
