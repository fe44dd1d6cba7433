/** Notifications of this browser, and what each room tells of. */

import { decoded, el } from "../look.js";
import { ask } from "./asking.js";

const CHOICES = [["all", "all messages"], ["mentions", "mentions of you"], ["nothing", "nothing"]];

/** The browser takes a script only from a policy that the page's rules name. */
const script = (url) => globalThis.trustedTypes?.createPolicy("worker", { createScriptURL: () => url }).createScriptURL("") ?? url;
let registered = null;

navigator.serviceWorker?.addEventListener("message", ({ data, ports }) => {
  const room = decoded(location.hash.slice(1).split("/")[0]) || "lobby";
  ports[0]?.postMessage(document.visibilityState === "visible" && document.hasFocus() && data.looksAt === room);
});
navigator.serviceWorker?.startMessages();

export const possible = () => "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

const worker = () => (registered ??= navigator.serviceWorker.register(script("/worker.js"), { scope: "/" }));

async function wishes() {
  try {
    const response = await fetch("/push");
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}

/** Renew what the gateway knows of this browser, where notifications are on: the name and the log-in may have changed. */
export async function renew() {
  if (!possible() || Notification.permission !== "granted") return;
  const subscription = await (await worker()).pushManager.getSubscription();
  if (subscription) await tell(subscription);
}

/** End notifications in this browser: the person logs out. */
export async function end() {
  if (!possible() || !(await navigator.serviceWorker.getRegistration())) return;
  const subscription = await (await worker()).pushManager.getSubscription();
  if (!subscription) return;
  await ask("/push/unsubscribe", { endpoint: subscription.endpoint });
  await subscription.unsubscribe();
}

async function tell(subscription) {
  const { endpoint, keys } = subscription.toJSON();
  return ask("/push/subscribe", { endpoint, p256dh: keys.p256dh, auth: keys.auth });
}

async function begin() {
  if ((await Notification.requestPermission()) !== "granted") return "The browser does not allow notifications from this page.";
  const known = await wishes();
  if (!known) return "The gateway cannot be reached. Try again in a moment.";
  try {
    const options = { userVisibleOnly: true, applicationServerKey: known.key };
    const { error } = await tell(await (await worker()).pushManager.subscribe(options));
    return error ?? "";
  } catch {
    return "This browser's push service cannot be reached.";
  }
}

/** The part of a room's panel that says what it tells of; without a room that of the person's settings. */
export function settings(room, kind) {
  const box = el("fieldset", { class: "notify" }, el("legend", {}, "Notifications"));
  fill(box, room, kind);
  return box;
}

async function fill(box, room, kind) {
  const legend = box.firstElementChild;
  if (!possible()) {
    const why = isSecureContext ? "This browser has none." : "Browsers allow them over https only.";
    return box.replaceChildren(legend, el("p", {}, why));
  }
  const known = await wishes();
  if (!known) return box.replaceChildren(legend, el("p", {}, "The gateway cannot be reached."));
  const registration = await navigator.serviceWorker.getRegistration();
  const subscription = await registration?.pushManager.getSubscription();
  const on = Notification.permission === "granted" && subscription && known.browsers.includes(subscription.endpoint);
  const wrong = el("p", { class: "form-error", role: "alert", hidden: true });
  const turn = el("button", { type: "button", class: "plain turn" }, on ? "Turn off in this browser" : "Turn on in this browser");
  turn.addEventListener("click", async () => {
    turn.disabled = true;
    const error = on ? await end() : await begin();
    if (!error) return fill(box, room, kind);
    turn.disabled = false;
    wrong.textContent = error;
    wrong.hidden = false;
  });
  const chosen = known.choices[room] ?? (kind === "open" ? "mentions" : "all");
  const select = el("select", {}, ...CHOICES.map(([value, text]) => el("option", { value, selected: value === chosen }, text)));
  select.addEventListener("change", () => ask("/push/choose", { room, choice: select.value }));
  if (!room) return box.replaceChildren(legend, turn, wrong);
  const shows = el("input", { type: "checkbox", checked: known.shows });
  shows.addEventListener("change", () => ask("/push/show", { shows: shows.checked ? "yes" : "no" }));
  return box.replaceChildren(
    legend, turn, wrong, el("label", {}, "Notify me about ", select), el("label", {}, shows, " Show the text, in all rooms"),
  );
}
