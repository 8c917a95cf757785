// One-letter shortcuts: never inside a text field, and anybody can switch them off.
import { openSheet } from "./annotator-sheets.js";

const SWITCH = "thirdperson:shortcuts";
const RADIOS = { a: "choice-a", 1: "choice-a", b: "choice-b", 2: "choice-b", t: "choice-tie" };

function enabled() {
  try {
    return localStorage.getItem(SWITCH) !== "off";
  } catch {
    return true;
  }
}

function mountSwitch() {
  for (const box of document.querySelectorAll("[data-shortcuts]")) {
    box.closest("[hidden]")?.removeAttribute("hidden");
    box.checked = enabled();
    box.addEventListener("change", () => {
      try {
        localStorage.setItem(SWITCH, box.checked ? "on" : "off");
      } catch {
        box.checked = true; // It cannot be kept, so it does not pretend to.
      }
    });
  }
}

const isDigit = (key) => /^[0-9]$/.test(key);

function takesCertainty(form, places) {
  if (!form.elements.certainty) return false;
  return places ? places.isComplete() : ["a", "b"].includes(form.elements.choice.value);
}

function choose(radio) {
  radio.checked = true;
  radio.focus();
  radio.dispatchEvent(new Event("change", { bubbles: true }));
}

export function mountShortcuts(form, { places, signal }) {
  mountSwitch();
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input[type=text], textarea, select");
    const busy = event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]");
    const unseen = form.querySelector("[data-sensitive]:not([open])");
    if (typing || busy || unseen || !enabled()) return;

    const key = event.key.toLowerCase();
    const radio = document.getElementById(RADIOS[key] ?? "");
    // After the choice a number is a certainty: a 2 of “25” must not choose the other response.
    if (isDigit(key) && takesCertainty(form, places)) {
      form.elements.certainty.focus();
      return; // The browser types it there.
    }
    if (radio) choose(radio);
    else if (places?.press(key, event.target)) { /* a place was given or taken back */ }
    else if (key === "c" && form.elements.certainty) form.elements.certainty.focus();
    else if (key === "?") openSheet("help");
    // Inside a radio Enter would do this anyway; after a click on the page, or at its heading
    // where reading starts, it should too.
    else if (key === "enter" && event.target.matches("body, main, h1, h2")) form.requestSubmit();
    else return;
    event.preventDefault();
  }, { signal });
}
