/** How a text is read besides GitHub's Markdown, as on the other platforms: addresses, labelled links, simple tags, sums. */

import cjkFriendly from "../vendor/marked-cjk-friendly.js";

const NONE = String.raw`\s<>()\[\]"` + "`" + String.raw`|\\\p{Cc}\u200b\ufeff\u201c\u201d\u2018\u2019\u2026\u3001-\u3003\u3008-\u3011\u3014-\u301f\u30fb\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3d\uff5b-\uff65`;
const END = "?!.,:;*_~'";
const INSIDE = `(?:(?:(?!\\*\\*|~~)[${END}]){0,99}[^${NONE}${END}])`;
const INNER = `\\((?:${INSIDE}|[${END}]{0,99}\\([^${NONE}]*\\))*[${END}]{0,99}\\)`;
const ROUND = `\\((?:${INSIDE}|[${END}]{0,99}${INNER})*[${END}]{0,99}\\)`;
const ADDRESS = new RegExp(`^https?://(?=[\\p{L}\\p{N}\\[])(?:${INSIDE}|[${END}]{0,99}(?:${ROUND}|\\[(?!\\^)[^${NONE}]*\\])|/)*`, "iu");
const LABELLED = /^<((?:https?:\/\/|mailto:|tel:)[^\s<>|]+)\|([^<>\n]+)>/;
const TAG = /^<(b|strong|i|em|u|ins|mark|s|del|strike|sub|sup|code|kbd|samp|a)(?:[ \t]+href=(?:"([^"<>]*)"|'([^'<>]*)'))?[ \t]*>([^]{1,2000}?)<\/\1[ \t]*>/i;
const MEANING = {
  b: "strong", strong: "strong", i: "em", em: "em", u: "em", ins: "em", mark: "em", s: "del", del: "del", strike: "del",
};

const PRODUCT = /(?:^|[^a-z\d_])[a-z]\*[a-z](?:[^a-z]|$)/i;
const PATH = /^[("'[]*(?:(?:[a-z0-9-]+\.)+[a-z]{2,}\/|\.{0,2}\/|~\/)\S*$/i;
const PATH_CHARS = 200; // of a path are looked at before a mark
const DUNDER = /^__[a-z]\w*?__(?=[(/]|\.\w)|^__(?:init|main|name|file|all|doc|dict|class|call|str|repr|len|iter|next|enter|exit|new|del|eq|hash|slots|version|future|pycache)__(?!\w)/;

const link = (raw, href, text) => ({ type: "link", raw, href, text, tokens: [{ type: "text", raw: text, text }] });
const unescaped = (text) => text.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

/** The marks of a sum, a path or one of Python's names, which stand for themselves. */
function sign(src, masked, before) {
  const at = masked.length - src.length;
  const name = DUNDER.exec(src)?.[0];
  if (name && !/[\p{L}\d_*]/u.test(before)) return { type: "text", raw: name, text: name };
  const run = /^(?:\*+|_+)/.exec(src)?.[0] ?? "";
  const after = src.charAt(run.length);
  const isPath = run.startsWith("_") && /[\p{L}\d/]/u.test(after) && PATH.test(masked.slice(Math.max(0, at - PATH_CHARS), at).split(/\s/).at(-1));
  const isProduct = run === "*" && PRODUCT.test(masked.slice(Math.max(0, at - 2), at + 3));
  const around = before + after;
  const isSum = run.startsWith("*") && (run.length > 1 ? /^\d\d$/ : /^(?:\d[a-z\d]|[a-z]\d|\)[a-z\d])$/i).test(around);
  return isPath || isProduct || isSum ? { type: "text", raw: run, text: run } : false;
}

const DEFINITION = /^ {0,3}\[((?:[^\[\]\\]|\\.)+)\]:/;
let source = "";

const tokenizer = {
  /** The target of links. A footnote is shown, and one that no link here uses: the link may be in another message. */
  def(src) {
    const label = DEFINITION.exec(src)?.[1].toLowerCase();
    return label && (label.startsWith("^") || source.split(`[${label}]`, 3).length < 3) ? undefined : false;
  },
  url(src) {
    const found = ADDRESS.exec(src);
    return found ? link(found[0], found[0], found[0]) : false;
  },
  del: (src) => (src.startsWith("~~") ? false : undefined), // one tilde is no mark
  emStrong: (src, masked, before = "") => sign(src, masked, before),
};

const labelled = {
  name: "labelled",
  level: "inline",
  start: (src) => src.match(/<(?:https?:|mailto:|tel:)/)?.index,
  tokenizer(src) {
    const found = LABELLED.exec(src);
    return found ? link(found[0], unescaped(found[1]), unescaped(found[2])) : undefined;
  },
};

const raised = {
  name: "raised",
  renderer: ({ name, text }) => `<${name}>${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</${name}>`,
};

const tag = {
  name: "tag",
  level: "inline",
  start: (src) => src.match(/<[a-z]/i)?.index,
  tokenizer(src) {
    const found = TAG.exec(src);
    const [raw, written, double, single, text] = found ?? [];
    const name = written?.toLowerCase();
    const href = double ?? single;
    if (!found || (name === "a") !== Boolean(href)) return undefined;
    if (name === "sub" || name === "sup") return { type: "raised", raw, name, text: unescaped(text) };
    if (["code", "kbd", "samp"].includes(name)) return { type: "codespan", raw, text: unescaped(text) };
    const tokens = this.lexer.inlineTokens(text);
    return href ? { type: "link", raw, href: unescaped(href), text, tokens } : { type: MEANING[name], raw, text, tokens };
  },
};

function preprocess(text) {
  source = text.toLowerCase();
  return text;
}

/** What Marked uses, in this order. */
export const readings = [cjkFriendly(), { tokenizer, hooks: { preprocess } }, { extensions: [labelled, tag, raised] }];
