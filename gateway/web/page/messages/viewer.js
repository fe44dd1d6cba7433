/** A picture in full size, with the others of its place one key away. */

import { el, icon, ICONS } from "../look.js";

const dialog = document.getElementById("picture");

/** Show the picture of a link, and let arrows go to the other pictures of the same list of messages. */
export function showPicture(link) {
  const all = () => [...(link.closest(".messages")?.querySelectorAll("a.picture") ?? [link])];
  const step = (by) => {
    const links = all();
    const next = links[links.indexOf(link) + by];
    if (next) draw((link = next));
  };
  const draw = () => {
    const { alt, src } = link.querySelector("img");
    const save = el("a", { class: "icon", href: link.href, download: link.download, title: "Save", "aria-label": `Save ${link.download}` }, icon(ICONS.down));
    const close = el("button", { type: "button", class: "icon", "aria-label": "Close" }, icon(ICONS.close));
    close.addEventListener("click", () => dialog.close());
    const links = all();
    const place = links.length > 1 ? `${links.indexOf(link) + 1} of ${links.length}` : "";
    dialog.replaceChildren(
      el("header", {}, el("span", { class: "viewer-name" }, link.download), el("span", { class: "viewer-place" }, place), save, close),
      el("img", { src, alt }),
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
  dialog.onclose = () => link.focus();
  draw();
  dialog.showModal();
}
