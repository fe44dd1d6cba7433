/** Going to a message, also to one that is further up than what the page has loaded. */

import { toast } from "./look.js";

const MOST_PAGES = 100;

export class Seek {
  /** `on` has `reveal(target)`, which is false while the message is not here, and `older()`, false when there is none. */
  constructor(on) {
    this.on = on;
    this.target = null;
  }

  /** Show a message now, or as soon as it is loaded; `target` is {id, thread}. */
  go(target) {
    this.later(target);
    this.loaded();
  }

  /** Show a message when the room is here. */
  later(target) {
    this.target = target;
    this.left = MOST_PAGES;
  }

  /** Go on after messages were loaded. */
  loaded() {
    if (!this.target) return;
    if (this.on.reveal(this.target)) this.target = null;
    else if (this.left > 0 && this.on.older()) this.left -= 1;
    else this.forget("That message is no longer here, or it is very old.");
  }

  forget(reason) {
    if (this.target && reason) toast(reason);
    this.target = null;
  }
}
