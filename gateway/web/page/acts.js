/** People's acts other than messages, as frames. One that cannot be sent now is reported and not kept. */

import { newId } from "./connecting/keep.js";
import { el, toast } from "./look.js";
import { repeats } from "./room.js";

export class Acts {
  /** `chat` has `connection`, `room`, `saying` and `show(message, count)`. */
  constructor(chat) {
    this.chat = chat;
  }

  send(frame) {
    const sent = this.chat.connection.send({ room: this.chat.room.id, ...frame });
    if (!sent) toast("Not connected. Try again in a moment.");
    return sent;
  }

  change(message, text) {
    return text === (message.written ?? message.text) || this.send({ t: "change", id: message.id, text });
  }

  react(message, mark) {
    this.send({ t: "react", id: message.id, mark });
  }

  press(message, choice) {
    if (!this.send({ t: "press", id: message.id, choice: choice.id })) return;
    message.pressed = choice.id;
    this.chat.show(message, false);
  }

  /** Undo the last exchange, and say again what began it: `question`, null when others have spoken since. */
  askAgain(question) {
    if (!question) return toast("Somebody has said something since. It cannot be answered again.");
    const id = newId();
    if (this.send({ t: "say", id, thread: question.thread, text: "/undo", files: [] })) this.undoing = { id, question, room: this.chat.room };
  }

  /** The gateway says that the exchange is undone. What is said again quotes what it repeats, and takes its place. */
  undone() {
    const { question, room } = this.undoing ?? {};
    this.undoing = null;
    if (!question || room !== this.chat.room) return;
    const { text, thread, quote } = question;
    this.chat.saying.say(text, thread, { quote: quote && !repeats(question) ? quote : question });
  }

  stop(thread) {
    this.send({ t: "stop", thread });
  }

  async remove(message) {
    if (await confirmed("Delete this message?", "Everybody here will see that it was deleted.", "Delete")) {
      this.send({ t: "take_back", id: message.id });
    }
  }
}

/** Ask before an act that changes something for everybody. */
export function confirmed(question, text, yes) {
  const dialog = el("dialog", { class: "confirm", "aria-labelledby": "confirm-title" });
  const no = el("button", { value: "", class: "plain", autofocus: true }, "Cancel");
  const sure = el("button", { value: "yes", class: "primary danger" }, yes);
  dialog.append(
    el("form", { method: "dialog" }, el("h1", { id: "confirm-title" }, question), el("p", {}, text), el("div", { class: "buttons" }, no, sure)),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

/** Offer files that are dropped on an element to `take`. */
export function acceptDrops(place, take) {
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  place.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    place.classList.add("dropping");
  });
  place.addEventListener("dragleave", (event) => {
    if (!place.contains(event.relatedTarget)) place.classList.remove("dropping");
  });
  place.addEventListener("drop", (event) => {
    place.classList.remove("dropping");
    if (!hasFiles(event)) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  });
}
