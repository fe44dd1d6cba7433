/** One tab stop for each list: `Tab` goes into it, through what the entry has, and out; arrows go from entry to entry. */

const STOPS = 'a[href], button, input, textarea, audio, summary, [tabindex]';
let tabbed = 0; // 1 or -1 while the key moves the focus forwards or backwards

document.addEventListener("keydown", (event) => (tabbed = event.key === "Tab" ? (event.shiftKey ? -1 : 1) : 0), true);
document.addEventListener("pointerdown", () => (tabbed = 0), true);

/** Let `Tab` visit only one entry of a list: who comes from outside lands on `stop()`, who leaves it leaves the list.
 * `entryOf(element)` is the entry in which an element is; what is in none is visited as everywhere. */
export function oneStop(list, entryOf, stop) {
  list.addEventListener("focusin", (event) => {
    const by = tabbed;
    tabbed = 0;
    const { target, relatedTarget } = event;
    const entry = entryOf(target);
    if (!by || !relatedTarget || !entry) return;
    const inside = list.contains(relatedTarget);
    if (inside ? entry === entryOf(relatedTarget) : target === stop()) return;
    const to = inside ? beside(list, by) : stop();
    if (!to?.isConnected) return;
    event.stopImmediatePropagation();
    to.focus();
  });
}

/** The stop before or behind a list. */
function beside(list, by) {
  const behind = by > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
  const stops = [...document.querySelectorAll(STOPS)].filter(
    (each) => each.tabIndex >= 0 && !each.disabled && !list.contains(each) && list.compareDocumentPosition(each) & behind && each.checkVisibility(),
  );
  return by > 0 ? stops[0] : stops.at(-1);
}

/** The same for a list of buttons, with arrows between them. Its stop is the current one, or the one last visited. */
export function buttonsWithOneStop(list) {
  const all = () => [...list.querySelectorAll("button")];
  const settle = (chosen) => {
    const buttons = all();
    const stop = chosen ?? buttons.find((each) => each.hasAttribute("aria-current")) ?? buttons[0];
    for (const each of buttons) each.tabIndex = each === stop ? 0 : -1;
  };
  new MutationObserver(() => settle(list.contains(document.activeElement) ? document.activeElement : null)).observe(list, { childList: true, subtree: true });
  list.addEventListener("focusin", ({ target }) => settle(target.closest("button")));
  list.addEventListener("keydown", (event) => {
    const buttons = all();
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    buttons[Math.max(0, Math.min(to, buttons.length - 1))].focus();
  });
  settle(null);
}
