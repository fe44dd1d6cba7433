/** Logging in: asks for a name, and for the chat's password if it has one. */

import { toast } from "../look.js";
import { forgetAll } from "./keep.js";
import { learnStanding } from "../messages/standing.js";
import { join, shut, takeLink } from "../people/joining.js";
import { addDevice, offerInviting } from "../people/links.js";
import { end, renew, settings } from "../people/notifications.js";

const ASK_AGAIN_MS = 2000;
const dialog = document.getElementById("login");
const form = document.getElementById("login-form");
const nameInput = document.getElementById("login-name");
const passwordRow = document.getElementById("login-password-row");
const passwordInput = document.getElementById("login-password");
const errorBox = document.getElementById("login-error");
const cancel = document.getElementById("login-cancel");
const leave = document.getElementById("log-out");
const devices = document.getElementById("login-links");
let way = "password";
let link = takeLink();

/** The person of this browser, or null; asks until the gateway answers. */
export async function whoAmI() {
  const session = await askSession();
  await learnStanding(session);
  way = session.login ?? "password";
  offerInviting(document.getElementById("invite-people"), session.may_invite);
  if (session.person) renew().catch(() => {});
  passwordRow.hidden = !session.need_password || Boolean(session.person);
  return session.person;
}

async function askSession() {
  for (;;) {
    try {
      const response = await fetch("/session", { headers: { accept: "application/json" } });
      if (response.ok) return await response.json();
    } catch {
      // Not reachable yet: say so below and ask again.
    }
    toast("The gateway cannot be reached. Trying again…");
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
}

/** Ask for a name; null when a known person cancels. */
export async function askName(known) {
  if (way === "invite" && !known) {
    const person = await join(link);
    link = null;
    await whoAmI();
    return person;
  }
  if (way === "proxy" && !known) return nameOfProxy();
  return askForm(known);
}

/** The proxy in front of the chat says who somebody is: there is no name to choose. */
function nameOfProxy() {
  return shut("Who are you?", "The proxy in front of this chat did not say who you are. Log in there, and load this page again.");
}

function askForm(known) {
  document.getElementById("login-title").textContent = known ? "Account and settings" : "Welcome to Parley";
  for (const welcome of form.querySelectorAll("img, h1 + p")) welcome.hidden = Boolean(known);
  form.querySelector(".primary").textContent = known ? "Save" : "Start chatting";
  nameInput.readOnly = way === "proxy";
  document.getElementById("login-settings").hidden = !known;
  dialog.classList.toggle("people", Boolean(known)); // the chat stays visible behind it
  if (known) showSettings();
  cancel.hidden = !known;
  leave.hidden = !known || way === "proxy";
  devices.hidden = way !== "invite" || !known;
  passwordInput.required = !passwordRow.hidden;
  nameInput.value = known?.name ?? "";
  showError("");
  dialog.showModal();
  if (!known) nameInput.select();
  return new Promise((resolve) => {
    const finish = (person) => {
      form.onsubmit = cancel.onclick = dialog.oncancel = null;
      dialog.close();
      resolve(person);
    };
    cancel.onclick = () => finish(null);
    dialog.oncancel = (event) => {
      event.preventDefault();
      if (known) finish(null);
    };
    form.onsubmit = async (event) => {
      event.preventDefault();
      if (known && (nameInput.readOnly || nameInput.value === known.name)) return finish(null);
      const person = await logIn();
      if (person) finish(person);
    };
  });
}

function showSettings() {
  form.elements.theme.value = document.documentElement.dataset.theme;
  document.getElementById("login-notify").replaceChildren(settings());
}

for (const choice of form.elements.theme) {
  choice.addEventListener("change", () => {
    document.documentElement.dataset.theme = choice.value;
    localStorage.setItem("parley-theme", choice.value); // last: storage may be forbidden
  });
}
document.getElementById("add-device").addEventListener("click", addDevice);
document.getElementById("log-out-everywhere").addEventListener("click", () => logOut("/logout?everywhere"));
leave.addEventListener("click", () => logOut("/logout"));

async function logOut(path) {
  try {
    await end().catch(() => {});
    const response = await fetch(path, { method: "POST" });
    if (!response.ok) return showError("The gateway cannot log you out now. Try again in a moment.");
    forgetAll();
    location.reload();
  } catch {
    showError("The gateway cannot be reached. Try again in a moment.");
  }
}

async function logIn() {
  const body = JSON.stringify({ name: nameInput.value, password: passwordInput.value });
  try {
    const response = await fetch("/login", { method: "POST", headers: { "content-type": "application/json" }, body });
    const answer = await response.json();
    if (response.ok) return answer.person;
    showError(answer.error);
  } catch {
    showError("The gateway cannot be reached. Try again in a moment.");
  }
  return null;
}

function showError(text) {
  errorBox.textContent = text;
  errorBox.hidden = !text;
}
