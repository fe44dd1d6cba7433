/** Messages in order. New ones do not move the text that is being read. */

import { el, icon, ICONS } from "../look.js";
import { MessageKeys } from "../keys.js";
import { MessageView } from "./message.js";

const NEAR_END_PX = 60;
const NEAR_START_PX = 240;

export class Timeline {
  /** `on` has `older()`, `seen()` and what MessageView calls; `empty` is shown while there is nothing. */
  constructor(place, { label, on, empty }) {
    this.on = on;
    this.views = new Map();
    this.order = [];
    this.stuck = true;
    this.top = 0;
    this.fresh = 0;
    this.more = false;
    this.start = el("div", { class: "start", hidden: true }, "Loading older messages…");
    this.list = el("ol", { class: "messages" });
    const log = el("div", { role: "log", "aria-live": "polite", "aria-relevant": "additions" }, this.list);
    this.empty = el("div", { class: "empty", hidden: true }, empty ?? "");
    this.inner = el("div", { class: "inner" }, this.start, this.empty, log);
    this.scroller = el("div", { class: "scroller", role: "region", "aria-label": label }, this.inner);
    this.pill = el("button", { type: "button", class: "pill", hidden: true }, icon(ICONS.down), el("span"));
    this.keys = new MessageKeys(this.list, () => this.order);
    place.replaceChildren(this.scroller, this.pill);
    this.pill.addEventListener("click", () => this.toEnd());
    this.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    const sizes = new ResizeObserver(() => this.stuck && this.jump());
    sizes.observe(this.inner);
    sizes.observe(this.scroller);
  }

  clear() {
    this.views.clear();
    this.order = [];
    this.list.replaceChildren();
    this.stuck = true;
    this.setFresh(0);
    this.setMore(false);
    this.empty.hidden = true;
  }

  /** Show a message or its new state. `count` it as new if the reader is elsewhere. */
  put(message, { count = false } = {}) {
    const known = this.views.get(message.id);
    if (known && known.message.seq === message.seq) {
      known.update(message);
      return;
    }
    if (known) this.remove(message.id);
    const view = new MessageView(message, this.on);
    let at = this.order.length;
    while (at > 0 && this.order[at - 1].message.seq > message.seq) at -= 1;
    this.list.insertBefore(view.element, this.order[at]?.element ?? null);
    this.order.splice(at, 0, view);
    this.views.set(message.id, view);
    this.follow(at);
    this.follow(at + 1);
    if (at === this.order.length - 1) this.keys.settle();
    if (count && !known && !this.stuck) this.setFresh(this.fresh + 1);
  }

  /** Insert older messages above, without moving the text that is being read. */
  prepend(messages) {
    const fromEnd = this.scroller.scrollHeight - this.scroller.scrollTop;
    for (const message of messages) this.put(message);
    for (const message of messages) this.views.get(message.id)?.draw();
    if (!this.stuck) this.scroller.scrollTop = this.scroller.scrollHeight - fromEnd;
  }

  /** Redraw the messages that `concerned` selects. */
  redraw(concerned) {
    for (const view of this.order) if (concerned(view.message)) view.redraw();
  }

  /** Scroll to a message; false when it is not here. */
  reveal(id) {
    const view = this.views.get(id);
    if (!view) return false;
    this.stuck = false;
    view.element.scrollIntoView({ block: "center" });
    const row = view.element.querySelector(".row") ?? view.element;
    row.classList.remove("flash");
    void row.offsetWidth; // so that the flash starts again
    row.classList.add("flash");
    row.focus({ preventScroll: true });
    return true;
  }

  remove(id) {
    const view = this.views.get(id);
    if (!view) return;
    const at = this.order.indexOf(view);
    this.order.splice(at, 1);
    this.views.delete(id);
    view.element.remove();
    this.follow(at);
    this.keys.settle();
  }

  setMore(more) {
    this.more = more;
    this.start.hidden = !more;
    this.asking = false;
  }

  setEmpty(empty) {
    this.empty.hidden = !empty;
  }

  toEnd() {
    this.stuck = true;
    this.jump();
    this.setFresh(0);
    this.on.seen?.();
  }

  /** Draw inserted messages without waiting for the next frame, so that their heights are known. */
  drawNow() {
    for (const view of this.order) view.draw();
    if (this.stuck) this.jump();
  }

  /** Ask for older messages when the start is visible. */
  fill() {
    if (!this.more || this.asking || this.scroller.scrollTop > NEAR_START_PX) return;
    this.asking = true;
    this.on.older?.();
  }

  follow(at) {
    this.order[at]?.follow(this.order[at - 1]?.message);
  }

  jump() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.top = this.scroller.scrollTop;
  }

  /** Leave the end only when the reader scrolls up, not when a text grows. */
  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const up = scrollTop < this.top;
    this.top = scrollTop;
    const stuck = scrollHeight - scrollTop - clientHeight < NEAR_END_PX || (this.stuck && !up);
    if (stuck !== this.stuck) {
      this.stuck = stuck;
      this.setFresh(0);
      if (stuck) this.on.seen?.();
    }
    this.fill();
  }

  setFresh(count) {
    this.fresh = count;
    this.pill.hidden = this.stuck;
    this.pill.classList.toggle("fresh", count > 0);
    this.pill.lastChild.textContent = count ? `${count} new message${count === 1 ? "" : "s"}` : "Latest";
  }
}
