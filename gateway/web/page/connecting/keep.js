/** The browser's storage for a person: unconfirmed messages, reading positions, drafts. */

const memory = new Map();

function read(key, fallback) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? fallback;
  } catch {
    return memory.get(key) ?? fallback;
  }
}

function write(key, value) {
  memory.set(key, value);
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Storage is full or forbidden: only this page remembers it.
  }
}

/** Forget all of it: the person has logged out, and others may use this browser. */
export function forgetAll() {
  memory.clear();
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith("parley.")) localStorage.removeItem(key);
  } catch {
    // Storage is forbidden: there is nothing in it.
  }
}

/** Messages that the gateway has not confirmed, oldest first: {id, room, thread, text, at}. */
export class Unsent {
  constructor(person) {
    this.key = `parley.unsent.${person}`;
  }

  all() {
    return read(this.key, []);
  }

  add(message) {
    write(this.key, [...this.all(), message]);
  }

  remove(id) {
    write(this.key, this.all().filter((message) => message.id !== id));
  }

  find(id) {
    return this.all().find((message) => message.id === id);
  }
}

/** The newest message of each room that the person has seen. */
export class ReadMarks {
  constructor(person) {
    this.key = `parley.read.${person}`;
  }

  /** Count a room that is new to this browser as read. */
  of(room, seq) {
    const marks = read(this.key, {});
    if (room in marks) return marks[room];
    this.set(room, seq);
    return seq;
  }

  set(room, seq) {
    const marks = read(this.key, {});
    if ((marks[room] ?? -1) < seq) write(this.key, { ...marks, [room]: seq });
  }

  /** Stay within the room's messages: its store may have been emptied. */
  limit(room, seq) {
    const marks = read(this.key, {});
    if (marks[room] > seq) write(this.key, { ...marks, [room]: seq });
  }
}

/** Drafts by place. */
export class Drafts {
  constructor(person) {
    this.key = `parley.drafts.${person}`;
  }

  get(place) {
    return read(this.key, {})[place] ?? "";
  }

  set(place, text) {
    const drafts = read(this.key, {});
    if (text) drafts[place] = text;
    else delete drafts[place];
    write(this.key, drafts);
  }
}

/** A UUID. The browser offers one only over https and on localhost; elsewhere it is made here. */
export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
