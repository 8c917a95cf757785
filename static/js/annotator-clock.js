// Moments in the clock time of this device, with its zone; without this file they are in UTC.

export function showClock(time) {
  const moment = new Date(time.dateTime);
  const today = moment.toDateString() === new Date().toDateString();
  time.textContent = new Intl.DateTimeFormat(document.documentElement.lang, {
    hour: "2-digit", minute: "2-digit", timeZoneName: "short", ...(today ? {} : { weekday: "long" }),
  }).format(moment);
}

document.querySelectorAll("[data-clock]").forEach(showClock);
