// Keeps the files of this page, so that it works offline. The build writes their names above.

const CACHE = `check-${self.FILES.hash}`;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(self.FILES.names))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter(isOld).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  event.respondWith(
    caches
      .open(CACHE)
      .then(async (cache) => (await cache.match(event.request)) ?? fetch(event.request)),
  );
});

function isOld(name) {
  return name.startsWith("check-") && name !== CACHE;
}
