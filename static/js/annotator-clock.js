// Times of day in this device's time zone. Without this file, pages say how much time is left.

/** Put the time of a <time data-clock="… {time} …"> into its sentence; `data-dated`: with the day. */
export function showClock(place) {
  const isDated = "dated" in place.dataset;
  // A browser that hides where it is says UTC: then the minutes that the page states are right.
  if (!isDated && new Intl.DateTimeFormat().resolvedOptions().timeZone === "UTC") {
    return;
  }
  const moment = new Date(place.dateTime);
  const isToday = moment.toDateString() === new Date().toDateString();
  const day = { day: "numeric", month: "long", year: "numeric" };
  const time = new Intl.DateTimeFormat(document.documentElement.lang, {
    hour: "numeric",
    minute: "2-digit",
    timeZoneName: "short",
    ...(isToday && !isDated ? {} : day),
  }).format(moment);
  place.textContent = place.dataset.clock.replace("{time}", time);
}

export function showClocks() {
  document.querySelectorAll("[data-clock]").forEach(showClock);
}
