/** Messages in order. New ones do not move the text that is being read. */

import { el, icon, ICONS } from "../look.js";
import { MessageKeys } from "../keys.js";
import { Announcer } from "./announcer.js";
import { FOLDED_LINES, MessageView } from "./message.js";
import { VirtualList } from "./virtual_list.js";

const NEAR_END_PX = 60;
const NEAR_START_PX = 240;
const LINE_PX = 23;
const ABOUT_A_CHARACTER_PX = 7.5;

export class Timeline {
  /** `on` has `older()`, `seen()` and what MessageView calls; `empty` is shown while there is nothing. */
  constructor(place, { label, on, empty }) {
    this.on = on;
    this.fresh = 0;
    this.start = el("div", { class: "start", hidden: true }, "Loading older messages…");
    this.ol = el("ol", { class: "messages" });
    this.empty = el("div", { class: "empty", hidden: true }, empty ?? "");
    this.inner = el("div", { class: "inner loading" }, this.start, this.empty, this.ol);
    this.announcer = new Announcer();
    this.scroller = el("div", { class: "scroller", role: "region", "aria-label": label }, this.inner);
    this.pill = el("button", { type: "button", class: "pill", hidden: true }, icon(ICONS.down), el("span"));
    place.replaceChildren(this.scroller, this.announcer.element, this.pill);
    const actions = { ...on, pictures: () => this.pictures() };
    this.list = new VirtualList(this.scroller, this.ol, {
      make: (message) => new MessageView(message, actions),
      guess: (message) => this.guess(message),
      arranged: () => this.keys.settle(),
    });
    this.keys = new MessageKeys(this.ol, this);
    this.pill.addEventListener("click", () => this.toEnd());
    this.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
  }

  get stuck() {
    return this.list.stuck;
  }

  /** Whether some messages are not drawn. */
  get isLong() {
    return this.list.more || this.list.drawn.size < this.list.entries.length;
  }

  clear() {
    this.list.clear();
    this.setFresh(0);
    this.setMore(false);
    this.empty.hidden = true;
    this.inner.classList.add("loading");
  }

  has(id) {
    return this.list.byId.has(id);
  }

  /** Show a message or its new state. `count` it as new if the reader is elsewhere. */
  put(message, { count = false } = {}) {
    const known = this.list.byId.get(message.id);
    if (known && known.message.seq === message.seq) {
      this.change(known, message);
      return;
    }
    if (known) this.list.remove(message.id);
    const entry = this.list.insert(message);
    entry.live = count && message.live;
    if (!count || known) return;
    if (!entry.live) this.announcer.say(entry);
    if (!this.stuck) this.setFresh(this.fresh + 1);
  }

  change(entry, message) {
    if (entry.live && !message.live) {
      entry.live = false;
      this.announcer.say(entry);
    }
    if (message.deleted) this.announcer.unsay(message.id);
    const next = this.list.entries[this.list.entries.indexOf(entry) + 1];
    entry.message = message;
    entry.view?.update(message);
    next?.view?.follow(message);
    if (message.live) return;
    for (const { message: each, view } of this.list.drawn) if (each.quote?.id === message.id) view.drawExtras();
  }

  /** Insert older messages above, without moving the text that is being read. */
  prepend(messages) {
    for (const message of messages) this.put(message);
    this.list.arrange();
  }

  /** Name the days anew: it is another day. */
  nameDays() {
    for (const { view } of this.list.drawn) view.followed = undefined;
    this.list.changed();
  }

  /** Redraw the messages that `concerned` selects. */
  redraw(concerned) {
    for (const { message, view } of this.list.drawn) if (concerned(message)) view.redraw();
  }

  /** Scroll to a message; false when it is not here. */
  reveal(id) {
    const entry = this.list.byId.get(id);
    if (!entry) return false;
    const { element } = this.list.bring(entry, "center");
    const row = element.querySelector(".row") ?? element;
    row.classList.remove("flash");
    void row.offsetWidth; // so that the flash starts again
    row.classList.add("flash");
    row.focus({ preventScroll: true });
    this.scrolled();
    return true;
  }

  remove(id) {
    this.list.remove(id);
  }

  setMore(more) {
    this.list.hold();
    this.list.more = more;
    this.start.hidden = !more;
    this.asking = false;
    this.list.later();
  }

  setEmpty(empty) {
    this.empty.hidden = !empty;
  }

  toEnd() {
    this.list.stuck = true;
    this.list.arrange();
    this.setFresh(0);
    this.on.seen?.();
  }

  /** Draw inserted messages without waiting for the next frame, so that their heights are known. */
  drawNow() {
    this.inner.classList.remove("loading");
    this.list.arrange();
  }

  /** Ask for older messages when the start is visible. */
  fill() {
    if (!this.list.more || this.asking || this.scroller.scrollTop > NEAR_START_PX) return;
    this.asking = true;
    this.on.older?.();
  }

  /** Leave the end only when the reader scrolls up, not when a text grows, or the box below and the list gets smaller. */
  scrolled() {
    const before = this.list.stuck;
    const up = this.scroller.scrollTop < this.list.top && this.scroller.clientHeight === this.list.height;
    const left = this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight;
    this.list.stuck = left < NEAR_END_PX || (before && !up);
    this.list.scrolled();
    if (this.stuck !== before) {
      this.setFresh(0);
      if (this.stuck) this.on.seen?.();
    }
    this.pill.hidden = this.stuck;
    this.fill();
  }

  setFresh(count) {
    this.fresh = count;
    this.pill.hidden = this.stuck;
    this.pill.classList.toggle("fresh", count > 0);
    this.pill.lastChild.textContent = count ? `${count} new message${count === 1 ? "" : "s"}` : "Latest";
  }

  /** About the height of a message that was never drawn. */
  guess({ kind, text, files, deleted }) {
    if (deleted || kind === "notice") return 2 * LINE_PX;
    const width = Math.max(200, this.scroller.clientWidth - 80) / ABOUT_A_CHARACTER_PX;
    const lines = text.split("\n", 200).reduce((sum, line) => sum + Math.max(0.5, Math.ceil(line.length / width)), 0);
    return (Math.min(lines, kind === "person" ? FOLDED_LINES : lines) + 1.5) * LINE_PX + (files?.length ? 100 : 0);
  }

  // For the keys: rows of messages that people and agents said

  viewOf(row) {
    return this.list.byElement.get(row.closest(".message"))?.view;
  }

  /** Bring the row before or after another into view, or the first or the last with `from` none. */
  rowBeside(from, by) {
    const { entries, byElement } = this.list;
    let at = from ? entries.indexOf(byElement.get(from.closest(".message"))) + by : by > 0 ? 0 : entries.length - 1;
    while (entries[at] && entries[at].message.kind === "notice") at += by;
    if (!entries[at]) return null;
    const { rowElement } = this.list.bring(entries[at], "nearest");
    this.scrolled(); // who is at the end goes on following it
    return rowElement;
  }

  /** The last row in the visible part. */
  lastRow() {
    const bottom = this.scroller.getBoundingClientRect().bottom;
    const views = this.list.entries.flatMap(({ view }) => (view?.rowElement ? [view] : []));
    return (views.findLast((view) => view.rowElement.getBoundingClientRect().top < bottom) ?? views.at(-1))?.rowElement;
  }

  /** The pictures of all messages, in their order. */
  pictures() {
    return this.list.entries.flatMap(({ message }) => (message.deleted ? [] : message.files ?? []));
  }
}
