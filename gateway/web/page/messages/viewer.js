/** A picture in full size, with the others of its place one key away. */

import { el, icon, ICONS } from "../look.js";

const dialog = document.getElementById("picture");

/** Show one of the pictures, {href, name, alt}, and let arrows go to the others. Afterwards the focus is on the one shown
 * last, or on `opener` where that is out of sight. */
export function showPicture(pictures, at, opener) {
  const step = (by) => {
    if (pictures[at + by]) draw((at += by));
  };
  const draw = () => {
    const { href, name, alt } = pictures[at];
    const save = el("a", { class: "icon", href, download: name, title: "Save", "aria-label": `Save ${name}` }, icon(ICONS.down));
    const close = el("button", { type: "button", class: "icon", "aria-label": "Close" }, icon(ICONS.close));
    close.addEventListener("click", () => dialog.close());
    const place = pictures.length > 1 ? `${at + 1} of ${pictures.length}` : "";
    dialog.replaceChildren(
      el("header", {}, el("span", { class: "viewer-name" }, name), el("span", { class: "viewer-place" }, place), save, close),
      el("img", { src: href, alt }),
    );
    close.focus();
  };
  dialog.onkeydown = (event) => {
    if (event.key === "ArrowRight") step(1);
    else if (event.key === "ArrowLeft") step(-1);
    else return;
    event.preventDefault();
  };
  dialog.onclick = (event) => event.target === dialog && dialog.close();
  dialog.onclose = () => {
    const links = [...(opener.closest(".messages") ?? document).querySelectorAll("a.picture")];
    (links.find((link) => link.getAttribute("href") === pictures[at].href) ?? opener).focus();
  };
  draw();
  dialog.showModal();
}
