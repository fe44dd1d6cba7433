/** A long list of which the document has only what is near the visible part. The rest is space of about its height.
 *
 * Whatever is being read stays where it is: when something above it is inserted, measured, or grows, the list scrolls by
 * the difference. A list that is followed to its end stays at its end.
 */

const AROUND_PX = 700; // drawn above and below the visible part
const KEPT_PX = 1400; // kept there, so that scrolling to and fro draws nothing twice
const BUDGET_MS = 8;
const ROUNDS = 4;

export class VirtualList {
  /** `on` has `make(message)`, which gives a view with its `element`, and `guess(message)`, its height before it was
   * drawn. The views have `follow(previous)`, `draw()` and `dispose()`. */
  constructor(scroller, list, on) {
    Object.assign(this, { scroller, list, on });
    this.entries = [];
    this.byId = new Map();
    this.byElement = new WeakMap();
    this.drawn = new Set();
    this.stuck = true; // follow the end
    this.more = false; // there is more before the first
    this.top = 0;
    this.height = scroller.clientHeight; // of the visible part when the list was arranged last
    this.held = null; // what is being read: {entry, offset}, where its top is in the visible part
    this.soon = 0; // the animation frame in which the list is arranged next
    this.dirty = false; // there are changes of which the document knows nothing yet
    this.sizes = new ResizeObserver((changes) => this.resized(changes));
    this.sizes.observe(scroller);
  }

  clear() {
    for (const entry of [...this.drawn]) this.drop(entry);
    this.entries = [];
    this.byId.clear();
    this.held = null;
    this.stuck = true;
    this.changed();
  }

  /** Insert a message by its `seq`. */
  insert(message) {
    this.hold();
    const entry = { message, view: null, height: this.on.guess(message) };
    this.entries.splice(this.placeOf(message.seq), 0, entry);
    this.byId.set(message.id, entry);
    this.changed();
    return entry;
  }

