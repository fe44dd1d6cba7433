/** The gateway's frames: each changes the room, and the display follows. */

import { giveHues, toast } from "../look.js";
import { learnStanding } from "../messages/standing.js";

export class Frames {
  constructor(chat) {
    this.chat = chat;
  }

  take(frame) {
    this[`on_${frame.t}`]?.(frame);
  }

  on_welcome({ you, rooms, marks, commands, ...limits }) {
    if (you.id !== this.chat.me.id) {  // somebody else has logged in in this browser
      location.reload();
      return;
    }
    if (you.name !== this.chat.me.name) toast(`Somebody else here is called ${this.chat.me.name}. Here you are ${you.name}.`);
    this.chat.become(you);
    this.chat.marksToGive = marks;
    this.chat.commands = commands;
    for (const { composer } of [this.chat.main, this.chat.side]) {
      composer.limit(limits);
      if (document.activeElement === composer.input) composer.suggestions.update(); // of commands, of which there was nothing before
    }
    this.chat.rooms = rooms;
    this.chat.showTitle();
    this.chat.showUnread();
    for (const room of rooms) this.chat.marks.limit(room.id, room.seq);
    this.chat.join();
    this.chat.saying.again();
  }

  on_joined({ room, reset, messages, more, people, present, hues }) {
    if (room !== this.chat.room.id) return;
    giveHues(hues);
    if (reset) {
      this.chat.room.forget();
      this.chat.main.timeline.clear();
      this.chat.room.more = more;
    }
    this.known(room);
    const first = !this.chat.room.joined;
    this.chat.room.joined = true;
    this.readOwn(messages);
    if (first) this.chat.newAfter = this.seenBefore(room, messages);
    this.chat.room.people = people;
    this.chat.room.present = present;
    const still = this.chat.room.endGrowth(new Set(messages.map((message) => message.id)));
    for (const message of still) this.chat.show(message, false);
    const shown = messages.map((message) => this.chat.room.take(message));
    this.chat.learnNames();
    for (const message of shown) this.chat.show(message, !first);
    this.chat.unsent.all().forEach((message, place) => {
      if (message.room === room) this.chat.show(this.chat.room.takeUnsent(message, this.chat.me, place), false);
    });
    this.chat.main.timeline.setMore(this.chat.room.more);
    if (this.chat.thread) this.chat.openThread(this.chat.thread);
    this.chat.settle();
    this.chat.main.timeline.drawNow();
    this.chat.main.timeline.fill();
    this.chat.seek.loaded();
    this.chat.saved.loaded();
  }

  /** What the person has written is read, and what stands above it. */
  readOwn(messages) {
    for (const { by, seq } of messages) if (by === this.chat.me.id) this.chat.marks.set(this.chat.room.id, seq);
  }

  /** The place up to which the person has read the room, where there is more; else null. */
  seenBefore(room, messages) {
    const head = Math.max(0, ...messages.map((message) => message.seq));
    const seen = this.chat.marks.of(room, head);
    return seen < head ? seen : null;
  }

  on_hues({ room, hues }) {
    if (room === this.chat.room.id) giveHues(hues);
  }

  on_older({ room, messages, more }) {
    if (room !== this.chat.room.id) return;
    this.chat.room.more = more;
    const kept = messages.map((message) => this.chat.room.take(message));
    this.chat.main.timeline.prepend(kept.filter((message) => !message.thread && !this.chat.room.isFolded(message)));
    this.chat.main.timeline.setMore(more);
    for (const message of kept) if (message.thread) this.chat.showReplies(message.thread);
    this.chat.main.timeline.fill();
    this.chat.seek.loaded();
    this.chat.saved.loaded();
  }

  on_found(frame) {
    if (!frame.room || frame.room === this.chat.room.id) this.chat.search.take(frame);
  }

  on_message({ room, message }) {
    this.chat.saying.stands(message.id);
    if (room !== this.chat.room.id) return;
    this.chat.typing.said(message);
    this.readOwn([message]);
    const known = this.chat.room.messages.has(message.id);
    this.chat.show(this.chat.room.take(message), message.by !== this.chat.me.id);
    this.chat.settle();
    if (message.kind === "notice" && !known) this.chat.acts.undone();
  }

  on_alone({ room, thread, text }) {
    if (room !== this.chat.room.id) return;
    this.chat.acts.undoing = null;
    const command = [...this.chat.room.messages.values()].at(-1)?.given;
    this.chat.show(this.chat.room.takeAlone(thread, text), true);
    this.chat.settle();
    if (!command) void learnStanding(); // the answer to a code is that one is an owner now
  }

  on_grow(frame) {
    if (frame.room !== this.chat.room.id) return;
    const message = this.chat.room.grow(frame);
    if (message) this.chat.show(message, false);
  }

  on_taken({ id }) {
    this.chat.saying.taken(id);
    const message = this.chat.room.messages.get(id);
    if (!message) return;
    message.pending = false;
    this.chat.show(message, false);
  }

  on_refused({ id, code, text }) {
    if (id === this.chat.acts.undoing?.id) {
      this.chat.acts.undoing = null;
      toast(text);
    } else if (code === "busy" || code === "slow_down") this.chat.saying.later(id);
    else this.chat.saying.failed(id, text);
  }

  on_people({ room, people, present }) {
    if (room !== this.chat.room.id) return;
    this.chat.room.people = people;
    this.chat.room.present = present;
    this.chat.settle();
  }

  on_online({ people }) {
    this.chat.online = new Set(people);
    this.chat.settle();
  }

  on_typing(frame) {
    if (frame.room === this.chat.room.id && frame.by !== this.chat.me.id) this.chat.typing.told(frame);
  }

  on_activity({ rooms }) {
    for (const { id, seq } of rooms) {
      const room = this.known(id);
      room.seq = Math.max(room.seq, seq);
    }
    this.chat.showUnread();
  }

  /** A room of the list. Of a new one the first message only says that it was opened, so nothing is unread. */
  known(id) {
    const known = this.chat.rooms.find((room) => room.id === id);
    if (known) return known;
    const room = { id, seq: 1 };
    this.chat.rooms.splice(1, 0, room);
    this.chat.marks.set(id, 1);
    return room;
  }

  on_opened({ room }) {
    this.known(room);
    location.hash = room;
  }

  on_room({ room }) {
    const known = this.chat.rooms.find((each) => each.id === room.id);
    if (known) {
      for (const part of ["title", "kind", "archived", "with"]) delete known[part];
      Object.assign(known, room, { seq: Math.max(known.seq, room.seq) });
    } else this.chat.rooms.splice(1, 0, room);
    if (!known) this.chat.marks.set(room.id, Math.max(0, room.seq - 1));
    this.chat.showUnread();
    if (room.id === this.chat.room.id) this.chat.showTitle();
  }

  on_gone({ room }) {
    this.chat.rooms = this.chat.rooms.filter((each) => each.id !== room);
    if (room === this.chat.room.id) location.replace(`#${this.chat.rooms[0]?.id ?? "lobby"}`);
    this.chat.showUnread();
  }

  on_members(frame) {
    this.chat.people.members(frame);
  }

  on_directory(frame) {
    this.chat.people.directory(frame);
  }

  on_absent({ room, text }) {
    if (room !== this.chat.room.id) return;
    toast(text);
    const [first] = this.chat.rooms;
    if (first) location.replace(`#${first.id}`);
  }

  on_error({ text }) {
    toast(text);
    for (const message of this.chat.room.messages.values()) {
      if (message.pressed && message.choices) this.chat.show(Object.assign(message, { pressed: null }), false);
    }
  }

  on_pong() {}
}
