/** Links for others and for one's own devices: made by the gateway, shown once, to who made them alone. */

import { copyText, el } from "../look.js";
import { ask } from "./asking.js";

const ROLES = [
  ["member", "Member: talks, stops, begins anew"],
  ["guest", "Guest: talks"],
  ["owner", "Owner: everything, also inviting"],
];
const ENDS = [["24", "in a day"], ["72", "in three days"], ["720", "in 30 days"]];

/** Let owners invite somebody. */
export function offerInviting(button, allowed) {
  button.hidden = !allowed;
  button.onclick = invite;
}

function invite() {
  const role = chooser("role", ROLES);
  const hours = chooser("hours", ENDS);
  const fields = [el("label", {}, "May do what", role), el("label", {}, "The link ends", hours)];
  show("Invite somebody", "The link lets one person in, once. Send it so that only they read it.", fields, () =>
    ask("/invite", { role: role.value, hours: hours.value }));
}

/** Make a link for another device of one's own. */
export function addDevice() {
  show("Log in on another device", "Open the link there within 15 minutes. It works once, and logs in as you.", [], () => ask("/device"));
}

const chooser = (name, choices) => el("select", { name }, ...choices.map(([value, text]) => el("option", { value }, text)));

function show(title, text, fields, make) {
  const wrong = el("p", { class: "form-error", role: "alert", hidden: true });
  const address = el("input", { readonly: true, "aria-label": "The link", class: "made-link" });
  const copy = el("button", { type: "button", class: "plain" }, "Copy");
  const made = el("div", { class: "made", hidden: true }, address, copy);
  const close = el("button", { type: "button", class: "plain" }, "Close");
  const button = el("button", { type: "submit", class: "primary" }, "Make a link");
  const form = el(
    "form", {}, el("h1", { id: "link-title" }, title), el("p", {}, text), ...fields, made, wrong, el("div", { class: "buttons" }, close, button),
  );
  const dialog = el("dialog", { class: "login people", "aria-labelledby": "link-title" }, form);
  close.addEventListener("click", () => dialog.close());
  copy.addEventListener("click", () => copyText(address.value, copy));
  address.addEventListener("focus", () => address.select());
  dialog.addEventListener("close", () => dialog.remove());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { data, error } = await make();
    wrong.textContent = error ?? "";
    wrong.hidden = !error;
    made.hidden = !data;
    if (!data) return;
    address.value = `${location.origin}/#invite=${encodeURIComponent(data.link)}`;
    button.textContent = "Make another";
    address.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}
