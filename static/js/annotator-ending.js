// The last page: a button that copies the code, the way back to the platform; clears what is stored
// on this device.
import { showClocks } from "./annotator-clock.js";
import { all, remove, sendWaiting } from "./annotator-sending.js";

showClocks();

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

// Back to the platform by itself, where paid time ends; once for each code, so that Back leads
// here. Whoever does anything on this page stays.
const home = document.querySelector("[data-home]");
const address = document.getElementById("return")?.href;
const left = "thirdperson.returned";
if (home && !document.hidden && sessionStorage.getItem(left) !== address) {
  const said = home.querySelector("[data-texts]");
  const texts = said.dataset.texts.split("\n");
  let seconds = texts.length - 1;
  const show = () => {
    said.textContent = texts[seconds];
  };
  const timer = setInterval(() => {
    seconds -= 1;
    said.removeAttribute("role"); // read aloud once, not every second
    show();
    if (seconds > 0) return;
    stay();
    sessionStorage.setItem(left, address);
    location.assign(address);
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
