// Where one is: the part of the address behind #/.

import {signal} from "./ui.js";

export const place = signal(read());

function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [screen, ...rest] = path.split("/");
  return {screen: screen || "now", rest: rest.map(decodeURIComponent), query: new URLSearchParams(query)};
}

window.addEventListener("hashchange", () => (place.value = read()));

/** Go to a place; `instead`: going back does not come here. */
export function go(path, {instead = false} = {}) {
  if (!instead) {
    location.hash = `#/${path}`;
    return;
  }
  history.replaceState(null, "", `#/${path}`);
  place.value = read();
}
