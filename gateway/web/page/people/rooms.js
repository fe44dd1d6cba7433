/** Rooms and their people: to whom one can write, who is in a room, what can be done with it. */

import { confirmed } from "../acts.js";
import { avatar, el, icon, lookKey, toast } from "../look.js";
import { Room } from "../room.js";
import { settings } from "./notifications.js";

const LOCK = "M6 9V7a4 4 0 0 1 8 0v2M5 9h10v7H5z";

/** The sign before a room's name in lists. */
export function signOf({ kind }) {
  if (kind === "private") return el("span", { class: "sign", title: "Private" }, icon(LOCK));
  return el("span", { class: "sign", "aria-hidden": "true", "data-sign": kind === "direct" ? "@" : "#" });
}

/** The id that the gateway gives a room of this name. */
export const slugOf = (name) => [...name.toLowerCase()].slice(0, 40).join("").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");

export const titleOf = (room) => (room.title ?? room.id);

export class Rooms {
  /** `chat` has `room`, `rooms`, `me` and `connection`. */
  constructor(chat) {
    this.chat = chat;
    document.getElementById("write-to").addEventListener("click", () => this.writeTo());
    document.getElementById("room-people").addEventListener("click", () => this.send({ t: "members", room: chat.room.id }));
    document.getElementById("archived").querySelector("button").addEventListener("click", () => this.archive(false));
  }

  get here() {
    return this.chat.rooms.find((room) => room.id === this.chat.room.id) ?? { id: this.chat.room.id };
  }

  send(frame) {
    const sent = this.chat.connection.send(frame);
    if (!sent) toast("Not connected. Try again in a moment.");
    return sent;
  }

  /** Show what is known of the open room. */
  showHead() {
    const room = this.here;
    const name = document.getElementById("room-name");
    name.replaceChildren(signOf(room), titleOf(room));
    document.getElementById("archived").hidden = !room.archived;
    document.body.classList.toggle("in-archive", Boolean(room.archived));
    document.body.classList.toggle("in-private", room.kind === "private");
    document.body.classList.toggle("in-direct", Boolean(room.with));
  }

  async archive(archived) {
    const { id: room } = this.chat.room; // the way back may lead into another one while somebody is asked
    const text = "Nobody writes in it any more, and it leaves the lists. What was said stays, and you can restore it.";
    if (archived && !(await confirmed("Archive this room?", text, "Archive"))) return;
    this.send({ t: "archive", room, archived });
  }

  // Writing to somebody

  writeTo() {
    this.chat.sidebar.toggle(false);
    const title = el("input", { maxlength: 80, required: true, placeholder: "Name of a private room", "aria-label": "Name of a private room" });
    const make = el("form", { class: "make" }, title, el("button", { type: "submit", class: "plain" }, "Make it"));
    const found = finder((one) => {
      if (this.send(one.frame)) dialog.close();
    });
    const dialog = panel("Write to somebody alone", found.element, el("h2", {}, "Or with several"), el("p", {}, "Only people whom you invite see a private room."), make);
    make.addEventListener("submit", (event) => {
      event.preventDefault();
      if (title.value.trim() && this.send({ t: "private", name: title.value })) dialog.close();
    });
    this.choose = ({ people, agents }) => found.show([
      ...agents.map((name) => ({ name, kind: "agent", frame: { t: "direct", agent: name } })),
      ...people.map(({ id, name }) => ({ name, kind: "person", id, frame: { t: "direct", person: id } })),
    ]);
    this.send({ t: "people" });
  }

  directory(frame) {
    Room.everybody = frame.people;
    Room.answering = frame.agents;
    this.chat.learnNames();
    for (const { composer } of [this.chat.main, this.chat.side]) if (document.activeElement === composer.input) composer.suggestions.update(false);
    this.choose?.(frame);
    this.choose = null;
  }

  // The people of a room

