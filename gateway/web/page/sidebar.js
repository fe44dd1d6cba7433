/** The list of rooms, the switcher (Ctrl+K), the people in the room, and the drawer for all of these on a phone. */

import { avatar, el, lookKey } from "./look.js";
import { signOf, slugOf, titleOf } from "./people/rooms.js";

const byId = (id) => document.getElementById(id);
const FACES = 5;
const PHONE = matchMedia("(max-width: 720px)");

export class Sidebar {
  /** `on` has `go(room)`, `open(name)` and `rename()`. */
  constructor(on) {
    this.on = on;
    this.rooms = [];
    this.switcher = new Switcher(on);
    byId("new-room").addEventListener("submit", (event) => {
      event.preventDefault();
      const input = byId("new-room-name");
      if (!input.value.trim()) return;
      on.open(input.value);
      input.value = "";
      this.toggle(false);
    });
    byId("me").addEventListener("click", () => on.rename());
    byId("switch-room").addEventListener("click", () => this.switch());
    byId("menu").addEventListener("click", () => this.toggle(true));
    byId("shade").addEventListener("click", () => this.toggle(false));
    document.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
        event.preventDefault();
        this.switch();
      }
    });
  }

  switch() {
    this.toggle(false);
    this.switcher.show(this.rooms);
  }

  get isOpen() {
    return document.body.classList.contains("drawer");
  }

  toggle(open) {
    document.body.classList.toggle("drawer", open);
    byId("menu").setAttribute("aria-expanded", String(open));
    if (open) byId("rooms").querySelector("button")?.focus();
  }

  /** `rooms` is [{id, unread, title?, kind?, archived?}] in order. */
  show(rooms, current) {
    this.rooms = rooms;
    const listed = rooms.filter((room) => !room.archived || room.id === current);
    const list = byId("rooms");
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.room : null;
    const items = listed.map((room) => this.item(room, room.id === current));
    const at = listed.findIndex((room) => room.kind === "direct");
    if (at >= 0) items.splice(at, 0, el("li", { class: "group" }, el("h2", {}, "Direct messages")));
    list.replaceChildren(...items);
    if (focused) [...list.querySelectorAll("button")].find((button) => button.dataset.room === focused)?.focus();
    byId("menu-dot").hidden = !rooms.some((room) => room.unread && room.id !== current);
  }

  item(room, current) {
    const { id, unread } = room;
    const many = unread > 99 ? "99+" : String(unread);
    const badge = unread ? el("span", { class: "badge", "aria-label": `${many} unread` }, many) : null;
    const name = el("span", { class: "name" }, titleOf(room));
    const here = room.online ? el("span", { class: "online", role: "img", "aria-label": "online", title: "Online" }) : null;
    const button = el("button", { type: "button", "data-room": id, "aria-current": current ? "page" : null, class: unread ? "unread" : null }, signOf(room), name, here, badge);
    button.addEventListener("click", () => {
      this.on.go(id);
      this.toggle(false);
    });
    return el("li", {}, button);
  }

  showMe({ id, name }) {
    byId("me").replaceChildren(avatar(name, "person", id), el("span", { class: "name" }, name), el("span", { class: "change" }, "Account"));
  }
}

class Switcher {
  constructor(on) {
    this.on = on;
    this.dialog = byId("switcher");
    this.filter = byId("switcher-filter");
    this.list = byId("switcher-list");
    this.filter.addEventListener("input", () => this.draw());
    this.filter.addEventListener("keydown", (event) => this.key(event));
    this.dialog.addEventListener("click", (event) => event.target === this.dialog && this.dialog.close());
  }

  show(rooms) {
    this.rooms = rooms;
    this.filter.value = "";
    this.draw();
    if (!this.dialog.open) this.dialog.showModal();
    this.filter.focus();
  }

  draw() {
    const typed = this.filter.value.trim().toLowerCase();
    const slug = slugOf(typed);
    const fits = (room) => (slug && room.id.includes(slug)) || titleOf(room).toLowerCase().includes(typed);
    this.choices = this.rooms.filter(fits).map((room) => ({ room: room.id, label: `${titleOf(room)}${room.archived ? " (archived)" : ""}`, sign: signOf(room) }));
    if (slug && !this.rooms.some((room) => room.id === slug)) this.choices.push({ open: this.filter.value.trim(), slug });
    this.at = 0;
    const items = this.choices.map((choice, index) => {
      const label = choice.room ? [choice.sign, ` ${choice.label}`] : [`Make a new room, # ${choice.slug}, that everybody sees`];
      const item = el("li", { role: "option", id: `choice-${index}` }, ...label);
      item.addEventListener("click", () => this.choose(choice));
      return item;
    });
    this.list.replaceChildren(...items);
    this.mark();
  }

  mark() {
    [...this.list.children].forEach((item, index) => item.setAttribute("aria-selected", String(index === this.at)));
    this.filter.setAttribute("aria-activedescendant", `choice-${this.at}`);
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const count = this.choices.length || 1;
      this.at = (this.at + (event.key === "ArrowDown" ? 1 : -1) + count) % count;
      this.mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (this.choices[this.at]) this.choose(this.choices[this.at]);
    }
  }

  choose(choice) {
    this.dialog.close();
    if (choice.room) this.on.go(choice.room);
    else this.on.open(choice.open);
  }
}

/** Show the people who look at the room; of a room of two, whether the other is in the chat. */
export function showPresence({ people, present, agents }, room, online) {
  const faces = [
    ...agents.map((agent) => ({ name: agent.name, kind: "agent", key: lookKey(agent.by, agent.name, "agent") })),
    ...people.map((person) => ({ name: person.name, kind: "person", key: person.id })),
  ];
  const names = people.map(({ name }) => name).join(", ");
  const unnamed = present - people.length;
  const all = unnamed > 0 ? `${names} and ${unnamed} more` : names;
  const word = present === 1 ? "person" : "people";
  const box = byId("presence");
  const shown = PHONE.matches ? 2 : FACES;
  const pictures = faces.slice(0, shown).map((face) => avatar(face.name, face.kind, face.key));
  const others = faces.length + unnamed - pictures.length;
  const more = others > 0 ? el("span", { class: "more" }, `+${others}`) : null;
  const other = online.has(room.with) ? `${titleOf(room)} is online` : `${titleOf(room)} is not online`;
  const count = el("span", { class: "count" }, room.with ? other : `${present} here`);
  box.replaceChildren(el("span", { class: "faces" }, ...pictures, more), count);
  box.title = agents.length ? `Here: ${all}\nAgents: ${agents.map((agent) => agent.name).join(", ")}` : `Here: ${all}`;
  box.setAttribute("aria-label", `${present} ${word} here: ${all}`);
  box.setAttribute("role", "status");
}
