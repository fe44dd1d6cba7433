// Where the focus goes when what had it is gone, such as a button with its row: to the part of the screen around it.

let last = null; // what has the focus, and what it stands in

/** Keep the focus in the page, whatever is taken out of `root`. */
export function keepFocus(root) {
  document.addEventListener("focusin", ({target}) => (last = {part: target, around: target.closest("section")}));
  document.addEventListener("focusout", () => setTimeout(() => {
    if (last?.part.isConnected && document.activeElement === document.body) last = null; // who left it wants it nowhere
  }));
  new MutationObserver(() => {
    if (!last || last.part.isConnected || document.activeElement !== document.body) return;
    const place = last.around?.isConnected ? last.around : document.getElementById("main");
    place?.setAttribute("tabindex", "-1");
    place?.focus({preventScroll: true});
  }).observe(root, {childList: true, subtree: true});
}
