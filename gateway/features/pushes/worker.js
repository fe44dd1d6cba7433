/** Shows notifications while no page is looked at, and leads to the message. It keeps nothing and serves no page. */

const ANSWER_WITHIN_MS = 500;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  event.waitUntil(show(event.data?.json() ?? {}));
});

async function show({ room = "", title = "Parley", id = "", thread = "", name, text }) {
  const pages = await self.clients.matchAll({ type: "window" });
  const looks = await Promise.all(pages.filter((page) => page.visibilityState === "visible").map((page) => looksAt(page, room)));
  if (looks.includes(true)) return;
  const place = [room, thread, id].map(encodeURIComponent).join("/");
  await self.registration.showNotification(name ? `${name} in ${title}` : title, {
    body: text ?? "A new message",
    tag: room,
    renotify: true,
    icon: "/assets/icon.svg",
    data: { address: `/#${place}` },
  });
}

/** Whether a page shows a room, as it says itself: the worker knows only the address at which it was loaded. */
function looksAt(page, room) {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => resolve(data === true);
    setTimeout(() => resolve(false), ANSWER_WITHIN_MS);
    page.postMessage({ looksAt: room }, [port2]);
  });
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(lead(event.notification.data.address));
});

async function lead(address) {
  const [page] = await self.clients.matchAll({ type: "window" });
  if (!page) return self.clients.openWindow(address);
  await page.focus();
  return page.navigate(address);
}
