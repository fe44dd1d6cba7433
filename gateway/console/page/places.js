// Where one is: the part of the address behind #/.

import {signal} from "./ui.js";

/** A part of the address; one that somebody typed with a lone % counts as it stands. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const place = signal(read());

function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [screen, ...rest] = path.split("/");
  return {screen: screen || "now", rest: rest.map(decoded), query: new URLSearchParams(query)};
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
