// The last page: a button that copies the code, the way back to the platform, and nothing left
// behind on this device.
import { all, remove, sendWaiting } from "./annotator-sending.js";

// Moments in the clock time of this device, with its zone; without this file they are in UTC.
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

// An answer that still waits for the network is late, and kept all the same.
const { study } = document.querySelector("[data-study]").dataset;
await sendWaiting(study);
for (const [key, draft] of all(study)) {
  if (!draft.waiting) remove(key);
}

// Back to the platform by itself, where paid time ends; once, so that Back leads here. Whoever
// does anything on this page stays.
const SECONDS = 5;
const home = document.querySelector("[data-home]");
const left = "thirdperson.returned";
if (home && !document.hidden && sessionStorage.getItem(left) !== location.pathname) {
  const said = home.querySelector("[data-text]");
  let seconds = SECONDS;
  const show = () => {
    said.textContent = said.dataset.text.replace("SECONDS", seconds);
  };
  const timer = setInterval(() => {
    seconds -= 1;
    said.removeAttribute("role"); // read aloud once, not every second
    show();
    if (seconds > 0) return;
    stay();
    sessionStorage.setItem(left, location.pathname);
    location.assign(document.getElementById("return").href);
  }, 1000);
  const stay = () => {
    clearInterval(timer);
    home.style.visibility = "hidden"; // its room stays, or what is being pressed would move
  };
  for (const event of ["pointerdown", "keydown", "wheel", "touchmove"])
    addEventListener(event, stay, { once: true, passive: true });
  home.hidden = false;
  show();
}
