// Moments in the clock time of this device; without this file they stand in UTC.

for (const time of document.querySelectorAll("[data-clock]")) {
  time.textContent = new Intl.DateTimeFormat(document.documentElement.lang, {
    hour: "2-digit", minute: "2-digit", weekday: "long",
  }).format(new Date(time.dateTime));
}
