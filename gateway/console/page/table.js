// Tables: those that are fetched in pages and are live, and those whose rows are there.

import {get} from "./api.js";
import {useRows} from "./list.js";
import {html} from "./ui.js";

/** `columns` are [title, cell of a row]; the first one names the row. `path` answers {[name]: rows, next}. */
export function Table({title, path, name, query = {}, keyOf, columns, empty}) {
  const about = `${path}?${JSON.stringify(query)}`;
  const found = useRows(async (after) => {
    const page = await get(path, {...query, after, limit: 50});
    return {rows: page[name], next: page.next};
  }, keyOf, about);
  const id = `list-${name}`;
  return html`
    <section aria-labelledby=${id}>
      <h2 id=${id}>${title}</h2>
      ${found.trouble && html`<p class="trouble" role="alert">${found.trouble}</p>`}
      ${found.fetched && html`<${Rows} title=${title} rows=${found.rows} keyOf=${keyOf} columns=${columns} empty=${empty} />`}
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

function Rows({title, rows, keyOf, columns, empty}) {
  if (!rows.length) return html`<p class="quiet">${empty}</p>`;
  return html`
    <div class="scroll" tabindex="0" role="group" aria-label=${`Table: ${title}`}>
      <table>
        <thead><tr>${columns.map(([head]) => html`<th key=${head} scope="col">${head}</th>`)}</tr></thead>
        <tbody>
          ${rows.map((row) => html`
            <tr key=${keyOf(row)}>${columns.map(([head, cell], number) => number === 0
              ? html`<th key=${head} scope="row">${cell(row)}</th>`
              : html`<td key=${head}>${cell(row)}</td>`)}</tr>`)}
        </tbody>
      </table>
    </div>`;
}

/** A link to a session, at a moment of it. */
export function SessionLink({session, at, text}) {
  return session ? html`<a href=${`#/session/${session}${at ? `?at=${at}` : ""}`}>${text ?? session.slice(0, 8)}</a>` : html`<span>${text}</span>`;
}
