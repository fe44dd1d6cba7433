/** Formulas: TeX between dollars, or \( \) and \[ \], shown as MathML. The library comes when a page first shows one. */

import { el } from "../look.js";
import { purified } from "./purifying.js";

const MOST_DEPTH = 60;
const MOST_KEPT = 1_000;
const BUDGET_MS = 8;
const BLOCK = /^ {0,3}(?:\$\$((?:(?!\n[ \t]*\n|\$\$)[\s\S]){1,2000})\$\$|\\\[((?:(?!\n[ \t]*\n|\\\])[\s\S]){1,2000})\\\])[ \t]*(?:\n|$)/;
const INLINE = /^(?:\$\$([^\n$]{1,2000})\$\$|\$((?![\s$])(?:\\.|[^\\$\n]){1,2000}?(?<![\s\\]))\$(?![\p{L}\d])|\\\(((?:(?!\\\))[^\n]){1,2000})\\\)|\\\[((?:(?!\\\])[^\n]){1,2000})\\\])/u;
const LIKE_A_FORMULA = /[\\^_=<>+*/|{}]|^-?\d+(?:[.,]\d+)?%?$|^[\p{L}](?:'+|\([^()]*\))?$|^-[\p{L}]$/u;

const RULES = {
  ALLOWED_TAGS: [
    "math", "merror", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom", "mprescripts", "mroot",
    "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover",
  ],
  ALLOWED_ATTR: [
    "accent", "accentunder", "class", "columnspan", "depth", "display", "displaystyle", "fence", "form", "height", "largeop",
    "linethickness", "lspace", "mathvariant", "maxsize", "minsize", "movablelimits", "rowspan", "rspace", "scriptlevel",
    "separator", "stretchy", "symmetric", "voffset", "width",
  ],
  RETURN_DOM_FRAGMENT: true,
};

// One is at most 2,000 characters long.
const found = (type, raw, tex, block) => ({ type, raw, tex: tex.trim(), block });

function inline(src) {
  const match = INLINE.exec(src);
  if (!match) return undefined;
  const [raw, shown, dollars, round, square] = match;
  if (dollars !== undefined && !LIKE_A_FORMULA.test(dollars)) return undefined;
  return found("formula", raw, shown ?? dollars ?? round ?? square, Boolean(shown ?? square));
}

function block(src) {
  const match = BLOCK.exec(src);
  return match ? found("formulaBlock", match[0], match[1] ?? match[2], true) : undefined;
}

function startOf(src, pattern) {
  const at = src.search(pattern);
  return at < 0 ? undefined : at;
}

/** The tokenizers for Marked. A formula that is not finished is text. `write(token)` gives its HTML. */
export function formulaExtensions(write) {
  return [
    { name: "formula", level: "inline", start: (src) => startOf(src, /(?<![\p{L}\d\\$])\$|\\[([]/u), tokenizer: inline, renderer: write },
    { name: "formulaBlock", level: "block", start: (src) => startOf(src, /\n {0,3}(?:\$\$|\\\[)/), tokenizer: block, renderer: (token) => `<p>${write(token)}</p>` },
  ];
}

let temml = null;
let loading = null;
let soon = 0;
const kept = new Map();
const waiting = new Set();

/** Put formulas in the place of their TeX: now if the library is here and there is time, else soon. */
export function drawFormulas(fragment) {
  const places = fragment.querySelectorAll("code.tex");
  if (places.length && temml) drawSome(places);
  else if (places.length) loading ??= load();
}

async function load() {
  try {
    temml = (await import("../vendor/temml.min.js")).default;
    drawSome(document.querySelectorAll("code.tex"));
  } catch (error) {
    console.warn("Formulas cannot be shown", error);
    loading = null;
  }
}

/** Draw what is known, and what is new for as long as a frame has time. */
function drawSome(places) {
  const began = performance.now();
  for (const code of places) {
    if (kept.has(keyOf(code)) || performance.now() - began < BUDGET_MS) draw(code);
    else waiting.add(code);
  }
  if (waiting.size) soon ||= setTimeout(drawWaiting);
}

function drawWaiting() {
  const places = [...waiting].filter((code) => code.isConnected);
  waiting.clear();
  soon = 0;
  drawSome(places);
}

const isBlock = (code) => code.classList.contains("block");
const keyOf = (code) => `${isBlock(code)} ${code.textContent}`;

/** Show one formula; what is none, or too much, stays as it was written. */
function draw(code) {
  const [key, block] = [keyOf(code), isBlock(code)];
  if (!kept.has(key)) {
    if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value);
    kept.set(key, made(code.textContent, block));
  }
  const formula = kept.get(key)?.cloneNode(true);
  if (!formula) return;
  const frame = block
    ? el("span", { class: "formula block", tabindex: "0", role: "group", "aria-label": "Formula" })
    : el("span", { class: "formula" });
  frame.append(formula);
  code.replaceWith(frame);
}

function made(tex, block) {
  try {
    const markup = temml.renderToString(tex, { displayMode: block, throwOnError: true, maxSize: [20, 20], maxExpand: 500 });
    const fragment = purified(markup.replace(/ style="[^"]*"/g, ""), RULES); // which the page's policy forbids
    return depthOf(fragment) > MOST_DEPTH ? null : fragment;
  } catch {
    return null;
  }
}

function depthOf(node) {
  let deepest = 0;
  const stack = [[node, 0]];
  while (stack.length) {
    const [each, depth] = stack.pop();
    deepest = Math.max(deepest, depth);
    for (const child of each.children) stack.push([child, depth + 1]);
  }
  return deepest;
}
