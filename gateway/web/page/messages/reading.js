/** How a text is read besides GitHub's Markdown, as on the other platforms: addresses, labelled links, simple tags, sums. */

import cjkFriendly from "../vendor/marked-cjk-friendly.js";

const NONE = String.raw`\s<>()\[\]"` + "`" + String.raw`|\\\p{Cc}\u200b\ufeff\u201c\u201d\u2018\u2019\u2026\u3001-\u3003\u3008-\u3011\u3014-\u301f\u30fb\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3d\uff5b-\uff65`;
const END = "?!.,:;*_~'";
const INSIDE = `(?:(?:(?!\\*\\*|~~)[${END}]){0,99}[^${NONE}${END}])`;
const ROUND = `\\((?:${INSIDE}|\\([^${NONE}]*\\))*\\)`;
const ADDRESS = new RegExp(`^https?://(?=[\\p{L}\\p{N}\\[])(?:${INSIDE}|[${END}]{0,99}(?:${ROUND}|\\[[^${NONE}]*\\])|/)*`, "iu");
const LABELLED = /^<((?:https?:\/\/|mailto:|tel:)[^\s<>|]+)\|([^<>|\n]+)>/;
const TAG = /^<(b|strong|i|em|s|del|strike|code|a)(?:[ \t]+href=(?:"([^"<>]*)"|'([^'<>]*)'))?[ \t]*>([^]{1,2000}?)<\/\1[ \t]*>/i;
const MEANING = { b: "strong", strong: "strong", i: "em", em: "em", s: "del", del: "del", strike: "del" };

const link = (raw, href, text) => ({ type: "link", raw, href, text, tokens: [{ type: "text", raw: text, text }] });
const unescaped = (text) => text.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

function sign(src, before) {
  const run = /^\*+/.exec(src)?.[0] ?? "";
  const around = before + src.charAt(run.length);
  const isSign = run && (run.length > 1 ? /^\d\d$/ : /^(?:\d[a-z\d]|[a-z]\d)$/i).test(around);
  return isSign ? { type: "text", raw: run, text: run } : false;
}

const tokenizer = {
  url(src) {
    const found = ADDRESS.exec(src);
    return found ? link(found[0], found[0], found[0]) : false;
  },
  emStrong: (src, masked, before = "") => sign(src, before),
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
    if (name === "code") return { type: "codespan", raw, text: unescaped(text) };
    const tokens = this.lexer.inlineTokens(text);
    return href ? { type: "link", raw, href: unescaped(href), text, tokens } : { type: MEANING[name], raw, text, tokens };
  },
};

/** What Marked uses, in this order. */
export const readings = [cjkFriendly(), { tokenizer }, { extensions: [labelled, tag] }];
