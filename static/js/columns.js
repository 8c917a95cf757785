// Keeps the preview of mapped columns up to date while fields are chosen. Without this script the
// button “Update the preview” does the same.
"use strict";

const form = document.querySelector("[data-mapping]");
const told = form.querySelector("[data-told]");
const WAIT = 300;
let timer = 0;
let asked = 0;

const part = (root, name) => root.querySelector(`[data-part="${name}"]`);

async function update() {
  const number = ++asked;
  const result = part(form, "result");
  result.classList.add("is-updating");
  const data = new URLSearchParams(new FormData(form));
  data.set("update", "");
  try {
    const response = await fetch(form.action, { method: "POST", body: data });
    if (!response.ok || new URL(response.url).pathname !== location.pathname) throw new Error();
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (number !== asked) return;
    replace(page);
    told.textContent = "The preview is up to date.";
  } catch {
    if (number === asked)
      told.textContent = "The preview could not be updated. Press “Update the preview”.";
  } finally {
    if (number === asked) part(form, "result").classList.remove("is-updating");
  }
}

// Values keep the focus that somebody has on one of them.
function replace(page) {
  const focused = document.activeElement?.id;
  for (const name of ["answers", "result"]) part(form, name).replaceWith(part(page, name));
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

form.addEventListener("change", () => {
  clearTimeout(timer);
  timer = setTimeout(update, WAIT);
});

// A button that is replaced while it is pressed would lose the click.
form.addEventListener("pointerdown", (event) => {
  if (!event.target.closest("button")) return;
  clearTimeout(timer);
  asked += 1;
  part(form, "result").classList.remove("is-updating");
});
