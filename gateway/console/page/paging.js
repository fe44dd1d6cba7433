// The pages of a list that are fetched one by one, while its rows move.

/**
 * The rows behind a first page that was fetched anew. Where a row has come to the front, the last one of the page before
 * is behind it now; a row that is gone is before rows that the page still has.
 */
export function behindPage(rows, page, keyOf) {
  const first = new Set(page.map(keyOf));
  const last = rows.slice(0, page.length).findLastIndex((row) => first.has(keyOf(row)));
  return rows.slice(last + 1).filter((row) => !first.has(keyOf(row)));
}