  members({ room, kind, may, people }) {
    if (room !== this.chat.room.id) return;
    this.panel?.close();
    const here = this.here;
    const { agents } = this.chat.room;
    const list = el("ul", { class: "members", tabindex: "0", "aria-label": "People and agents" }, ...people.map((person) => memberRow(person, this.chat.me.id)), ...agents.map(agentRow));
    const acts = el("div", { class: "room-acts" });
    const act = (text, run, danger) => {
      const button = el("button", { type: "button", class: danger ? "plain danger-text" : "plain" }, text);
      button.addEventListener("click", () => {
        this.panel.close();
        run();
      });
      acts.append(button);
    };
    if (kind === "private") act("Invite somebody", () => this.invite(people));
    if (may) act("Rename", () => this.rename());
    if (may) act(here.archived ? "Restore" : "Archive", () => this.archive(!here.archived));
    act("Save as Markdown", () => this.chat.saved.save("md"));
    act("Save as JSON", () => this.chat.saved.save("json"));
    if (kind !== "direct" && room !== "lobby") act("Leave", () => this.send({ t: "leave", room }), true);
    const count = people.filter((person) => person.here).length;
    const line = `${people.length} ${people.length === 1 ? "person" : "people"}, ${count} here now${kind === "open" ? ". Everybody can come." : ""}`;
    this.panel = panel(titleOf(here), el("p", {}, line), list, acts, settings(room, kind));
  }

  invite(members) {
    const inside = new Set(members.map((person) => person.id));
    const { id: room } = this.chat.room;
    const found = finder((one) => {
      one.done = this.send({ t: "invite", room, person: one.id });
      found.again();
    });
    panel("Invite somebody", found.element);
    this.choose = ({ people }) => found.show(people.filter((person) => !inside.has(person.id)).map(({ id, name }) => ({ id, name, kind: "person" })));
    this.send({ t: "people" });
  }

  rename() {
    const { id: room } = this.chat.room;
    const input = el("input", { maxlength: 80, required: true, "aria-label": "The room's name", value: titleOf(this.here) });
    const form = el("form", { class: "make" }, input, el("button", { type: "submit", class: "plain" }, "Rename"));
    const dialog = panel("Rename this room", el("p", {}, "Links to it stay the same."), form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.send({ t: "title", room, title: input.value })) dialog.close();
    });
    input.select();
  }
}

function memberRow({ id, name, here }, me) {
  const state = here ? el("span", { class: "here" }, "here") : null;
  return el("li", {}, avatar(name, "person", id), el("span", { class: "name" }, name, id === me ? " (you)" : ""), state);
}

function agentRow({ by, name }) {
  return el("li", {}, avatar(name, "agent", lookKey(by, name, "agent")), el("span", { class: "name" }, name), el("span", { class: "tag" }, "agent"));
}

/**
 * A list that is narrowed by typing; `take` gets the chosen one, or on Enter the first one. It stands before the
 * server has answered, so that a hurried person's keys go into it; an early Enter is kept until `show`. `again` is for
 * the next one.
 */
function finder(take) {
  const filter = el("input", { placeholder: "Find somebody", "aria-label": "Find somebody", autocomplete: "off", autofocus: true });
  const list = el("ul", { class: "members" });
  let everybody = null;
  let entered = false;
  const draw = () => {
    const typed = filter.value.trim().toLowerCase();
    const found = (everybody ?? []).filter((one) => one.name.toLowerCase().includes(typed)).slice(0, 100);
    list.replaceChildren(...found.map((one) => {
      const tag = one.kind === "agent" || one.done ? el("span", { class: "tag" }, one.done ? "invited" : "agent") : null;
      const button = el("button", { type: "button", disabled: Boolean(one.done) }, avatar(one.name, one.kind, lookKey(one.id, one.name, one.kind)), el("span", { class: "name" }, one.name), tag);
      button.addEventListener("click", () => take(one));
      return el("li", {}, button);
    }));
    if (everybody && !found.length) list.append(el("li", { class: "none" }, "Nobody."));
  };
  const first = () => filter.value.trim() && list.querySelector("button:enabled")?.click();
  filter.addEventListener("input", () => {
    entered = false;
    draw();
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    entered = !everybody;
    first();
  });
  const show = (all) => {
    everybody = all;
    draw();
    if (entered) first();
  };
  const again = () => {
    filter.value = "";
    draw();
    filter.focus();
  };
  return { element: el("div", {}, filter, list), show, again };
}

function panel(title, ...parts) {
  const close = el("button", { type: "button", class: "icon", "aria-label": "Close" }, icon("M5 5l10 10M15 5L5 15"));
  const dialog = el("dialog", { class: "panel", "aria-labelledby": "panel-title" }, el("header", {}, el("h1", { id: "panel-title" }, title), close), ...parts);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
