// The strip of a session over time: a lane for the people and one for each agent, and a mark for all that happened.
//
// Marks are as far apart as things happened one after the other, not as the clock went: a wait of a night is no wider
// than one of a second.

import {html, useEffect, useLayoutEffect, useMemo, useRef, useState} from "../ui.js";
import {isolated, time} from "../words.js";

const NARROWEST = 16;
const WIDEST = 44;
const LANE = 44;
const SPARE = 40;
const LONGEST = 180; // of words, in pixels
const WITH_WORDS = ["said", "heard", "word", "call", "model"];
const LANES = {people: "People", session: "Parley"};
const NAMES = {
  heard: "heard", said: "said", model: "asked a model", call: "executed", wait: "waited for", step: "came to step",
  trouble: "failed", task: "ordered the task", agent: "began as",
};

/** What a mark is, in a sentence. */
export function sentence(mark, classes) {
  const who = isolated(mark.lane === "people" ? mark.name : LANES[mark.lane] ?? classes.get(mark.lane) ?? mark.lane);
  if (mark.kind === "heard" || mark.kind === "said") return `${who} said: ${isolated(mark.text ?? "")}`;
  if (mark.kind === "word") return `${who} told ${mark.name === "orderer" ? "who has ordered this" : mark.name}: ${isolated(mark.text ?? "")}`;
  if (mark.kind === "model") return `${who} asked a model${mark.text ? `, which answered ${isolated(decided(mark.text))}` : ""}`;
  if (mark.kind === "trouble") return `${who}: ${mark.name}${mark.text ? `, ${mark.text}` : ""}`;
  return `${who} ${NAMES[mark.kind] ?? mark.kind} ${mark.name}`;
}

/** What a model decided, in words where it has answered a question. */
function decided(text) {
  try {
    const {does, values} = JSON.parse(text);
    const named = Object.entries(values ?? {}).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
    return does === "answer" && named.length ? named.join(", ") : text;
  } catch {
    return text;
  }
}

/** The moment that a mark leads to: where it ended, else where it began. */
export const momentOf = (mark) => mark.last ?? mark.first;

