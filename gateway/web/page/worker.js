/** Shows notifications while no page is looked at, and leads to the message. It keeps nothing and serves no page. */

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  event.waitUntil(show(event.data?.json() ?? {}));
});

async function show({ room = "", title = "Parley", id = "", thread = "", name, text }) {
  const pages = await self.clients.matchAll({ type: "window" });
  const looked = pages.some((page) => page.visibilityState === "visible" && roomOf(page.url) === room);
  if (looked) return;
  const place = [room, thread, id].map(encodeURIComponent).join("/");
  await self.registration.showNotification(name ? `${name} in ${title}` : title, {
    body: text ?? "A new message",
    tag: room,
    renotify: true,
    icon: "/assets/icon.svg",
    data: { address: `/#${place}` },
  });
}

const roomOf = (url) => decodeURIComponent(new URL(url).hash.slice(1).split("/")[0]) || "lobby";

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
