// The field of a search.

import {html, useEffect, useRef} from "../ui.js";

const WAITS_MS = 500; // a search in words reads many facts

/** A field of text whose value is told once somebody stops typing. */
export function Field({value, waits = WAITS_MS, label, hint, onValue}) {
  const field = useRef(null);
  const later = useRef(0);
  useEffect(() => {
    if (document.activeElement !== field.current) field.current.value = value;
  }, [value]);
  useEffect(() => () => clearTimeout(later.current), []);
  return html`
    <input type="search" id="filter" ref=${field} placeholder=${hint} aria-label=${label} maxlength="1000"
      onInput=${(event) => {
        clearTimeout(later.current);
        later.current = setTimeout(() => onValue(event.target.value.trim()), waits);
      }} />`;
}
