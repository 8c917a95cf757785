// Moments in the clock time of this device, with its zone; without this file they are in UTC.

export function showClock(time) {
  const moment = new Date(time.dateTime);
  const today = moment.toDateString() === new Date().toDateString();
  const day = time.dataset.clock === "date"
    ? { day: "numeric", month: "long", year: "numeric" }
    : { weekday: "long" };
  time.textContent = new Intl.DateTimeFormat(document.documentElement.lang, {
    hour: "2-digit", minute: "2-digit", timeZoneName: "short", ...(today ? {} : day),
  }).format(moment);
}

document.querySelectorAll("[data-clock]").forEach(showClock);
