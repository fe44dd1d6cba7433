/** Markdown as sanitised DOM. Nothing here or elsewhere in the page assigns HTML text to the document. */

import { Marked } from "../vendor/marked.esm.js";
import { copyText, el, icon, ICONS } from "../look.js";
import { drawFormulas, formulaExtensions } from "./formulas.js";
import { purified } from "./purifying.js";
import { readings } from "./reading.js";

const escaped = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escape = (text) => text.replace(/[&<>"]/g, (char) => escaped[char]);

// A remote picture would tell its server who reads this and when, so pictures are links. Raw HTML is shown as it was
// written, but for line breaks, which are common in table cells, and comments, which are not meant to be seen.
const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    image: ({ href, text }) => `<a href="${escape(href)}">${escape(text || href)}</a>`,
    html: ({ text, block }) => {
      if (/^<br\s*\/?>$/i.test(text.trim())) return "<br>";
      const seen = escape(text.replace(/<!--[^]*?-->/g, ""));
      return block ? `<p>${seen.trim().replaceAll("\n", "<br>")}</p>` : seen;
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
  extensions: formulaExtensions(({ tex, block }) => `<code class="tex${block ? " block" : ""}">${escape(tex)}</code>`),
});

marked.use(...readings);

/** The people whose @name is highlighted: ids by name, and the reader's id. Set by the page. */
export const known = { names: new Map(), me: null };

const RULES = {
  ALLOWED_TAGS: [
    "p", "br", "hr", "strong", "em", "b", "i", "s", "del", "code", "pre", "kbd", "sub", "sup", "a", "ul", "ol", "li",
    "blockquote", "table", "thead", "tbody", "tr", "th", "td", "h1", "h2", "h3", "h4", "h5", "h6", "details", "summary",
  ],
  ALLOWED_ATTR: ["href", "title", "start", "align", "class"],
  ADD_URI_SAFE_ATTR: ["align", "start"], // they hold no addresses
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|person:|#)/i,
  RETURN_DOM_FRAGMENT: true,
};

// The cost of formatting can grow faster than the text, because of some marks. So the text is formatted in pieces of
// these lengths, in characters, and a piece with too many marks is shown as written.
const PIECE = 4_000;
const LONGEST_PIECE = 16_000;
const MOST_EMPHASIS = 600;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const NESTED = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){12}/m;

/** The text in pieces that are formatted separately: cut between blocks, else between lines, never in a code fence. */
export function pieces(text) {
  const found = [];
  let start = 0;
  let at = 0;
  let fence = null;
  let between = false;
  while (text.length > PIECE && at < text.length) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline + 1;
    const line = text.slice(at, end).trimEnd();
    const mark = FENCE.exec(line)?.[1];
    const paragraph = between && /^[^\s>|\d*+<[-]/.test(line) && at - start >= PIECE;
    if (!fence && at > start && (paragraph || mark || end - start > LONGEST_PIECE)) {
      found.push(text.slice(start, at));
      start = at;
    }
    const closes = fence && mark?.startsWith(fence) && line.trim() === mark;
    between = closes || line === "";
    fence = closes ? null : fence ?? mark ?? null;
    at = end;
  }
  found.push(text.slice(start));
  return found;
}

function isTooMuch(text) {
  const fence = FENCE.exec(text)?.[1];
  const closed = fence ? text.indexOf(`\n${fence}`, fence.length) : 0;
  const prose = closed < 0 ? "" : text.slice(closed);
  return prose.length > LONGEST_PIECE || (prose.match(/[*_~]|\\[([]/g)?.length ?? 0) > MOST_EMPHASIS || NESTED.test(prose);
}

function sanitised(text) {
  try {
    if (!isTooMuch(text)) return purified(marked.parse(text), RULES);
  } catch (error) {
    console.warn("A text could not be formatted", error);
  }
  const fragment = document.createDocumentFragment();
  fragment.append(el("p", { class: "as-written" }, text));
  return fragment;
}

/** The start of the text as plain words on one line. */
export function plainText(text) {
  return sanitised(text.slice(0, PIECE)).textContent.replace(/\s+/g, " ").trim();
}

/** The text, or one of its pieces, as a document fragment. */
export function render(text) {
  const fragment = sanitised(text);
  for (const link of fragment.querySelectorAll('a[href^="person:"]')) {
    const id = link.getAttribute("href").slice(7);
    link.replaceWith(mention(link.textContent, id));
  }
  if (text.includes("@")) markNames(fragment);
  drawFormulas(fragment);
  for (const pre of fragment.querySelectorAll("pre")) frameCode(pre);
  for (const table of fragment.querySelectorAll("table")) {
    const frame = el("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Table" });
    table.replaceWith(frame);
    frame.append(table);
  }
  return fragment;
}

function mention(text, id) {
  return el("span", { class: id === known.me ? "mention mine" : "mention" }, text);
}

/** Highlight @name in plain words, never in code or links. */
function markNames(fragment) {
  const names = [...known.names.keys()].sort((one, other) => other.length - one.length);
  if (!names.length) return;
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])@(${names.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|")})(?![\\p{L}\\p{N}_])`, "gu");
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  const words = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement?.closest("code, a, .mention")) words.push(walker.currentNode);
  for (const node of words) {
    const parts = [];
    let at = 0;
    for (const found of node.data.matchAll(pattern)) {
      parts.push(node.data.slice(at, found.index), mention(found[0], known.names.get(found[1])));
      at = found.index + found[0].length;
    }
    if (parts.length) node.replaceWith(...parts, node.data.slice(at));
  }
}

function frameCode(pre) {
  const language = /^language-(.+)$/.exec(pre.querySelector("code")?.className ?? "")?.[1] ?? "";
  const copy = el("button", { type: "button", class: "copy", "aria-label": "Copy the code" }, icon(ICONS.copy));
  copy.addEventListener("click", () => copyText(pre.textContent.replace(/\n$/, ""), copy));
  pre.tabIndex = 0;
  const frame = el("div", { class: "code" }, el("div", { class: "code-head" }, el("span", {}, language), copy));
  pre.replaceWith(frame);
  frame.append(pre);
}

/**
 * The position up to which a growing text need not be rendered again: after the last empty line that is outside a code
 * fence and is followed by a plain paragraph, heading or fence. `from` is an earlier position.
 */
export function settledLength(text, from) {
  let cut = from;
  let fence = null;
  let empty = false;
  let at = from;
  while (at < text.length) {
    const end = text.indexOf("\n", at);
    if (end < 0) break;
    const line = text.slice(at, end);
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (empty && !fence && /^[^\s>|\d*+<[-]/.test(line)) cut = at;
    if (mark && !fence) fence = mark;
    else if (mark && mark.startsWith(fence) && line.trim() === mark) fence = null;
    empty = line.trim() === "";
    at = end + 1;
  }
  return cut;
}
