/** The page's copy of the room that it shows: messages by id, their threads, and the version of the copy. */

const PENDING_SEQ = 1e15;
const FACES = 3;
const MOST_ALONE = 1e6;
const QUOTE_LENGTH = 200;
const MENTION = /\[(@[^\]]+)\]\(person:[^)]*\)/g;
const COMMAND = /^\/[a-z][\w-]{0,31}(\s|$)/i;

/** Whether a person's message says again what it quotes of theirs: the earlier exchange is undone. */
export function repeats({ kind, name, text, quote }) {
  if (kind !== "person" || quote?.name !== name) return false;
  const said = text.replace(MENTION, "$1").trim().replace(/\s+/g, " ");
  const quoted = quote.text.trim().replace(/\s+/g, " ");
  return said === quoted || (quoted.length > QUOTE_LENGTH / 2 && said.startsWith(quoted.replace(/…$/, "")));
}

export class Room {
  static everybody = []; // all people of the chat whom one knows of
  static answering = []; // the names of agents of the program, who may not have spoken here yet

  constructor(id) {
    this.id = id;
    this.forget();
  }

  forget() {
    this.version = null;
    this.messages = new Map();
    this.threads = new Map(); // the ids of replies by the id of the message above them
    this.repeated = new Set(); // the ids of messages that repeat earlier ones
    this.more = false;
    this.people = [];
    this.present = 0;
    this.joined = false;
    this.alone = 0; // the number of answers that only this person sees
  }

  /** Store the gateway's state of a message; returns the stored message. */
  take(message) {
    this.version = Math.max(this.version ?? 0, message.version);
    const known = this.messages.get(message.id);
    const kept = { ...message, pending: known?.pending, replies: known?.replies, unfolded: known?.unfolded };
    if (known?.pressed && message.choices) kept.pressed = known.pressed;
    this.keep(kept);
    if (message.thread && !(known && known.seq === message.seq)) {
      if (!this.threads.has(message.thread)) this.threads.set(message.thread, new Set());
      this.threads.get(message.thread).add(message.id);
      this.countReplies(message.thread);
    }
    if (!known) this.countReplies(message.id);
    return kept;
  }

  /** Change a growing message; null when it is unknown. */
  grow({ id, add, cut = 0, done }) {
    const known = this.messages.get(id);
    if (!known) return null;
    known.text = (cut ? known.text.slice(0, -cut) : known.text) + add;
    known.live = !done;
    if (done) {
      known.version = done.version;
      this.version = Math.max(this.version ?? 0, done.version);
    }
    return known;
  }

  /** End all growing messages except `growing`, after a lost connection. Returns the changed ones. */
  endGrowth(growing) {
    const ended = [...this.messages.values()].filter((message) => message.live && !growing.has(message.id));
    for (const message of ended) message.live = false;
    return ended;
  }

  /** Add a message of the person's own that the gateway has not confirmed. */
  takeUnsent(message, me, place) {
    const known = this.messages.get(message.id);
    if (known) {
      known.pending = !message.failed;
      known.failed = message.failed;
      return known;
    }
    if (COMMAND.test(message.text.trim())) {
      const { id, failed } = message; // one that everybody reads comes back as a message in its place
      return this.takeAlone(message.thread, message.text, { id, failed, pending: !failed, given: true });
    }
    const kept = {
      id: message.id, seq: PENDING_SEQ + place, version: 0, by: me.id, name: me.name, kind: "person",
      text: message.text, at: message.at, live: false, thread: message.thread, quote: message.quote, files: message.files,
      pending: !message.failed, failed: message.failed,
    };
    return this.keep(kept);
  }

  keep(message) {
    this.messages.set(message.id, message);
    if (repeats(message)) this.repeated.add(message.id);
    return message;
  }

  /** What is folded under a message that repeats an earlier one: that one, and all that came of it. Nothing where
   * somebody else has spoken in between, whose words nobody hides, or where the earlier one is not here. */
  foldOf({ quote, thread, seq, by }) {
    const first = this.messages.get(quote.id)?.seq ?? seq;
    const earlier = [...this.messages.values()].filter((each) => each.thread === thread && each.seq >= first && each.seq < seq);
    return earlier.some((each) => each.kind === "person" && each.by !== by) ? [] : earlier;
  }

