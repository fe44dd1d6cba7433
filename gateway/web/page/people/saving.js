/** Saving a room: everything that was said in it, as a file that the browser makes. */

import { fullTimeOf, toast } from "../look.js";
import { titleOf } from "./rooms.js";

const MOST_PAGES = 500;
const FORMS = { md: ["text/markdown", asMarkdown], json: ["application/json", asJson] };

export class SavedRoom {
  /** `chat` has `room`, `askOlder()` and `people.here`, whose title the file has. */
  constructor(chat) {
    this.chat = chat;
    this.form = null;
  }

  /** Save the room as "md" or "json", once all of it is loaded. */
  save(form) {
    this.form = form;
    this.room = this.chat.room;
    this.left = MOST_PAGES;
    this.loaded();
  }

  /** Go on after messages were loaded. */
  loaded() {
    const { form, room } = this;
    if (!form) return;
    if (room !== this.chat.room) return this.end("The room was left before all of it was loaded. Nothing was saved.");
    if (room.more && this.left > 0) {
      this.left -= 1;
      if (!this.chat.askOlder()) this.end("Not connected. Try again in a moment.");
      return;
    }
    const messages = [...room.messages.values()].filter((each) => !each.pending && !each.failed && !each.alone && !each.deleted);
    const [type, text] = FORMS[form];
    const title = titleOf(this.chat.people.here ?? room);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text(title, messages.sort((one, other) => one.seq - other.seq))], { type }));
    link.download = `${title}.${form}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    this.end(room.more ? "The newest messages are saved; there are too many for one file." : "");
  }

  end(reason) {
    this.form = null;
    if (reason) toast(reason);
  }
}

function asMarkdown(room, messages) {
  const said = messages.map(({ name, at, text, thread, files }) => {
    const names = (files ?? []).map((file) => `\n\n📎 ${file.name}`).join("");
    return `**${name}**${thread ? ", in a thread" : ""}, ${fullTimeOf(new Date(at))}\n\n${text}${names}\n`;
  });
  return `# ${room}\n\n${said.join("\n---\n\n")}`;
}

function asJson(room, messages) {
  const said = messages.map(({ id, by, name, kind, at, text, thread, quote, files }) => ({ id, by, name, kind, at, text, thread, answers: quote?.id, files: files?.map((file) => file.name) }));
  return JSON.stringify({ room, messages: said }, null, 2);
}
