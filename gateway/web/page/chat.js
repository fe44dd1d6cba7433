/** The page: its person, the open room and thread, and their display. */

import { acceptDrops, Acts } from "./acts.js";
import { Composer } from "./composing/composer.js";
import { Connection } from "./connecting/connection.js";
import { emptyRoom } from "./messages/empty_room.js";
import { Frames } from "./connecting/frames.js";
import { offerKeys } from "./keys.js";
import { Drafts, ReadMarks, Unsent } from "./connecting/keep.js";
import { askName, whoAmI } from "./connecting/login.js";
import { decoded, sameDay, toast } from "./look.js";
import { known } from "./messages/markdown.js";
import { mayGive } from "./messages/standing.js";
import { repeats, Room } from "./room.js";
import { Rooms, slugOf, titleOf } from "./people/rooms.js";
import { SavedRoom } from "./people/saving.js";
import { Saying } from "./composing/saying.js";
import { Search } from "./search.js";
import { Seek } from "./seek.js";
import { Sidebar, showPresence } from "./sidebar.js";
import { buttonsWithOneStop } from "./tab_stops.js";
import { Timeline } from "./messages/timeline.js";
import { TypingLine } from "./composing/typing.js";
import { closeOnWayBack } from "./way_back.js";

const byId = (id) => document.getElementById(id);
const MINUTE_MS = 60_000;
const FINE_POINTER = matchMedia("(pointer: fine)");

const OWN_THREAD = "A conversation of its own: agents know the message above it here, and nothing else of the room.";

/** What the address names: a room, `#lobby`; a thread by the message above it, `#lobby/ID`; a message, `#lobby//ID`. */
function placeInAddress() {
  const [room, thread, message] = location.hash.slice(1).split("/").map(decoded);
  return { room: slugOf(room) || "lobby", thread: thread || null, message: message || null };
}

/** The first room, the others by their titles, then those of two: the order stays. */
function inOrder([first, ...others]) {
  const two = ({ kind }) => Number(kind === "direct");
  return first ? [first, ...others.sort((one, other) => two(one) - two(other) || titleOf(one).localeCompare(titleOf(other)) || one.id.localeCompare(other.id))] : [];
}

class Chat {
  constructor(me) {
    this.rooms = [];
    this.connected = true; // until it is known that it is not
    this.online = new Set(); // those with whom one has direct rooms, and who are here
    const { room, thread, message } = placeInAddress();
    this.room = new Room(room);
    this.thread = null;
    this.marksToGive = [];
    this.commands = [];
    this.acts = new Acts(this);
    this.saying = new Saying(this);
    this.seek = new Seek({ reveal: (target) => this.reveal(target), older: () => this.room.more && this.askOlder() });
    this.search = new Search({
      ask: (words, everywhere) => this.connection.send({ t: "search", room: everywhere ? "" : this.room.id, words }),
      go: ({ id, thread, room }) => {
        if (room === this.room.id) this.seek.go({ id, thread });
        else location.hash = [room, thread ?? "", id].map(encodeURIComponent).join("/");
      },
      title: (id) => titleOf(this.rooms.find((room) => room.id === id) ?? { id }),
      isLong: () => this.main.timeline.isLong,
    });
    this.saved = new SavedRoom(this);
    const frames = new Frames(this);
    this.people = new Rooms(this);
    this.sidebar = new Sidebar({
      go: (room) => (location.hash = room),
      open: (name) => this.connection.send({ t: "open", name }) || toast("Not connected. Try again in a moment."),
      rename: () => this.rename(),
    });
    this.typing = new TypingLine(() => this.showTyping());
    this.main = this.place("room", null);
    this.side = this.place("thread", "Messages in the thread");
    this.connection = new Connection({
      frame: (frame) => frames.take(frame),
      state: (state, reason) => this.showState(state, reason),
      stranger: () => this.askAgain(),
    });
    this.listen();
    offerKeys(byId("keys"));
    closeOnWayBack(this.sidebar);
    buttonsWithOneStop(byId("rooms"));
    this.become(me);
    this.showRoom();
    if (thread) this.openThread(thread);
    if (message) this.seek.later({ id: message, thread });
    this.connection.start();
  }