export function Strip({marks, at, classes, onMoment, earlier, later}) {
  const box = useRef(null);
  const [view, setView] = useState({left: 0, width: 1000});
  const {columns, lanes, rooms} = useMemo(() => laidOut(marks), [marks]);
  const wide = Math.max(NARROWEST, Math.min(WIDEST, view.width / (columns.length + 2)));
  const width = (columns.length + 2) * wide;
  useLayoutEffect(() => {
    const measure = () => setView({left: box.current.scrollLeft, width: box.current.clientWidth});
    const watcher = new ResizeObserver(measure);
    watcher.observe(box.current);
    measure();
    return () => watcher.disconnect();
  }, []);
  const x = columnOf(columns, at) * wide;
  useEffect(() => {
    const {scrollLeft, clientWidth} = box.current;
    if (x < scrollLeft || x > scrollLeft + clientWidth - 2 * wide) box.current.scrollLeft = x - clientWidth / 2;
  }, [x, width]);
  const points = marks.filter((mark) => mark.kind !== "wait" || mark.last !== null);
  const current = points.findLast((mark) => momentOf(mark) <= at);
  const keys = (event) => {
    const order = [...new Set(points.map(momentOf))].sort((a, b) => a - b);
    const before = order.findLast((seq) => seq < at);
    const after = order.find((seq) => seq > at);
    const to = {ArrowLeft: before, ArrowRight: after, Home: order[0], End: order.at(-1)}[event.key];
    if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    if (to !== undefined) onMoment(to);
  };
  const shown = marks.filter((mark) => {
    const [from, to] = spanOf(columns, mark);
    return to * wide >= view.left - SPARE * wide && from * wide <= view.left + view.width + SPARE * wide;
  });
  return html`
    <div class="strip-frame">
      <div class="lanes" aria-hidden="true">
        ${lanes.map((lane) => html`<div key=${lane} class="lane-name" style=${{height: `${LANE}px`}}>
          ${LANES[lane] ?? classes.get(lane) ?? lane}</div>`)}
      </div>
      <div class="strip" ref=${box} role="slider" tabindex="0" aria-label="Moment" aria-valuemin="1" aria-valuenow=${at}
        aria-valuemax=${Math.max(at, columns.at(-1) ?? 1)}
        aria-valuetext=${current ? `entry ${at}: ${sentence(current, classes)}` : `entry ${at}`} onKeyDown=${keys}
        onScroll=${() => setView({left: box.current.scrollLeft, width: box.current.clientWidth})}>
        <div class="strip-all" style=${{width: `${width}px`, height: `${lanes.length * LANE}px`}}>
          ${lanes.map((lane, row) => html`<div key=${lane} class="lane-line" style=${{top: `${(row + 0.5) * LANE}px`}}></div>`)}
          ${shown.map((mark) => {
            const [from, to] = spanOf(columns, mark);
            const row = lanes.indexOf(mark.lane);
            return html`
              <div key=${mark.key} class=${`mark ${mark.kind}${mark.ok ? "" : " bad"}${mark === current ? " current" : ""}`}
                title=${`${time(mark.at)} ${sentence(mark, classes)}`.slice(0, 300)} onClick=${() => onMoment(momentOf(mark))}
                style=${{left: `${from * wide}px`, top: `${row * LANE + OFFSET[mark.kind]}px`, width: `${Math.max(Math.max(1, to - from) * wide, Math.min(LONGEST, (rooms.get(mark.key) ?? 0) * wide)) - 2}px`}}>
                ${mark.kind === "said" || mark.kind === "heard" || mark.kind === "word" || mark.kind === "call" ? html`<span>${mark.text && mark.kind !== "call" ? mark.text : mark.name}</span>` : mark.kind === "model" ? html`<span>model</span>` : ""}
              </div>`;
          })}
          <div class="now" style=${{left: `${x + wide / 2}px`}}></div>
        </div>
      </div>
    </div>
    ${(earlier || later) && html`<div class="buttons">
      ${earlier && html`<button onClick=${earlier}>Earlier</button>`}${later && html`<button onClick=${later}>Later</button>`}</div>`}`;
}

const OFFSET = {call: 2, wait: 24, said: 12, heard: 12, model: 14, step: 34, trouble: 6, task: 24, agent: 6, word: 12};

/** The places of marks: the facts at which something begins or ends, in order. */
function laidOut(marks) {
  const columns = [...new Set(marks.flatMap((mark) => [mark.first, mark.last]).filter((seq) => seq !== null))];
  columns.sort((a, b) => a - b);
  const lanes = [...new Set(marks.map((mark) => mark.lane))].filter((lane) => lane !== "session");
  lanes.sort((a, b) => (a === "people" ? -1 : b === "people" ? 1 : Number(a) - Number(b)));
  if (marks.some((mark) => mark.lane === "session")) lanes.push("session");
  const ends = new Map();
  const rooms = new Map(); // the columns up to the next words of the lane
  for (const mark of [...marks].reverse()) {
    if (!WITH_WORDS.includes(mark.kind)) continue;
    const [from] = spanOf(columns, mark);
    if (mark.kind !== "call") rooms.set(mark.key, (ends.get(mark.lane) ?? columns.length + 2) - from);
    ends.set(mark.lane, from);
  }
  return {columns, lanes, rooms};
}

/** The column of a fact, or of the last one before it. */
function columnOf(columns, seq) {
  let low = 0;
  let high = columns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (columns[middle] <= seq) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

function spanOf(columns, mark) {
  const from = mark.first === null ? 0 : columnOf(columns, mark.first);
  const to = mark.last === null ? columns.length : columnOf(columns, mark.last) + 1;
  return [from, Math.max(to, from + 1)];
}
