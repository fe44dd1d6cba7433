// Tables: those that are fetched in pages and are live, and those whose rows are there.

import {get, session} from "./api.js";
import {useRows} from "./list.js";
import {html, useState} from "./ui.js";

/**
 * `columns` are [title, cell of a row, and where the rows can be sorted by it, what it is sorted by]; the first one names
 * the row, and `ACTS` is a title of one that is there for those who may act. `path` answers {[name]: rows, next}; `arranged` puts the rows in order; `about` stands above them.
 */
export function Table({title, path, name, query = {}, keyOf, columns, empty, about: beside = null, arranged = (rows) => rows}) {
  const about = `${path}?${JSON.stringify(query)}`;
  const found = useRows(async (after) => {
    const page = await get(path, {...query, after, limit: 50});
    return {rows: page[name], next: page.next};
  }, keyOf, about);
  const id = `list-${name}`;
  return html`
    <section aria-labelledby=${id}>
      <h2 id=${id}>${title}</h2>
      ${beside}
      ${found.trouble && html`<p class="trouble" role="alert">${found.trouble}</p>`}
      ${found.fetched && html`<${Rows} title=${title} rows=${arranged(found.rows)} keyOf=${keyOf} columns=${columns} empty=${empty} />`}
      ${!found.ends && html`<button onClick=${found.more}>More</button>`}
    </section>`;
}

/** A table of rows that are there, with a heading; `about` stands between the two. */
export function Plain({title, level = "2", about, ...table}) {
  return html`
    ${level === "2" ? html`<h2>${title}</h2>` : html`<h3>${title}</h3>`}
    ${about}
    <${Rows} title=${title} ...${table} />`;
}

/** The title of a column of buttons. */
export const ACTS = "Acts";

/** Rows without a heading. The roles are said because a narrow page shows each row as a card, which is no table to a browser. */
export function Rows({title, rows, keyOf, columns, empty}) {
  const [sorted, setSorted] = useState(null);
  if (!rows.length) return html`<p class="quiet">${empty}</p>`;
  const shown = columns.filter(([head]) => head !== ACTS || session.value.acts);
  const by = shown.find(([head]) => head === sorted?.head)?.[2];
  const arranged = by ? [...rows].sort((one, other) => sorted.turn * compared(by(one), by(other), sorted.turn)) : rows;
  return html`
    <div class="scroll" tabindex="0" role="group" aria-label=${`Table: ${title}`}>
      <table class="rows" role="table">
        <thead role="rowgroup"><tr role="row">${shown.map(([head, , value]) => html`
          <th key=${head} scope="col" role="columnheader" aria-sort=${sorted?.head === head ? (sorted.turn > 0 ? "ascending" : "descending") : null}>
            ${value ? html`<button class="sort" onClick=${() => setSorted(turned(sorted, head, rows.map(value)))}>${head}</button>` : head}</th>`)}</tr></thead>
        <tbody role="rowgroup">
          ${arranged.map((row) => html`
            <tr key=${keyOf(row)} role="row">${shown.map(([head, cell], number) => number === 0
              ? html`<th key=${head} scope="row" role="rowheader">${cell(row)}</th>`
              : html`<td key=${head} role="cell" data-head=${head}><div>${cell(row)}</div></td>`)}</tr>`)}
        </tbody>
      </table>
    </div>`;
}

/** The order after a press on a head: the largest number or the first word first, then the other way, then as it was. */
function turned(sorted, head, values) {
  const first = values.some((value) => typeof value === "number") ? -1 : 1;
  if (sorted?.head !== head) return {head, turn: first};
  return sorted.turn === first ? {head, turn: -first} : null;
}

/** Which of two values comes first; what is not known is last in both directions. */
function compared(one, other, turn) {
  const [none, noOther] = [one ?? null, other ?? null].map((value) => value === null);
  if (none || noOther) return turn * (none - noOther);
  return typeof one === "number" ? one - other : String(one).localeCompare(String(other));
}

/** A link to a session, at a moment of it. */
export function SessionLink({session, at, text}) {
  return session ? html`<a href=${`#/session/${session}${at ? `?at=${at}` : ""}`}><bdi>${text ?? session.slice(0, 8)}</bdi></a>` : html`<span>${text}</span>`;
}
