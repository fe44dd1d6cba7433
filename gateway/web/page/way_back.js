/** On a phone, the way back closes what lies over the chat: a dialog, a sheet, or the drawer with the rooms.
 *
 * What opens puts an entry `{ over: address }` on the way. Who closes it otherwise leaves the entry there, for the next one
 * that opens, and the way back skips it: a step back at once could take away a room that is opened at the same time. */

const PHONE = matchMedia("(max-width: 720px)");

export function closeOnWayBack(drawer) {
  let before = history.state?.over;
  let skips = false;
  const top = () => [...document.querySelectorAll("dialog[open]")].at(-1);
  const open = () => drawer.isOpen || top();
  const note = () => {
    if (PHONE.matches && open() && !history.state?.over) history.pushState({ over: location.href }, "");
    before = history.state?.over;
  };
  window.addEventListener("popstate", ({ state }) => {
    const back = before === location.href && !state?.over;
    if (back && open()) {
      const dialog = top();
      if (!dialog) drawer.toggle(false);
      else if (dialog.dispatchEvent(new Event("cancel", { cancelable: true }))) dialog.close();
    } else if (!skips && !open() && (back || state?.over)) {
      skips = true;
      history.back();
      before = state?.over;
      return;
    }
    skips = false;
    note();
  });
  const watch = new MutationObserver(note);
  watch.observe(document.documentElement, { subtree: true, attributeFilter: ["open"] });
  watch.observe(document.body, { attributeFilter: ["class"] });
}
