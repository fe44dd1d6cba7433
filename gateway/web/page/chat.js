/** The page: takes frames from the connection to the room, and the room to the screen. */

import { acceptDrops, Acts } from "./acts.js";
import { Composer } from "./composer.js";
import { Connection } from "./connection.js";
import { emptyRoom } from "./empty_room.js";
import { Drafts, newId, ReadMarks, Unsent } from "./keep.js";
import { askName, whoAmI } from "./login.js";
import { toast } from "./look.js";
import { known } from "./markdown.js";
import { Room } from "./room.js";
import { Sidebar, showPresence } from "./sidebar.js";
import { Timeline } from "./timeline.js";
import { TypingLine } from "./typing.js";

const RETRY_MS = 3000;
const QUOTE_LENGTH = 200;
const byId = (id) => document.getElementById(id);
const roomInAddress = () => decodeURIComponent(location.hash.slice(1));

class Chat {
  constructor(me) {
    this.rooms = [];
    this.room = new Room(roomInAddress() || "lobby");
    this.thread = null;
    this.refused = new Set();
    this.marksToGive = [];
    this.commands = [];
    this.acts = new Acts(this);
    this.sidebar = new Sidebar({
      go: (room) => (location.hash = room),
      open: (name) => this.connection.send({ t: "open", name }) || toast("Not connected. Try again in a moment."),
      rename: () => this.rename(),
    });
    this.typing = new TypingLine(() => this.showTyping());
    this.main = this.place("room", null);
    this.side = this.place("thread", "Messages in the thread");
    this.connection = new Connection({
      frame: (frame) => this[`on_${frame.t}`]?.(frame),
      state: (state) => this.showState(state),
      stranger: () => this.askAgain(),
    });
    this.listen();
    this.become(me);
    this.showRoom();
    this.connection.start();
  }

  /** A timeline with its composer: the room's, or the thread's. */
  place(name, label) {
    const thread = () => (name === "thread" ? this.thread : null);
    const timeline = new Timeline(byId(`${name}-timeline`), {
      label: label ?? "Messages",
      empty: name === "room" ? emptyRoom(() => this.say("Hello!", null)) : "",
      on: {
        older: () => this.askOlder(),
        seen: () => this.showUnread(),
        me: () => this.me.id,
        marks: () => this.marksToGive,
        thread: name === "room" ? (message) => this.openThread(message.id) : null,
        quote: (message) => composer.quote(message),
        change: (message) => composer.edit(message),
        remove: (message) => this.acts.remove(message),
        react: (message, mark) => this.acts.react(message, mark),
        press: (message, choice) => this.acts.press(message, choice),
        jump: (id) => timeline.reveal(id) || toast("That message is further up. Scroll to load it."),
        editFailed: (message) => this.editFailed(message),
        discard: (message) => this.discard(message.id),
      },
    });
    const composer = new Composer(byId(`${name}-composer`), {
      label: "Reply",
      on: {
        send: (text, more) => this.say(text, thread(), more),
        change: (message, text) => this.acts.change(message, text),
        stop: () => this.acts.stop(thread()),
        last: () => this.room.lastOf(this.me.id, thread()),
        commands: () => this.commands,
        names: () => this.room.names.filter((each) => each.id !== this.me.id),
        typing: () => this.connection.send({ t: "typing", room: this.room.id, thread: thread() }),
        draft: (text) => this.drafts.set(`${this.room.id} ${thread() ?? ""}`, text),
      },
    });
    acceptDrops(byId(`${name}-timeline`).parentElement, (files) => composer.take(files));
    return { timeline, composer };
  }

