// Keeps the pages of one link for when there is no network. Its address ends in the name of the
// outbox, which later links of the technician have too.
"use strict";
const prefix = "technician " + location.search.slice(1) + " ";
const cacheName = prefix + registration.scope;
const patience = 4000; // ms: on a bad network, an old page now is better than a new one later

self.addEventListener("install", event => {
  skipWaiting();
  event.waitUntil(caches.open(cacheName).then(cache => cache.addAll([registration.scope,
    "/t/assets/technician.css", "/t/assets/technician.js", "/t/assets/icon.svg"])));
});

self.addEventListener("activate", event => event.waitUntil((async () => {
  for (const name of await caches.keys()) {
    if (name.startsWith(prefix) && name !== cacheName) await caches.delete(name); // of a link before this one
  }
  await clients.claim();
})()));

const serve = async request => {
  const url = new URL(request.url), key = url.origin + url.pathname;
  const old = await caches.match(key);
  const stored = async () => old ?? (request.mode === "navigate" ? await caches.match(registration.scope) : undefined);
  try {
    // Without a stored copy a slow network is waited for.
    const response = await fetch(request, old && { signal: AbortSignal.timeout(patience) });
    if (response.ok) {
      const cache = await caches.open(cacheName);
      await cache.put(key, response.clone());
    } else if ([401, 410].includes(response.status) || response.status === 404 && key === registration.scope) {
      await caches.delete(cacheName); // the link has ended, or wants its PIN: nothing of it stays
    } else if (response.status === 404) {
      await (await caches.open(cacheName)).delete(key);
    } else if (response.status >= 500) {
      return await stored() ?? response;
    }
    return response;
  } catch {
    return await stored() ?? Response.error();
  }
};

self.addEventListener("fetch", event => {
  const { request } = event, url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin || !url.pathname.startsWith("/t/")) return;
  event.respondWith(serve(request));
});
