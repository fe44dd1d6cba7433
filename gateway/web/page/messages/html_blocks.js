/** HTML's paragraphs, titles, lists and quotations, which models write, as Markdown, by the rules of the other platforms. */

const MOST_LEVELS = 8;
const NAME = "(?:p|div|center|section|details|summary|h[1-6]|ul|ol|li|hr|blockquote)";
const TAG = `</?${NAME}(?:[ \\t][^<>\\n]*)?/?>`;
const ANY = new RegExp(TAG, "i");
const BEGINS = new RegExp(`^ {0,3}${TAG}`, "i");
const BEGINS_INSIDE = new RegExp(`^[ \\t]*${TAG}`, "i");
const ENDS = new RegExp(`</${NAME}>[ \\t]*$`, "i");
const PIECE = new RegExp(`(\`+)[^\`\\n]*\\1|<(/?)(${NAME})(?:[ \\t][^<>\\n]*)?/?>`, "gi");
const FENCE = /^[ \t]*(`{3,}(?=[^`]*$)|~{3,})/;
const BEFORE = { ul: "  ", ol: "   ", blockquote: "> " };
const SIGNS = { ul: "- ", ol: "1. ", blockquote: "" };

/** The text with Markdown in the place of such tags, outside of code. */
export function htmlAsMarkdown(text) {
  if (!ANY.test(text)) return text;
  const written = new Written();
  let fence = null;
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (!fence && !mark) {
      written.line(line);
      continue;
    }
    written.put(`${line}\n`);
    fence = fence ? (mark?.startsWith(fence) && line.trim() === mark ? null : fence) : mark;
  }
  return written.text();
}

class Written {
  parts = [];
  newlines = 2; // at the end; -1 behind a sign whose words are to come
  around = [];
  signs = [];
  open = [];
  indent = "";
  blank = false;

  text() {
    return this.parts.slice(0, this.newlines < 0 ? -1 : undefined).join("").replace(/\n$/, "");
  }

  line(line) {
    const inside = this.around.length + this.open.length > 0;
    const begins = (inside ? BEGINS_INSIDE : BEGINS).test(line);
    if (this.blank && !begins && !/^(?:$|[ \t])/.test(line)) this.around.length = this.signs.length = 0;
    this.blank = !line.trim();
    if (this.blank && this.open.at(-1) === "p") this.open.pop();
    if (!begins && ((!inside && line.startsWith("    ")) || !ENDS.test(line))) {
      if (this.around.length) this.words(line);
      else this.put(this.open.at(-1) === "p" ? line.trimStart() : line);
      if (this.newlines >= 0) this.put("\n");
      return;
    }
    this.indent = inside ? "" : /^\s*/.exec(line)[0];
    let at = 0;
    for (const found of line.matchAll(PIECE)) {
      if (!found[3]) continue;
      this.words(line.slice(at, found.index));
      this.tag(found[3].toLowerCase(), Boolean(found[2]));
      at = found.index + found[0].length;
    }
    this.words(line.slice(at));
    this.break(1);
    this.indent = "";
  }

  put(text) {
    if (!text) return;
    this.parts.push(text);
    const words = text.replace(/\n+$/, "");
    this.newlines = text.length - words.length + (words ? 0 : Math.max(0, this.newlines));
  }

  words(text) {
    const begins = this.newlines !== 0;
    if (begins && !text.trim()) return;
    if (this.newlines > 0) this.put(this.around.join("") || this.indent);
    this.put(begins ? text.trimStart() : text);
  }

  break(count) {
    if (this.newlines >= 0 && this.newlines < count) this.put("\n".repeat(count - this.newlines));
  }

  begin(sign) {
    this.put(this.around.join("") + sign);
    this.newlines = -1;
  }

  tag(name, closes) {
    if (closes && this.newlines < 0) {
      this.parts.pop();
      this.newlines = 1;
    }
    if (name in BEFORE) {
      if (closes) {
        this.around.pop();
        this.signs.pop();
      }
      this.break(this.signs.length ? 1 : 2);
      if (!closes && this.around.length < MOST_LEVELS) {
        this.around.push(BEFORE[name]);
        this.signs.push(SIGNS[name]);
      }
    } else if (name === "li") {
      this.break(1);
      if (!closes) this.item();
    } else if (name === "hr") {
      this.break(2);
      this.put(`${this.around.join("")}---`);
      this.break(2);
    } else if (name === "summary") {
      this.words(`<${closes ? "/" : ""}b>`);
      if (closes) this.break(2);
    } else {
      this.break(2);
      if (/^h\d/.test(name)) {
        if (!closes) this.begin(`${"#".repeat(Number(name[1]))} `);
      } else if (closes) this.open.pop();
      else this.open.push(name);
    }
  }

  item() {
    const sign = this.signs.at(-1);
    const around = sign ? this.around.pop() : null;
    this.begin(sign || "- ");
    if (around) this.around.push(around);
  }
}
