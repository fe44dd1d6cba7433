/** The person's messages, kept until the gateway confirms them. They go out one after another: the next one when the one
 * before it stands in its room or is refused, so that they arrive in the order in which they were written, however many wait. */

import { newId } from "../connecting/keep.js";

const RETRY_MS = 3000;
const ANSWER_WITHIN_MS = 15_000;
const QUOTE_LENGTH = 200;

export class Saying {
  constructor(chat) {
    this.chat = chat;
    this.sent = null; // the id of the message that has no answer yet
    this.toSend = new Set(); // the ids of those that this page sends: other pages of the person have their own
  }

  /** Send the unconfirmed messages again, after a new connection. */
  again() {
    this.toSend = new Set(this.chat.unsent.all().filter(({ failed }) => !failed).map(({ id }) => id));
    this.goOn();
  }

  say(text, thread, { files = [], quote } = {}) {
    const message = { id: newId(), room: this.chat.room.id, thread, text, files, at: new Date().toISOString() };
    if (quote) message.quote = { id: quote.id, name: quote.name, text: quote.text.slice(0, QUOTE_LENGTH) };
    this.chat.unsent.add(message);
    this.toSend.add(message.id);
    this.chat.show(this.chat.room.takeUnsent(message, this.chat.me, this.chat.unsent.all().length), false);
    const { timeline } = thread ? this.chat.side : this.chat.main;
    timeline.toEnd();
    this.next();
    this.chat.settle();
  }

  next() {
    if (this.sent) return;
    const message = this.chat.unsent.all().find(({ id }) => this.toSend.has(id));
    if (!message) return;
    const { id, room, thread, text, quote, files = [] } = message;
    const attached = files.map((file) => ({ id: file.id, name: file.name }));
    if (!this.chat.connection.send({ t: "say", id, room, thread, text, reply_to: quote?.id, files: attached })) return;
    this.sent = id;
    this.timer = setTimeout(() => {
      this.toSend.delete(id); // it is sent again after the next connection, or when it is refused for now
      this.goOn();
    }, ANSWER_WITHIN_MS);
  }

  goOn() {
    clearTimeout(this.timer);
    this.sent = null;
    this.next();
  }

  /** The gateway has taken the message, from this page or another one. */
  taken(id) {
    this.chat.unsent.remove(id);
    this.stands(id);
  }

  /** The message stands in its room: the next one can follow, though this one may not be passed on yet. */
  stands(id) {
    this.toSend.delete(id);
    if (id === this.sent) this.goOn();
  }

  editFailed(message) {
    const { composer } = message.thread ? this.chat.side : this.chat.main;
    composer.value = composer.value ? `${composer.value}\n${message.text}` : message.text;
    this.discard(message.id);
    composer.focus();
  }

  discard(id) {
    this.taken(id);
    this.chat.room.messages.delete(id);
    this.chat.main.timeline.remove(id);
    this.chat.side.timeline.remove(id);
    this.chat.settle();
  }

  /** The gateway could not take the message now: it and those behind it wait. */
  later(id) {
    this.toSend.add(id);
    if (this.sent && id !== this.sent) return; // its turn comes when the one under way is answered
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.goOn(), RETRY_MS);
  }

  /** The gateway refused the message for good. */
  failed(id, text) {
    const kept = this.chat.unsent.find(id);
    if (!kept) return;
    this.taken(id);
    this.chat.unsent.add({ ...kept, failed: text });
    const message = this.chat.room.messages.get(id);
    if (message) this.chat.show(Object.assign(message, { pending: false, failed: text }), false);
  }
}
