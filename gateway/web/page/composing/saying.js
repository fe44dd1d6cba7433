/** The person's messages, kept and sent again until the gateway confirms them. */

import { newId } from "../connecting/keep.js";

const RETRY_MS = 3000;
const QUOTE_LENGTH = 200;

export class Saying {
  constructor(chat) {
    this.chat = chat;
    this.refused = new Set();
  }

  /** Send the unconfirmed messages again, after a new connection. */
  again() {
    this.refused.clear();
    for (const message of this.chat.unsent.all()) if (!message.failed) this.submit(message);
  }

  say(text, thread, { files = [], quote } = {}) {
    const message = { id: newId(), room: this.chat.room.id, thread, text, files, at: new Date().toISOString() };
    if (quote) message.quote = { id: quote.id, name: quote.name, text: quote.text.slice(0, QUOTE_LENGTH) };
    this.chat.unsent.add(message);
    this.chat.show(this.chat.room.takeUnsent(message, this.chat.me, this.chat.unsent.all().length), false);
    const { timeline } = thread ? this.chat.side : this.chat.main;
    timeline.toEnd();
    this.submit(message);
    this.chat.settle();
  }

  submit({ id, room, thread, text, quote, files = [] }) {
    const attached = files.map((file) => ({ id: file.id, name: file.name }));
    this.chat.connection.send({ t: "say", id, room, thread, text, reply_to: quote?.id, files: attached });
  }

  retry() {
    const refused = this.chat.unsent.all().filter((message) => this.refused.has(message.id) && !message.failed);
    this.refused.clear();
    for (const message of refused) this.submit(message);
  }

  editFailed(message) {
    const { composer } = message.thread ? this.chat.side : this.chat.main;
    composer.value = composer.value ? `${composer.value}\n${message.text}` : message.text;
    this.discard(message.id);
    composer.focus();
  }

  discard(id) {
    this.chat.unsent.remove(id);
    this.chat.room.messages.delete(id);
    this.chat.main.timeline.remove(id);
    this.chat.side.timeline.remove(id);
    this.chat.settle();
  }

  /** The gateway could not take the message now. */
  later(id) {
    this.refused.add(id);
    clearTimeout(this.retrying);
    this.retrying = setTimeout(() => this.retry(), RETRY_MS);
  }

  /** The gateway refused the message for good. */
  failed(id, text) {
    const kept = this.chat.unsent.find(id);
    if (!kept) return;
    this.chat.unsent.remove(id);
    this.chat.unsent.add({ ...kept, failed: text });
    const message = this.chat.room.messages.get(id);
    if (message) this.chat.show(Object.assign(message, { pending: false, failed: text }), false);
  }
}
