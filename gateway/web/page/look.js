/** The look of people, agents and times: small pure functions and DOM helpers. */

/** A new element: `el("button", {class: "x", type: "button"}, "text", child…)`. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

/** A part of the address; one that somebody typed with a lone % counts as it stands. */
export function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** An icon drawn as lines on a 20 × 20 grid. */
export function icon(path) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

export const ICONS = {
  more: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  reply: "M8 5L4 9l4 4M4 9h7a5 5 0 0 1 5 5v1",
  copy: "M7 7V4h9v9h-3M4 7h9v9H4z",
  select: "M7 3q3 0 3 2v10q0 2-3 2M13 3q-3 0-3 2M10 15q0 2 3 2",
  send: "M10 16V4M5 9l5-5 5 5",
  down: "M10 4v12M5 11l5 5 5-5",
  close: "M5 5l10 10M15 5L5 15",
  clip: "M15 9l-5.5 5.5a3.2 3.2 0 0 1-4.6-4.6L11 4a2.2 2.2 0 0 1 3 3l-6 6a1 1 0 0 1-1.5-1.4L11.5 6.5",
  mic: "M10 3a2.5 2.5 0 0 1 2.5 2.5v4a2.5 2.5 0 0 1-5 0v-4A2.5 2.5 0 0 1 10 3M5 9.5a5 5 0 0 0 10 0M10 14.5V17",
  file: "M5 3h6l4 4v10H5zM11 3v4h4",
  stop: "M6 6h8v8H6z",
  people: "M7.5 4a2.7 2.7 0 1 1 0 5.4a2.7 2.7 0 0 1 0-5.4M2.5 16q0-4.5 5-4.5t5 4.5M13 4.5a2.5 2.5 0 0 1 0 4.8M14.5 11.8q3 .7 3 4.2",
  smile: "M10 3a7 7 0 1 1 0 14a7 7 0 0 1 0-14M7 12q3 3 6 0M7.5 8v.5M12.5 8v.5",
  thread: "M4 4h12v9H9l-4 3v-3H4z",
  edit: "M4 16l1-4 8-8 3 3-8 8zM11 6l3 3",
  good: "M3 9h3v8H3zM6 9l3-6a2 2 0 0 1 2 2v3h4.5a1.5 1.5 0 0 1 1.5 1.8l-1.2 5.7a2 2 0 0 1-2 1.5H6",
  bad: "M3 11h3V3H3zM6 11l3 6a2 2 0 0 0 2-2v-3h4.5a1.5 1.5 0 0 0 1.5-1.8l-1.2-5.7a2 2 0 0 0-2-1.5H6",
  again: "M16 10a6 6 0 1 1-2-4.5L16 7M16 3v4h-4",
  bin: "M4 6h12M8 6V4h4v2M6 6l1 11h6l1-11",
};

const HUES = 12;
const given = new CSSStyleSheet(); // so that what is drawn already has them, too
document.adoptedStyleSheets.push(given);

/** Give people and agents the hues that they have in the open room, by their keys. */
export function giveHues(hues) {
  given.replaceSync(Object.entries(hues).map(([key, hue]) => `[data-look="${CSS.escape(key)}"] { --hue: ${hue * (360 / HUES)} !important }`).join("\n"));
}

/** The hue, from 0 to 359, of who has none of a room. */
export function hueOf(key) {
  return (hashOf(key) % HUES) * (360 / HUES);
}

/** An element in the hue of somebody. */
export function colored(element, key) {
  element.dataset.look = key;
  element.style.setProperty("--hue", hueOf(key));
  return element;
}

/** A number that is always the same for the same text. */
function hashOf(text) {
  let hash = 2166136261;
  for (const char of text) hash = Math.imul(hash ^ char.codePointAt(0), 16777619);
  hash = Math.imul(hash ^ (hash >>> 16), 2246822507); // so that similar names differ in all bits (Murmur3's finaliser)
  hash = Math.imul(hash ^ (hash >>> 13), 3266489909);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export function initials(name) {
  const words = name.split(/[\s._-]+|(?<=\p{Ll})(?=\p{Lu})/u).filter(Boolean);
  const first = [...(words[0] ?? "?")][0];
  const second = words.length > 1 ? [...words[words.length - 1]][0] : "";
  return (first + second).toUpperCase();
}

/** Whether something of `said` is where `tools` stand when they are at its first line. */
export function isUnder(tools, said) {
  const words = document.createRange();
  const walker = document.createTreeWalker(said, NodeFilter.SHOW_TEXT);
  const parts = [...said.querySelectorAll("pre, table, img, audio, button, a")].map((each) => each.getBoundingClientRect());
  while (walker.nextNode()) {
    words.selectNode(walker.currentNode);
    parts.push(...words.getClientRects());
  }
  const [{ left, right, height }, { top }] = [tools.getBoundingClientRect(), said.getBoundingClientRect()];
  return parts.some((each) => each.width && each.right > left && each.left < right && each.top < top + height - 3);
}

/** A picture of someone: people are round, agents are square. */
export function avatar(name, kind, key) {
  return colored(el("span", { class: `avatar ${kind}`, "aria-hidden": "true" }, initials(name)), key);
}

/** The identity behind someone's picture: an agent's is its name, so that it looks the same in every room. */
export function lookKey(by, name, kind) {
  return kind === "person" ? by : `agent ${name}`;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const fullTime = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const withYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long", year: "numeric" });

export const timeOf = (date) => clock.format(date);
export const fullTimeOf = (date) => fullTime.format(date);

const dayNumber = (date) => Math.floor((date.getTime() - date.getTimezoneOffset() * 60_000) / 86_400_000);
export const sameDay = (one, other) => dayNumber(one) === dayNumber(other);

export function dayOf(date) {
  const now = new Date();
  const ago = dayNumber(now) - dayNumber(date);
  if (ago === 0) return "Today";
  if (ago === 1) return "Yesterday";
  return (date.getFullYear() === now.getFullYear() ? weekday : withYear).format(date);
}

/** Show a short notice for some seconds. */
export function toast(text) {
  const box = document.getElementById("toast");
  box.textContent = text;
  box.hidden = false;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => (box.hidden = true), 6000);
}

export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.classList.add("done");
    button.dataset.said = "Copied";
  } catch {
    button.dataset.said = "Not allowed";
  }
  setTimeout(() => {
    button.classList.remove("done");
    delete button.dataset.said;
  }, 1600);
}
