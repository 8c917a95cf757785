// On a page that stays open, the notice that time is nearly over appears by itself, and people can
// ask for more time without leaving the page.
import { showClock, showClocks } from "./annotator-clock.js";

showClocks();

const place = document.querySelector("[data-deadline]");
const box = place.querySelector(".deadline-box");
let timer;

function wait(seconds) {
  box.hidden = seconds > 0;
  clearTimeout(timer);
  if (seconds > 0) timer = setTimeout(wait, Math.min(seconds * 1000, 2 ** 31 - 1), 0);
}

place.querySelector("[data-extend]")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  try {
    const response = await fetch(form.action, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      headers: { Accept: "application/json" },
      credentials: "same-origin",
      redirect: "manual",
    });
    if (!response.ok) throw new Error(response.status);
    const { ends, warns_in: seconds } = await response.json();
    const time = place.querySelector("time");
    time.dateTime = ends;
    showClock(time);
    if (seconds > 0) document.getElementById("main").focus({ preventScroll: true });
    wait(seconds);
  } catch {
    HTMLFormElement.prototype.submit.call(form); // The server says why on a separate page.
  }
});

wait(Number(place.dataset.warnsIn));
