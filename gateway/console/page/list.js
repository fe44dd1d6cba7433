// A list of any length: only the rows that can be seen are in the page, and more are fetched as one scrolls.

import {news} from "./api.js";
import {behindPage} from "./paging.js";
import {html, signal, useEffect, useLayoutEffect, useRef, useState} from "./ui.js";

const SPARE = 8;

/**
 * Rows that are fetched in pages. `fetchPage(after)` gives {rows, next}; `keyOf` names a row. When there is news, the
 * first page is fetched again: rows that moved come to the front, those behind it stay.
 */
export function useRows(fetchPage, keyOf, about) {
  const state = useRef(null);
  if (!state.current || state.current.about !== about) {
    state.current = {about, rows: signal([]), next: null, trouble: signal(""), fetched: signal(false), busy: false};
  }
  const own = state.current;
  useEffect(() => {
    let left = false;
    const refresh = async () => {
      if (own.refreshing) return;
      own.refreshing = true;
      try {
        const page = await fetchPage("");
        if (left) return;
        const behind = behindPage(own.rows.value, page.rows, keyOf);
        if (!own.fetched.value || !behind.length) own.next = page.next;
        own.rows.value = [...page.rows, ...(page.next ? behind : [])];
        own.trouble.value = "";
        own.fetched.value = true;
      } catch (error) {
        if (!left) own.trouble.value = error.message;
      } finally {
        own.refreshing = false;
      }
    };
    const forget = news.subscribe(() => void refresh());
    return () => {
      left = true;
      forget();
    };
  }, [about]);
  const more = async () => {
    if (own.busy || !own.next) return;
    own.busy = true;
    try {
      const page = await fetchPage(own.next);
      const known = new Set(own.rows.value.map(keyOf));
      own.next = page.next;
      own.rows.value = [...own.rows.value, ...page.rows.filter((row) => !known.has(keyOf(row)))];
    } catch (error) {
      own.trouble.value = error.message;
    } finally {
      own.busy = false;
    }
  };
  return {rows: own.rows.value, more, trouble: own.trouble.value, fetched: own.fetched.value, ends: !own.next};
}

/** The rows as a list of one tab stop; arrows, Page, Home and End move in it, Enter opens. */
export function VirtualList({rows, rowHeight, keyOf, row, onOpen, onEnd, label, ends = true}) {
  const box = useRef(null);
  const [view, setView] = useState({top: 0, height: 600});
  const [current, setCurrent] = useState(0);
  const at = Math.min(current, Math.max(0, rows.length - 1));
  useLayoutEffect(() => {
    const measure = () => setView({top: box.current.scrollTop, height: box.current.clientHeight});
    const watcher = new ResizeObserver(measure);
    watcher.observe(box.current);
    measure();
    return () => watcher.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - SPARE);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / rowHeight) + SPARE);
  useEffect(() => {
    if (!ends && last >= rows.length - SPARE) onEnd();
  }, [last, rows.length, ends]);
  const move = (to) => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    setCurrent(next);
    const top = next * rowHeight;
    if (top < box.current.scrollTop) box.current.scrollTop = top;
    else if (top + rowHeight > box.current.scrollTop + box.current.clientHeight) {
      box.current.scrollTop = top + rowHeight - box.current.clientHeight;
    }
  };
  const keys = (event) => {
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1);
    const moves = {ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, PageDown: at + page, PageUp: at - page};
    const to = event.key === "Home" ? 0 : event.key === "End" ? rows.length - 1 : moves[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (to !== undefined) move(to);
    else if (event.key === "Enter" && rows[at]) onOpen(rows[at]);
    else return;
    event.preventDefault();
  };
  const shown = rows.slice(first, last);
  return html`
    <div class="virtual" ref=${box} role="listbox" tabindex="0" aria-label=${label} onKeyDown=${keys}
      aria-activedescendant=${rows[at] && at >= first && at < last ? `row-${keyOf(rows[at])}` : null}
      onScroll=${() => setView({top: box.current.scrollTop, height: box.current.clientHeight})}>
      <div class="virtual-all" role="presentation" style=${{height: `${rows.length * rowHeight}px`}}>
        ${shown.map((one, index) => html`
          <div key=${keyOf(one)} id=${`row-${keyOf(one)}`} class="virtual-row" role="option"
            aria-selected=${first + index === at} aria-setsize=${ends ? rows.length : -1}
            aria-posinset=${first + index + 1}
            style=${{top: `${(first + index) * rowHeight}px`, height: `${rowHeight}px`}}
            onClick=${() => { setCurrent(first + index); onOpen(one); }}>
            ${row(one)}
          </div>`)}
      </div>
    </div>`;
}