  /** A timeline with its composer: the room's, or the thread's. */
  place(name, label) {
    const thread = () => (name === "thread" ? this.thread : null);
    const timeline = new Timeline(byId(`${name}-timeline`), {
      label: label ?? "Messages",
      empty: name === "room" ? emptyRoom(() => this.saying.say("Hello!", null), () => this.people.invite(this.room.people)) : "",
      on: {
        older: () => this.askOlder(),
        seen: () => this.showUnread(),
        me: () => this.me.id,
        marks: () => this.marksToGive,
        connected: () => this.connected,
        thread: name === "room" ? (message) => this.openThread(message.id) : null,
        quote: (message) => composer.quote(message),
        change: (message) => composer.edit(message),
        remove: (message) => this.acts.remove(message),
        react: (message, mark) => this.acts.react(message, mark),
        again: (message) => this.question(message),
        askAgain: (message) => this.acts.askAgain(this.question(message)),
        press: (message, choice) => {
          this.acts.press(message, choice);
          if (FINE_POINTER.matches) composer.focus();
        },
        jump: (id) => this.seek.go({ id, thread: thread() }),
        quoted: (quote) => this.room.quoted(quote),
        folds: (message) => repeats(message) && this.room.foldOf(message).length > 0,
        unfold: (message) => this.show(Object.assign(message, { unfolded: !message.unfolded }), false),
        link: ({ id, thread }) => `#${[this.room.id, thread ?? "", id].map(encodeURIComponent).join("/")}`,
        newAfter: () => (name === "room" ? this.newAfter : null),
        editFailed: (message) => this.saying.editFailed(message),
        discard: (message) => this.saying.discard(message.id),
      },
    });
    const composer = new Composer(byId(`${name}-composer`), {
      label: "Reply",
      on: {
        send: (text, more) => this.saying.say(text, thread(), more),
        change: (message, text) => this.acts.change(message, text),
        stop: () => this.acts.stop(thread()),
        last: () => this.room.lastOf(this.me.id, thread()),
        commands: () => this.commands.filter(({ name }) => mayGive(name)),
        names: () => this.room.names.filter((each) => each.id !== this.me.id),
        ask: () => this.connection.send({ t: "people" }),
        typing: () => this.connection.send({ t: "typing", room: this.room.id, thread: thread() }),
        draft: (text) => this.drafts.set(`${this.room.id} ${thread() ?? ""}`, text),
      },
    });
    acceptDrops(byId(`${name}-timeline`).parentElement, (files) => composer.take(files));
    return { timeline, composer };
  }

