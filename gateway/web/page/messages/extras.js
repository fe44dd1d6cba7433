/** The parts of a message besides its text: the answered message, files, choices, and people's reactions. */

import { el, icon, ICONS } from "../look.js";
import { plainText } from "./markdown.js";
import { showPicture } from "./viewer.js";

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const SOUNDS = new Set(["audio/ogg", "audio/mpeg", "audio/mp4", "audio/wav", "audio/webm"]);
const UNITS = ["bytes", "KiB", "MiB", "GiB"];

/** A size for people: 1.4 MiB. */
export function sizeText(bytes) {
  if (bytes == null) return "";
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

/** The answered message, shortened; a press shows it in full. */
export function drawQuote(quote, jump) {
  const name = el("span", { class: "quote-name" }, quote.name);
  const text = plainText(quote.text) || "…";
  const button = el("button", { type: "button", class: "quoted", dir: "auto" }, name, " ", text);
  button.setAttribute("aria-label", `In reply to ${quote.name}: ${text}`);
  button.addEventListener("click", () => jump?.(quote.id));
  return button;
}

/** The message's files: links that save them, visible pictures, and players for sounds. `around()` are the files of all
 * messages, among which the pictures are turned over. */
export function drawFiles(files, around) {
  const items = files.filter((file) => /^[0-9a-f]{64}$/.test(file.id)).map((file) => drawFile(file, around));
  return el("ul", { class: "files", "aria-label": "Files" }, ...items);
}

/** The address of a file. */
const addressOf = ({ id, name }) => `/files/${id}?name=${encodeURIComponent(name)}`;

function drawFile(file, around) {
  const { name, type, size, alt } = file;
  const href = addressOf(file);
  const picture = PICTURES.has(type);
  const title = picture ? `Show ${name}` : `Save ${name}`;
  const link = el("a", { href, download: name, class: picture ? "picture" : "file", title });
  const asFile = () => {
    link.className = "file";
    link.replaceChildren(icon(ICONS.file), el("span", { class: "file-name" }, name), el("span", { class: "file-size" }, sizeText(size)));
  };
  if (picture) {
    const img = el("img", { src: href, alt: alt || name, loading: "lazy" });
    img.addEventListener("error", () => {
      asFile();
      link.title = `Save ${name}, which is damaged`;
      link.append(el("span", { class: "file-size" }, "damaged"));
    });
    link.append(img);
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || !img.isConnected) return;
      event.preventDefault();
      const pictures = around().filter((each) => PICTURES.has(each.type));
      const shown = pictures.map((each) => ({ href: addressOf(each), name: each.name, alt: each.alt || each.name }));
      showPicture(shown, Math.max(0, pictures.indexOf(file)), link);
    });
  } else asFile();
  if (!SOUNDS.has(type)) return el("li", {}, link);
  return el("li", {}, el("audio", { src: href, controls: true, preload: "none", "aria-label": name }), link);
}

/** The choices of a question. */
export function drawChoices(message, press) {
  const buttons = message.choices.map((choice) => {
    const chosen = message.pressed === choice.id;
    const disabled = Boolean(message.pressed);
    const button = el("button", { type: "button", class: "choice", disabled, "aria-pressed": chosen ? "true" : null }, choice.label);
    button.addEventListener("click", () => press?.(message, choice));
    return button;
  });
  return el("div", { class: "choices", role: "group", "aria-label": "Answers" }, ...buttons);
}

const OURS = "parley";
const SIGNS = { "⏳": "Waits until the agent has time", "⏹️": "Stopped: nobody answers it", "⚠️": "It could not be answered" }; // its answer says that it was seen

/** The reactions to a message with their counts; a press adds or removes the reader's own. What the gateway says of it
 * is a sign. */
export function drawReactions(message, me, react) {
  const signs = message.reactions.filter(({ mark, by }) => by[0].id === OURS && mark in SIGNS).map(({ mark }) => el("span", { class: "sign-of-ours", role: "img", title: SIGNS[mark], "aria-label": SIGNS[mark] }, mark));
  const given = message.reactions.map(({ mark, by }) => ({ mark, by: by.filter(({ id }) => id !== OURS) })).filter(({ by }) => by.length);
  const chips = given.map(({ mark, by }) => {
    const mine = by.some((person) => person.id === me);
    const names = by.map(({ name }) => name).join(", ");
    const chip = el("button", { type: "button", class: "reaction", "aria-pressed": String(mine), title: names }, `${mark} `, el("span", {}, String(by.length)));
    chip.setAttribute("aria-label", `${mark} by ${names}`);
    chip.addEventListener("click", () => react?.(message, mine ? "" : mark));
    return chip;
  });
  return el("div", { class: "reactions", role: "group", "aria-label": "Reactions", "aria-live": "off" }, ...signs, ...chips);
}

/** The picker for reactions. `done(mark)` gets the chosen one, or null. */
export function drawPicker(marks, done) {
  const buttons = marks.map((mark) => {
    const button = el("button", { type: "button", class: "mark", "aria-label": `React with ${mark}` }, mark);
    button.addEventListener("click", () => done(mark));
    return button;
  });
  const picker = el("div", { class: "picker", role: "group", "aria-label": "Reactions" }, ...buttons);
  picker.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) buttons[(at + step + buttons.length) % buttons.length].focus();
    else if (event.key === "Escape") done(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return picker;
}
