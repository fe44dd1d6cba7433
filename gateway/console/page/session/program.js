// A program in its author's words, and where in it something happens.

import {get} from "../api.js";
import {html, useEffect, useRef, useState} from "../ui.js";
import {bringIntoView} from "../words.js";

/** The texts of programs by name, and when they were fetched: a program may be loaded again. */
const texts = new Map();
const FRESH_MS = 30_000;

/** What opens a file at a line in VS Code, where the browser is on the machine that has the program. */
const editorLink = (path, line) => `vscode://file${encodeURI(path.startsWith("/") ? path : `/${path}`)}:${line}`;

/** The program of this name with its texts, null where it is not served; `same` changes when it is loaded again. */
export function useProgram(name, same) {
  const [program, setProgram] = useState(texts.get(name)?.program ?? null);
  useEffect(() => {
    const kept = texts.get(name);
    setProgram(kept?.program ?? null);
    if (!name || (kept && Date.now() - kept.at < FRESH_MS)) return;
    get(`/bus/v1/programs/${encodeURIComponent(name)}`).then((found) => {
      texts.set(name, {program: found, at: Date.now()});
      setProgram(found);
    }, () => setProgram(null));
  }, [name, same]);
  return program;
}

/** Where a step stands, for people; an earlier version of the program has no lines. */
export const lineOf = ({file, line}) => (line ? `${file}, line ${line}` : "in an earlier version of the program");

/** The place of the step that says exactly these words, with values in their places; undefined where none does. */
export function exactPlace(program, text) {
  const means = (line) => {
    const [, quoted] = /^\s*(?:(?:[-*+]|\d+[.)])\s+)?(?:Say|Tell)\b[^"]*"(.+)"/i.exec(line) ?? [];
    const literal = quoted?.split(/\{[^}]*\}|\$\w+/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return literal?.join("") && new RegExp(`^${literal.join("[^]+")}$`).test(text.trim());
  };
  return program?.files.flatMap(({name, text: all}) => all.split("\n").map((line, at) => means(line) && {file: name, line: at + 1})).find(Boolean);
}

/** What an author wrote at a place, without its bullet: the line, and those that continue it. */
export function written(program, place) {
  const lines = program?.files.find((one) => one.name === place?.file)?.text.split("\n") ?? [];
  const first = lines[(place?.line ?? 0) - 1];
  if (first === undefined || !place.step) return place?.text ?? "";
  const found = [first.replace(/^\s*(?:[-*+]|\d+[.)])\s+/, "")];
  for (const line of lines.slice(place.line)) {
    if (!/^\s+\S/.test(line) || /^\s*(?:[-*+#]|\d+[.)])\s/.test(line)) break;
    found.push(line.trim());
  }
  return found.join(" ");
}

/** The innermost line of Python of a failure, such as `shop.pb:31 in Ship`. */
function failedAt(here) {
  const found = /^(.+):(\d+) in /.exec(here?.lines?.at(-1) ?? "");
  return found && {file: found[1].split("/").at(-1), line: Number(found[2])};
}

/** The program as its author wrote it, with the step that runs, and the line of Python that failed. */
export function Program({name, program, here, same}) {
  const box = useRef(null);
  const failed = same && failedAt(here);
  useEffect(() => {
    bringIntoView(box.current, box.current?.querySelector(".line-failed") ?? box.current?.querySelector(".step-here"));
  }, [program, here?.file, here?.line, failed?.line]);
  if (!program) return html`<p class="quiet">The program ${name} is not served here.</p>`;
  const file = program.files.find((one) => one.name === (failed ?? here)?.file) ?? program.files[0];
  if (!file) return null;
  const isIn = (place, number) => place?.file === file.name && place.line === number + 1;
  return html`
    <div class="card">
      <h3>${file.name}${file.path && html` <a class="path" href=${editorLink(file.path, here?.file === file.name ? here.line : 1)}>Open in the editor</a>`}${same ? "" : html` <small class="bad">has changed since: this is how it is now</small>`}</h3>
      <pre class="program" ref=${box} tabindex="0" role="region" aria-label="Program">${file.text.split("\n").map((line, number) => html`
        <span key=${number} class=${isIn(failed, number) ? "line-failed" : isIn(here, number) ? "step-here" : ""} title=${isIn(failed, number) ? "It failed here." : null}
          aria-current=${isIn(here, number) ? "step" : null}><i>${number + 1}</i>${line}${"\n"}</span>`)}</pre>
    </div>`;
}
