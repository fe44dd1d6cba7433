// The log-in.

import {Refused, session, whoAmI} from "../api.js";
import {go} from "../places.js";
import {html, useEffect, useRef, useState} from "../ui.js";

/** The secret of the link by which somebody came, which is gone from the address. */
let link = new URLSearchParams(location.hash.slice(1)).get("link");
if (link) go("now", {instead: true});

export function Login() {
  const [trouble, setTrouble] = useState(session.value?.ended ? "You are logged out." : "");
  const [busy, setBusy] = useState(false);
  const field = useRef(null);
  const name = useRef(null);
  const enter = async (by) => {
    setBusy(true);
    try {
      const headers = {"content-type": "application/json"};
      const body = JSON.stringify(by);
      const response = await fetch("/console/login", {method: "POST", headers, body});
      const data = await response.json();
      if (!response.ok) throw new Refused(response.status, data.error);
      await whoAmI();
    } catch (error) {
      setTrouble(error instanceof Refused ? error.message : "The gateway does not answer.");
      field.current?.select();
    } finally {
      setBusy(false);
    }
  };
  const submit = (event) => {
    event.preventDefault();
    void enter({password: field.current.value, name: name.current.value});
  };
  useEffect(() => {
    if (link) void enter({link});
    link = null;
  }, []);
  return html`
    <main class="login">
      <form onSubmit=${submit}>
        <h1><img src="/assets/icon.svg" alt="" width="32" height="32" /> Parley console</h1>
        ${session.value?.no_password ? html`
        <p>This console has no password. Owners of the <a href="/">chat</a> enter by <b>Console</b> there. While the chat has no owner, the start of Parley prints a link to here.</p>
        <p id="trouble" class="trouble" role="alert">${trouble}</p>` : html`
        <label for="who">Your name, which stands beside what you do</label>
        <input id="who" ref=${name} autocomplete="nickname" maxlength="40" required autofocus />
        <label for="password">Password of the console</label>
        <input id="password" ref=${field} type="password" autocomplete="current-password" required
          aria-describedby="trouble" />
        <p>Owners of the <a href="/">chat</a> need no password: it has a link to here.</p>
        <p id="trouble" class="trouble" role="alert">${trouble}</p>
        <button class="main" disabled=${busy}>Log in</button>`}
      </form>
    </main>`;
}