  listen() {
    window.addEventListener("hashchange", () => this.goTo(roomInAddress() || "lobby"));
    byId("close-thread").addEventListener("click", () => this.closeThread());
    byId("connection").querySelector("button").addEventListener("click", () => this.connection.now());
    document.addEventListener("visibilitychange", () => this.showUnread());
    window.addEventListener("focus", () => this.showUnread());
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      if (this.sidebar.isOpen) this.sidebar.toggle(false);
      else if (this.thread) this.closeThread();
    });
  }

  // Who and where

  become(me) {
    this.me = me;
    known.me = me.id;
    this.unsent = new Unsent(me.id);
    this.marks = new ReadMarks(me.id);
    this.drafts = new Drafts(me.id);
    this.sidebar.showMe(me);
  }

  async rename() {
    this.sidebar.toggle(false);
    const person = await askName(this.me);
    if (!person) return;
    this.become(person);
    this.connection.restart();
  }

  async askAgain() {
    await whoAmI();
    this.become(await askName(null));
    this.connection.start();
  }

  goTo(id) {
    if (id === this.room.id) return;
    this.closeThread();
    this.room = new Room(id);
    this.typing.clear();
    this.main.timeline.clear();
    this.showRoom();
    this.join();
    if (matchMedia("(pointer: fine)").matches) this.main.composer.focus();
  }

  join() {
    const { id, version } = this.room;
    if (!this.rooms.some((room) => room.id === id)) {
      if (this.rooms.length) location.replace(`#${this.rooms[0].id}`);
      return;
    }
    this.connection.send({ t: "join", room: id, version });
  }

  // Frames

  on_welcome({ you, rooms, marks, commands, ...limits }) {
    this.become(you);
    this.marksToGive = marks;
    this.commands = commands;
    this.main.composer.limit(limits);
    this.side.composer.limit(limits);
    this.refused.clear();
    this.on_rooms({ rooms });
    for (const room of rooms) this.marks.limit(room.id, room.seq);
    this.join();
    for (const message of this.unsent.all()) if (!message.failed) this.submit(message);
  }

  on_joined({ room, reset, messages, more, people }) {
    if (room !== this.room.id) return;
    if (reset) {
      this.room.forget();
      this.main.timeline.clear();
      this.room.more = more;
    }
    const first = !this.room.joined;
    this.room.joined = true;
    this.room.people = people;
    const still = this.room.endGrowth(new Set(messages.map((message) => message.id)));
    for (const message of still) this.show(message, false);
    const shown = messages.map((message) => this.room.take(message));
    this.learnNames();
    for (const message of shown) this.show(message, !first);
    this.unsent.all().forEach((message, place) => {
      if (message.room === room) this.show(this.room.takeUnsent(message, this.me, place), false);
    });
    this.main.timeline.setMore(this.room.more);
    if (this.thread) this.openThread(this.thread);
    this.settle();
    this.main.timeline.drawNow();
    this.main.timeline.fill();
  }

  on_older({ room, messages, more }) {
    if (room !== this.room.id) return;
    this.room.more = more;
    const kept = messages.map((message) => this.room.take(message));
    this.main.timeline.prepend(kept.filter((message) => !message.thread));
    this.main.timeline.setMore(more);
    for (const message of kept) if (message.thread) this.showReplies(message.thread);
    this.main.timeline.fill();
  }

  on_message({ room, message }) {
    if (room !== this.room.id) return;
    this.typing.said(message);
    this.show(this.room.take(message), message.by !== this.me.id);
    this.settle();
  }

  on_grow(frame) {
    if (frame.room !== this.room.id) return;
    const message = this.room.grow(frame);
    if (message) this.show(message, false);
  }

  on_taken({ id }) {
    this.unsent.remove(id);
    const message = this.room.messages.get(id);
    if (!message) return;
    message.pending = false;
    this.show(message, false);
  }

  on_refused({ id, code, text }) {
    if (code === "busy" || code === "slow_down") {
      this.refused.add(id);
      clearTimeout(this.retrying);
      this.retrying = setTimeout(() => this.retry(), RETRY_MS);
      return;
    }
    const kept = this.unsent.find(id);
    if (!kept) return;
    this.unsent.remove(id);
    this.unsent.add({ ...kept, failed: text });
    const message = this.room.messages.get(id);
    if (message) this.show(Object.assign(message, { pending: false, failed: text }), false);
  }

  on_people({ room, people }) {
    if (room !== this.room.id) return;
    this.room.people = people;
    this.settle();
  }

  on_typing(frame) {
    if (frame.room === this.room.id && frame.by !== this.me.id) this.typing.began(frame);
  }

  on_rooms({ rooms }) {
    this.rooms = rooms;
    this.showUnread();
  }

  on_room({ room }) {
    const known = this.rooms.find((each) => each.id === room.id);
    if (known) known.seq = Math.max(known.seq, room.seq);
    this.showUnread();
  }

  on_opened({ room }) {
    location.hash = room;
  }

  on_error({ text }) {
    toast(text);
    for (const message of this.room.messages.values()) {
      if (message.pressed && message.choices) this.show(Object.assign(message, { pressed: null }), false);
    }
  }

  on_pong() {}

  // Saying

  say(text, thread, { files = [], quote } = {}) {
    const message = { id: newId(), room: this.room.id, thread, text, files, at: new Date().toISOString() };
    if (quote) message.quote = { id: quote.id, name: quote.name, text: quote.text.slice(0, QUOTE_LENGTH) };
    this.unsent.add(message);
    this.show(this.room.takeUnsent(message, this.me, this.unsent.all().length), false);
    const { timeline } = thread ? this.side : this.main;
    timeline.toEnd();
    this.submit(message);
    this.settle();
  }

  submit({ id, room, thread, text, quote, files = [] }) {
    const attached = files.map((file) => ({ id: file.id, name: file.name }));
    this.connection.send({ t: "say", id, room, thread, text, reply_to: quote?.id, files: attached });
  }

  retry() {
    const again = this.unsent.all().filter((message) => this.refused.has(message.id) && !message.failed);
    this.refused.clear();
    for (const message of again) this.submit(message);
  }

  editFailed(message) {
    const { composer } = message.thread ? this.side : this.main;
    composer.value = composer.value ? `${composer.value}\n${message.text}` : message.text;
    this.discard(message.id);
    composer.focus();
  }

  discard(id) {
    this.unsent.remove(id);
    this.room.messages.delete(id);
    this.main.timeline.remove(id);
    this.side.timeline.remove(id);
    this.settle();
  }

  // Showing

  show(message, count) {
    if (!message.thread) this.main.timeline.put(message, { count });
    else this.showReplies(message.thread);
    if (this.thread && (message.thread === this.thread || message.id === this.thread)) {
      this.side.timeline.put(message, { count });
    }
    if (message.kind === "agent") this.showStop();
  }

  showReplies(root) {
    this.room.countReplies(root);
    const message = this.room.messages.get(root);
    if (message && this.main.timeline.views.has(root)) this.main.timeline.put(message);
  }

  settle() {
    this.main.timeline.setEmpty(this.room.joined && !this.room.talked);
    showPresence(this.room.people, this.room.agents);
    this.learnNames();
    this.showUnread();
  }

  /** Who can be mentioned here; what mentions somebody new is drawn anew. */
  learnNames() {
    const names = new Map(this.room.names.map((each) => [each.name, each.id]));
    const fresh = [...names.keys()].some((name) => !known.names.has(name));
    known.names = names;
    if (!fresh) return;
    for (const { timeline } of [this.main, this.side]) timeline.redraw((message) => message.text.includes("@"));
  }

  showRoom() {
    byId("room-name").textContent = this.room.id;
    byId("thread-room").textContent = `# ${this.room.id}`;
    this.main.composer.setLabel(`Message #${this.room.id}`);
    this.main.composer.value = this.drafts.get(`${this.room.id} `);
    this.showUnread();
  }

  showTyping() {
    this.typing.show(this.main.composer.typing, null);
    if (this.thread) this.typing.show(this.side.composer.typing, this.thread);
    this.showStop();
  }

  /** While an agent works there is a button to stop it. */
  showStop() {
    const works = (thread) => this.typing.working(thread) || this.room.grows(thread);
    this.main.composer.setStoppable(works(null));
    this.side.composer.setStoppable(Boolean(this.thread) && works(this.thread));
  }

  showUnread() {
    const here = this.rooms.find((room) => room.id === this.room.id);
    if (here) here.seq = Math.max(here.seq, this.room.headSeq);
    const atEnd = this.main.timeline.stuck || (this.thread && this.side.timeline.stuck);
    const reading = document.visibilityState === "visible" && document.hasFocus() && atEnd;
    if (here && this.room.joined && reading) this.marks.set(here.id, here.seq);
    const rooms = this.rooms.map(({ id, seq }) => ({ id, unread: Math.max(0, seq - this.marks.of(id, seq)) }));
    this.sidebar.show(rooms, this.room.id);
    const unread = rooms.reduce((sum, room) => sum + room.unread, 0);
    document.title = `${unread ? `(${unread}) ` : ""}${this.room.id} · Parley`;
  }

  showState(state) {
    const bar = byId("connection");
    const words = {
      lost: "Connection lost. Coming back… What you write is kept and sent then.",
      offline: "You are offline. What you write is kept and sent when you are back.",
    };
    bar.hidden = state === "open";
    bar.dataset.state = state;
    bar.firstElementChild.textContent = words[state] ?? "";
    if (state !== "open") this.typing.clear();
  }

  askOlder() {
    if (!this.connection.send({ t: "older", room: this.room.id, before: this.room.firstSeq })) {
      this.main.timeline.asking = false;
    }
  }

  // Threads

  openThread(root) {
    const again = this.thread === root;
    this.thread = root;
    byId("thread").hidden = false;
    document.body.classList.add("threaded");
    if (!again) this.side.timeline.clear();
    for (const message of this.room.inThread(root)) this.side.timeline.put(message);
    this.showTyping();
    if (again) return;
    this.side.composer.setLabel("Reply in this thread");
    this.side.composer.value = this.drafts.get(`${this.room.id} ${root}`);
    this.side.composer.focus();
  }

  closeThread() {
    if (!this.thread) return;
    this.thread = null;
    byId("thread").hidden = true;
    document.body.classList.remove("threaded");
    this.main.composer.focus();
  }
}

async function begin() {
  const me = (await whoAmI()) ?? (await askName(null));
  byId("app").hidden = false;
  const chat = new Chat(me);
  if (matchMedia("(pointer: fine)").matches) chat.main.composer.focus();
}

begin();
