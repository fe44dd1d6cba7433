/** The content of a room before its first message. */

import { el } from "../look.js";

export function emptyRoom(sayHello, invite) {
  const hello = el("button", { type: "button", class: "primary" }, "Say hello");
  hello.addEventListener("click", sayHello);
  const others = el("button", { type: "button", class: "plain invite" }, "Invite people");
  others.addEventListener("click", invite);
  return el("div", {},
    el("img", { class: "wave", src: "/assets/icon.svg", alt: "", width: "56", height: "56" }),
    el("h2", {}, "Nothing has been said here yet"),
    el("p", { class: "with-agents" }, "Say hello, or write a message below: an agent answers, and says what it can do. /help lists the commands."),
    el("p", { class: "among-people" }, "What you write here is between you two. An agent answers only where you begin with @ and its name."),
    hello, others,
  );
}