  /** The place behind all messages up to `seq`. */
  placeOf(seq) {
    let [low, high] = [0, this.entries.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.entries[middle].message.seq > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  remove(id) {
    const entry = this.byId.get(id);
    if (!entry) return;
    this.hold();
    const at = this.entries.indexOf(entry);
    this.entries.splice(at, 1);
    this.byId.delete(id);
    this.drop(entry);
    if (this.held?.entry === entry) {
      const next = this.entries[at] ?? this.entries.at(-1);
      this.held = next ? { entry: next, offset: this.held.offset } : null;
    }
    this.changed();
  }

  /** Let what is being read stay where it is when the list is arranged next. Call it before a change. */
  hold() {
    if (this.held || this.stuck || !this.entries.length) return;
    const top = this.scroller.scrollTop - this.list.offsetTop;
    let y = 0;
    for (const entry of this.entries) {
      if (y + entry.height > top) {
        this.held = { entry, offset: y - top };
        return;
      }
      y += entry.height;
    }
    this.held = { entry: this.entries.at(-1), offset: y - this.entries.at(-1).height - top };
  }

  changed() {
    this.dirty = true;
    this.later();
  }

  later() {
    this.soon ||= requestAnimationFrame(() => this.arrange());
  }

  /** Draw what is visible, and as much around it as there is time for. */
  arrange() {
    cancelAnimationFrame(this.soon);
    this.soon = 0;
    this.dirty = false;
    const began = performance.now();
    this.hold();
    let complete = true;
    for (let round = 0; round < ROUNDS; round += 1) {
      const fresh = [];
      complete = true;
      for (const { entry, visible } of this.wanted(AROUND_PX)) {
        if (entry.view) continue;
        if (!visible && performance.now() - began > BUDGET_MS) {
          complete = false;
          break;
        }
        this.make(entry);
        fresh.push(entry);
      }
      if (round === 0) this.dropDistant();
      this.place();
      for (const entry of fresh) entry.height = entry.view.element.getBoundingClientRect().height;
      if (fresh.length) this.place();
      if (!fresh.length || !complete) break;
    }
    this.settle();
    if (!complete) this.later();
    this.on.arranged?.();
  }

  /** The entries at most so far from the visible part, those that are visible first. */
  wanted(around) {
    const { entries } = this;
    const height = this.scroller.clientHeight;
    const at = this.held ? entries.indexOf(this.held.entry) : entries.length;
    const offset = this.held ? this.held.offset : height;
    const [visible, near] = [[], []];
    const note = (entry, top) => {
      const inside = top < height && top + entry.height > 0;
      (inside ? visible : near).push({ entry, visible: inside });
    };
    for (let index = at, y = offset; index < entries.length && y < height + around; index += 1) {
      if (y + entries[index].height > -around) note(entries[index], y);
      y += entries[index].height;
    }
    for (let index = at - 1, y = offset; index >= 0 && y > -around; index -= 1) {
      y -= entries[index].height;
      if (y < height + around) note(entries[index], y);
    }
    return [...visible, ...near];
  }

  make(entry) {
    entry.view = this.on.make(entry.message);
    entry.view.draw();
    this.byElement.set(entry.view.element, entry);
    this.drawn.add(entry);
    this.sizes.observe(entry.view.element);
  }

  drop(entry) {
    if (!entry.view) return;
    this.sizes.unobserve(entry.view.element);
    entry.view.element.remove();
    entry.view.dispose();
    entry.view = null;
    this.drawn.delete(entry);
  }

  /** Take from the document what is far away, but not what has the focus, and nothing while text is selected. */
  dropDistant() {
    const selection = getSelection();
    if (!selection.isCollapsed && this.list.contains(selection.anchorNode)) return;
    const near = new Set(this.wanted(KEPT_PX).map(({ entry }) => entry));
    for (const entry of [...this.drawn]) {
      if (!near.has(entry) && !entry.view.element.contains(document.activeElement)) this.drop(entry);
    }
  }

  /** Put the drawn ones in their order, with space for the others between them. */
  place() {
    const size = String(this.more ? -1 : this.entries.length);
    let next = this.list.firstElementChild;
    let gap = 0;
    this.entries.forEach((entry, at) => {
      if (!entry.view) {
        gap += entry.height;
        return;
      }
      const { element } = entry.view;
      if (element === next) next = next.nextElementSibling;
      else this.list.insertBefore(element, next);
      entry.view.follow(this.entries[at - 1]?.message);
      setSpace(element, "marginTop", gap);
      setAttribute(element, "aria-posinset", String(at + 1));
      setAttribute(element, "aria-setsize", size);
      gap = 0;
    });
    setSpace(this.list, "paddingBottom", gap);
  }

  /** Scroll so that what was being read is where it was. */
  settle() {
    if (this.stuck) this.scroller.scrollTop = this.scroller.scrollHeight;
    else if (this.held) {
      const top = this.list.offsetTop + this.topOf(this.held.entry) - this.held.offset;
      if (Math.abs(top - this.scroller.scrollTop) >= 1) this.scroller.scrollTop = top;
    }
    this.held = null;
    this.top = this.scroller.scrollTop;
    this.height = this.scroller.clientHeight;
  }

  topOf(entry) {
    let y = 0;
    for (const each of this.entries) {
      if (each === entry) return y;
      y += each.height;
    }
    return y;
  }

  resized(changes) {
    this.hold();
    for (const { target, borderBoxSize } of changes) {
      const entry = this.byElement.get(target);
      if (entry?.view) entry.height = borderBoxSize[0].blockSize;
    }
    if (this.dirty) return;
    this.settle();
    this.later();
  }

  /** Follow the person's scrolling; returns whether they went up. */
  scrolled() {
    const { scrollTop } = this.scroller;
    const by = scrollTop - this.top;
    this.top = scrollTop;
    if (!by) return false;
    if (this.held) this.held.offset -= by;
    if (!this.stuck) this.arrange();
    return by < 0;
  }

  /** Scroll to an entry: into the middle, or only so far that it is visible. Returns its view. */
  bring(entry, where) {
    this.stuck = false;
    for (let round = 0; round < 2; round += 1) {
      const [height, space] = [entry.height, this.scroller.clientHeight];
      const now = this.list.offsetTop + this.topOf(entry) - this.scroller.scrollTop;
      const most = Math.max(0, space - height);
      const offset = where === "center" ? Math.max(0, (space - height) / 2) : Math.max(0, Math.min(now, most));
      this.held = { entry, offset };
      this.arrange();
    }
    return entry.view;
  }
}

function setSpace(element, side, pixels) {
  const wanted = pixels ? `${pixels}px` : "";
  if (element.style[side] !== wanted) element.style[side] = wanted;
}

function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}
