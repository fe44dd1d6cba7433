/** Coming into a team: by a link, whose secret stands behind `#invite=` in the address, or not at all. */

import { decoded, el } from "../look.js";
import { newId } from "../connecting/keep.js";
import { ask } from "./asking.js";

const IN_ADDRESS = "#invite=";
const ATTEMPT = "parley.attempt";
const ASK_FOR_ONE = "Ask an owner for a link. If you are logged in on another device, make a link for this one there: press your name.";

/** The secret of a link that was followed, which leaves the address; null without one. */
export function takeLink() {
  if (!location.hash.startsWith(IN_ADDRESS)) return null;
  const link = decoded(location.hash.slice(IN_ADDRESS.length));
  history.replaceState(null, "", location.pathname);
  return link;
}

/** Ask a stranger in; returns the person when they are. `link` may be null. */
export async function join(link) {
  const { data: offer, error } = link ? await ask("/invitation", { link }) : { error: "" };
  // Whose answer was lost is known by the attempt, which the browser keeps for the link.
  const kept = JSON.parse(sessionStorage.getItem(ATTEMPT) ?? "null");
  const attempt = kept?.link === link ? kept.attempt : newId();
  if (link) sessionStorage.setItem(ATTEMPT, JSON.stringify({ link, attempt }));
  const again = !offer && kept && kept.link === link ? (await ask("/join", kept)).data : null;
  if (again) return done(again.person);
  return new Promise((resolve) => {
    show(offer ? doorFor(offer, (name) => follow(link, name, attempt), resolve) : closed("This chat is for its team", error || ASK_FOR_ONE));
    window.addEventListener("hashchange", () => location.hash.startsWith(IN_ADDRESS) && location.reload());
  });
}

/** Say for good that somebody cannot come in. */
export function shut(title, text) {
  show(closed(title, text));
  return new Promise(() => {});
}

/** Show a dialog that cannot be passed, and nothing of the chat behind it. */
function show(dialog) {
  const app = document.getElementById("app");
  const open = !app.hidden;
  app.hidden = true;
  document.body.append(dialog);
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  dialog.passed = () => {
    dialog.remove();
    app.hidden = !open;
  };
  dialog.showModal();
}

async function follow(link, name, attempt) {
  const form = { link, name, attempt };
  sessionStorage.setItem(ATTEMPT, JSON.stringify(form));
  return ask("/join", form);
}

function done(person) {
  sessionStorage.removeItem(ATTEMPT);
  return person;
}

const picture = () => el("img", { src: "/assets/icon.svg", alt: "", width: 56, height: 56 });

function doorFor({ role, by, person }, come, resolve) {
  const title = el("h1", { id: "join-title" }, person ? `Welcome back, ${person.name}` : "You are invited");
  const text = person
    ? "This link logs this browser in as you. It works once."
    : `${by} invites you as ${role === "owner" ? "an" : "a"} ${role}. What should the others call you?`;
  const input = el("input", { name: "name", maxlength: 40, required: true, autocomplete: "nickname", enterkeyhint: "go" });
  const wrong = el("p", { class: "form-error", role: "alert", hidden: true });
  const button = el("button", { type: "submit", class: "primary" }, person ? "Log in" : "Join");
  const form = el(
    "form", { autocomplete: "off" }, picture(), title, el("p", {}, text), person ? null : el("label", {}, "Your name", input), wrong,
    el("div", { class: "buttons" }, button),
  );
  const dialog = el("dialog", { class: "login", "aria-labelledby": "join-title" }, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    const { data, error } = await come(input.value);
    button.disabled = false;
    wrong.textContent = error ?? "";
    wrong.hidden = !error;
    if (!data) return input.select();
    dialog.passed();
    resolve(done(data.person));
  });
  return dialog;
}

function closed(title, text) {
  return el("dialog", { class: "login", "aria-labelledby": "join-title" }, picture(), el("h1", { id: "join-title" }, title), el("p", { role: "status" }, text));
}
