/** Colours for code. The library comes when a page first shows code in a language that it knows. */

import { purified } from "./purifying.js";

const MOST_CHARACTERS = 10_000; // more takes too long; it is shown without colours
const FILES = {
  bash: ["bash", "console", "sh", "shell", "zsh"],
  cpp: ["c", "c++", "cc", "cpp", "h", "hpp"],
  css: ["css"],
  diff: ["diff", "patch"],
  go: ["go", "golang"],
  ini: ["ini", "toml"],
  java: ["java"],
  javascript: ["javascript", "js", "jsx", "mjs"],
  json: ["json", "json5", "jsonc"],
  python: ["py", "python", "python3"],
  rust: ["rs", "rust"],
  sql: ["postgresql", "sql", "sqlite"],
  typescript: ["ts", "tsx", "typescript"],
  xml: ["html", "svg", "xhtml", "xml"],
  yaml: ["yaml", "yml"],
};
const NAMES = new Map(Object.entries(FILES).flatMap(([file, names]) => names.map((name) => [name, file])));
const RULES = { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true };

const waiting = new Set();
const languages = new Map();

/** Colour the code in an element soon, one block at a time, so that no frame waits for all of them. */
export function colorCode(element) {
  for (const code of element.querySelectorAll('pre > code[class^="language-"]')) {
    const name = code.className.slice("language-".length).toLowerCase();
    if (!NAMES.has(name) || code.childElementCount || code.textContent.length > MOST_CHARACTERS) continue;
    if (!waiting.size) setTimeout(next);
    waiting.add(code);
  }
}

async function next() {
  const [code] = waiting;
  const text = code.textContent;
  const name = NAMES.get(code.className.slice("language-".length).toLowerCase());
  try {
    if (!languages.has(name)) languages.set(name, load(name));
    const library = await languages.get(name);
    const { value } = library.highlight(text, { language: name, ignoreIllegals: true });
    const colored = purified(value, RULES);
    if (code.textContent === text && colored.textContent === text) code.replaceChildren(colored);
  } catch (error) {
    languages.delete(name);
    console.warn("Code could not be coloured", error);
  }
  waiting.delete(code);
  if (waiting.size) setTimeout(next);
}

async function load(name) {
  const [{ default: library }, { default: language }] = await Promise.all([
    import("../vendor/highlight.core.min.js"),
    import(`../vendor/highlight/${name}.min.js`),
  ]);
  library.registerLanguage(name, language);
  return library;
}