  listen() {
    window.addEventListener("hashchange", () => this.goTo(placeInAddress()));
    byId("close-thread").addEventListener("click", () => this.closeThread());
    byId("connection").querySelector("button").addEventListener("click", () => this.connection.now());
    document.addEventListener("visibilitychange", () => this.showUnread());
    window.addEventListener("focus", () => this.showUnread());
    this.keepDay();
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      if (this.sidebar.isOpen) this.sidebar.toggle(false);
      else if (this.thread) this.closeThread();
    });
    document.addEventListener("keydown", (event) => this.writeOn(event));
  }

  /** Name the days of messages anew after each midnight, as soon as the device is awake. */
  keepDay() {
    const began = new Date();
    const timer = setInterval(() => {
      if (sameDay(began, new Date())) return;
      clearInterval(timer);
      for (const { timeline } of [this.main, this.side]) timeline.nameDays();
      this.keepDay();
    }, MINUTE_MS);
  }

  /** Whoever types without looking where the focus is writes into the text: of the thread where one is open. */
  writeOn(event) {
    const types = event.key.length === 1 && event.key !== " " && !(event.ctrlKey || event.metaKey || event.altKey);
    if (!types || event.defaultPrevented || event.key === "?" || document.querySelector("dialog[open]")) return;
    if (event.target.closest?.("input, textarea, select, [role=listbox]")) return;
    const inThread = this.thread && !byId("room-timeline").contains(event.target);
    (inThread ? this.side : this.main).composer.focus();
  }

  // Person and place

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

  goTo({ room, thread, message }) {
    const elsewhere = room !== this.room.id;
    if (elsewhere) {
      this.room = new Room(room);
      this.seek.forget();
      this.closeThread();
      this.typing.clear();
      this.main.timeline.clear();
      this.showRoom();
      this.join();
      if (FINE_POINTER.matches) this.main.composer.focus();
    }
    if (message && elsewhere) this.seek.later({ id: message, thread });
    else if (message) this.seek.go({ id: message, thread });
    else if (thread) this.openThread(thread);
    else this.closeThread();
  }

  /** Scroll to a message; false while it is not loaded. */
  reveal({ id, thread }) {
    if (!this.room.joined || !this.room.messages.has(id)) return false;
    if (!thread) return this.main.timeline.reveal(id);
    this.openThread(thread);
    return this.side.timeline.reveal(id);
  }

  /** Put the place into the address, so that a reload and a link lead here, and the way back out of a thread to its
   * room. */
  keepAddress() {
    const place = this.thread ? [this.room.id, this.thread] : [this.room.id];
    const address = `#${place.map(encodeURIComponent).join("/")}`;
    const isNew = this.thread && location.hash.split("//")[0] !== address;
    history[isNew ? "pushState" : "replaceState"](isNew ? null : history.state, "", address);
  }

  join() {
    const { id, version } = this.room;
    this.connection.send({ t: "join", room: id, version });
  }

  // Display

  show(message, count) {
    const put = (timeline) => (this.room.isFolded(message) ? timeline.remove(message.id) : timeline.put(message, { count }));
    if (!message.thread) put(this.main.timeline);
    else this.showReplies(message.thread);
    if (this.thread && (message.thread === this.thread || message.id === this.thread)) put(this.side.timeline);
    if (this.thread === message.id) this.noteThread();
    if (repeats(message)) for (const each of this.room.foldOf(message)) this.show(each, false);
    if (message.kind === "agent") this.showStop();
  }

  showReplies(root) {
    this.room.countReplies(root);
    const message = this.room.messages.get(root);
    if (message && this.main.timeline.has(root)) this.main.timeline.put(message);
  }

  /** The person's own message that an agent's answers, where that began the last exchange in its place; null for others. */
  question({ kind, seq, thread }) {
    const here = [...this.room.messages.values()].filter((each) => each.thread === thread).sort((one, other) => one.seq - other.seq);
    const last = here.findLast((each) => each.kind === "person");
    const pressed = here.some((each) => each.seq > last?.seq && (each.pressed || /^✓\s/m.test(each.text)));
    const mine = last?.by === this.me.id && !last.deleted && !last.files?.length && !last.text.startsWith("/");
    return kind === "agent" && mine && last.seq < seq && !pressed ? last : null;
  }

  settle() {
    this.main.timeline.setEmpty(this.room.joined && !this.room.talked);
    showPresence(this.room, this.people.here, this.online);
    this.learnNames();
    this.showUnread();
  }

  /** Set who can be mentioned here, and redraw the messages that mention somebody new. */
  learnNames() {
    const mine = ({ id }) => Number(id === this.me.id); // last: of two who have a name it is mine, too
    const names = new Map(this.room.names.sort((one, other) => mine(one) - mine(other)).map((each) => [each.name, each.id]));
    const fresh = [...names.keys()].some((name) => !known.names.has(name));
    known.names = names;
    if (!fresh) return;
    for (const { timeline } of [this.main, this.side]) timeline.redraw((message) => message.text.includes("@"));
  }

  showRoom() {
    this.showTitle();
    this.moveTo(this.main, "");
    this.showUnread();
  }

  moveTo({ composer }, thread) {
    const place = `${this.room.id} ${thread}`;
    composer.moveTo(place, this.drafts.get(place));
  }

  showTitle() {
    this.people.showHead();
    const title = titleOf(this.people.here);
    byId("thread-room").textContent = title;
    const short = title.length > 28 ? `${title.slice(0, 27)}…` : title;
    this.main.composer.setLabel(`Message ${{ direct: "@", private: "" }[this.people.here.kind] ?? "#"}${short}`);
  }

  showTyping() {
    this.typing.show(this.main.composer.typing, null);
    if (this.thread) this.typing.show(this.side.composer.typing, this.thread);
    this.showStop();
  }

  /** Show a stop button while an agent works. */
  showStop() {
    const works = (thread) => mayGive("stop") && (this.typing.working(thread) || this.room.grows(thread));
    this.main.composer.setStoppable(works(null));
    this.side.composer.setStoppable(Boolean(this.thread) && works(this.thread));
  }

  showUnread() {
    const here = this.rooms.find((room) => room.id === this.room.id);
    if (here) here.seq = Math.max(here.seq, this.room.headSeq);
    const atEnd = this.main.timeline.stuck || (this.thread && this.side.timeline.stuck);
    const looking = document.visibilityState === "visible" && document.hasFocus();
    if (here && this.room.joined && looking && atEnd) this.marks.set(here.id, here.seq);
    const rooms = inOrder(this.rooms).map((room) => ({ ...room, online: this.online.has(room.with), unread: room === here && looking ? 0 : Math.max(0, room.seq - this.marks.of(room.id, room.seq)) }));
    this.sidebar.show(rooms, this.room.id);
    const unread = rooms.reduce((sum, room) => sum + room.unread, 0);
    document.title = `${unread ? `(${unread}) ` : ""}${titleOf(this.people.here)} · Parley`;
  }

  showState(state, reason) {
    const bar = byId("connection");
    const words = {
      lost: "Connection lost. Reconnecting… Your messages are kept and sent afterwards.",
      refused: reason,
      offline: "You are offline. Your messages are kept and sent when you are back online.",
    };
    bar.hidden = state === "open";
    bar.dataset.state = state;
    bar.firstElementChild.textContent = words[state] ?? "";
    if (state !== "open") this.typing.clear();
    this.connected = state === "open";
    for (const each of this.room.messages.values()) if (each.pending) this.show(each, false);
  }

  askOlder() {
    this.main.timeline.asking = this.connection.send({ t: "older", room: this.room.id, before: this.room.firstSeq });
    return this.main.timeline.asking;
  }

  // Threads

  openThread(root) {
    const again = this.thread === root;
    this.thread = root;
    this.keepAddress();
    byId("thread").hidden = false;
    document.body.classList.add("threaded");
    if (!again) this.side.timeline.clear();
    for (const message of this.room.inThread(root)) if (!this.room.isFolded(message)) this.side.timeline.put(message);
    this.noteThread();
    this.showTyping();
    if (again) return;
    this.side.composer.setLabel("Reply in this thread");
    this.moveTo(this.side, root);
    this.side.composer.focus();
  }

  noteThread() {
    const asks = this.room.messages.get(this.thread)?.choices;
    byId("thread-note").textContent = asks ? "What you write here answers the question above." : OWN_THREAD;
  }

  closeThread() {
    if (!this.thread) return;
    this.thread = null;
    this.side.composer.moveTo("", ""); // what waits for a file stays with the thread
    this.keepAddress();
    byId("thread").hidden = true;
    document.body.classList.remove("threaded");
    this.main.composer.focus();
  }
}

async function begin() {
  const me = (await whoAmI()) ?? (await askName(null));
  byId("app").inert = false;
  const chat = new Chat(me);
  if (FINE_POINTER.matches) chat.main.composer.focus();
}

begin();
