// The last page: a button that copies the code; clears what is stored on this device.
import { all, remove, sendWaiting } from "./annotator-sending.js";

// Times in this device's time zone; without this file they are in UTC.
document.querySelectorAll("[data-clock]").forEach((time) => {
  const moment = new Date(time.dateTime);
  const today = moment.toDateString() === new Date().toDateString();
  const day = { day: "numeric", month: "long", year: "numeric" };
  time.textContent = new Intl.DateTimeFormat(document.documentElement.lang, {
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
    ...(today ? {} : day),
  }).format(moment);
});

const button = document.querySelector("[data-copy]");
if (button && navigator.clipboard) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const said = document.querySelector("[data-copied]");
    await navigator.clipboard.writeText(document.querySelector("[data-code]").textContent);
    said.textContent = said.dataset.text;
  });
}

// An answer that still waits for the network is late, but is kept.
const { study } = document.querySelector("[data-study]").dataset;
await sendWaiting(study);
for (const [key, draft] of all(study)) {
  if (!draft.waiting) remove(key);
}