  isFolded({ id }) {
    const over = [...this.repeated].map((each) => this.messages.get(each)).filter((each) => each && !each.unfolded && repeats(each));
    return over.some((each) => this.foldOf(each).some((earlier) => earlier.id === id));
  }

  /** A quote with what its message says now, where that is here. */
  quoted(quote) {
    const known = this.messages.get(quote.id);
    const about = { ...quote, by: known?.kind === "person" ? known.by : null, kind: known?.kind };
    if (known?.deleted) return { ...about, text: "This message was deleted." };
    return { ...about, text: known?.edited && known.text ? known.text.slice(0, QUOTE_LENGTH) : quote.text };
  }

  /** Add a command or an answer that only this person sees. It stands behind the newest message, and is gone after a
   * reload. `more` is what is known of a command. */
  takeAlone(thread, text, more = {}) {
    this.alone += 1;
    const kept = {
      id: `alone.${this.alone}`, seq: this.headSeq + this.alone / MOST_ALONE, version: 0, by: "", name: "Parley",
      kind: "notice", text, at: new Date().toISOString(), live: false, thread: thread ?? null, alone: true, ...more,
    };
    this.messages.set(kept.id, kept);
    return kept;
  }

  countReplies(root) {
    const [message, ids] = [this.messages.get(root), this.threads.get(root)];
    if (!message || !ids) return;
    const replies = [...ids].map((id) => this.messages.get(id)).filter((each) => each && each.seq < PENDING_SEQ && !each.alone);
    if (!replies.length) return;
    replies.sort((one, other) => one.seq - other.seq);
    const faces = [...new Map(replies.map((each) => [each.kind + each.name, each])).values()];
    message.replies = { count: replies.length, last: replies.at(-1).at, faces: faces.slice(0, FACES) };
  }

  inThread(root) {
    const all = [...this.messages.values()];
    return all.filter((each) => each.id === root || each.thread === root).sort((one, other) => one.seq - other.seq);
  }

  /** The person's newest message in one place, for an edit. */
  lastOf(person, thread) {
    const own = [...this.messages.values()].filter((each) => each.kind === "person" && each.by === person);
    const here = own.filter((each) => each.thread === thread && !each.deleted && !each.pending && !each.failed);
    return here.sort((one, other) => one.seq - other.seq).at(-1);
  }

  /** Whether an agent's text grows in one place. */
  grows(thread) {
    return [...this.messages.values()].some((each) => each.live && each.kind === "agent" && each.thread === thread);
  }

  /** The names that can be mentioned: agents first, then people, those who are not in the room last. */
  get names() {
    const found = new Map();
    for (const { name, by } of this.agents) found.set(name, { name, kind: "agent", id: by });
    for (const name of Room.answering) if (!found.has(name)) found.set(name, { name, kind: "agent", id: name });
    const person = (id, name, kind = "person") => found.has(name) || found.set(name, { name, kind, id });
    for (const { id, name } of this.people) person(id, name);
    for (const { kind, by, name } of this.messages.values()) if (kind === "person") person(by, name);
    for (const { id, name } of Room.everybody) person(id, name, "not in this room");
    return [...found.values()];
  }

  /** The place of the oldest message here. */
  get firstSeq() {
    let first = PENDING_SEQ;
    for (const message of this.messages.values()) first = Math.min(first, message.seq);
    return first;
  }

  get headSeq() {
    let head = 0;
    for (const message of this.messages.values()) if (message.seq < PENDING_SEQ && !message.alone) head = Math.max(head, message.seq);
    return head;
  }

  get agents() {
    const found = new Map();
    for (const each of this.messages.values()) if (each.kind === "agent") found.set(each.name, each);
    return [...found.values()].sort((one, other) => one.name.localeCompare(other.name));
  }

  get talked() {
    for (const each of this.messages.values()) if (each.kind !== "notice") return true;
    return false;
  }
}
