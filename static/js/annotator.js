// The item page works without this file. Here: slider, drafts, shortcuts, active time, sheets.
import { keepDraft } from "./annotator-draft.js";
import { measureActiveTime } from "./annotator-time.js";
import { mountSlider } from "./annotator-slider.js";
import { mountShortcuts } from "./annotator-shortcuts.js";

const form = document.querySelector("[data-item-form]");

function submitOnce() {
  // A double press sends one request. The page may come back from the browser's cache.
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
  window.addEventListener("pageshow", () => { sent = false; });
}

function mountSheets() {
  const profile = document.querySelector("[data-profile]");
  document.querySelector("[data-profile-copy]").append(profile.cloneNode(true));
  for (const link of document.querySelectorAll("[data-opens]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById(`${link.dataset.opens}-dialog`).showModal();
    });
  }
}

function keepFocusAboveBar() {
  const bar = document.querySelector("[data-answer-bar]");
  new ResizeObserver(() => {
    document.documentElement.style.setProperty("--bar", `${bar.offsetHeight}px`);
  }).observe(bar);
}

if (form) {
  const activeTime = measureActiveTime();
  const slider = mountSlider(form);
  keepDraft(form, { slider, activeTime });
  mountShortcuts(form);
  mountSheets();
  keepFocusAboveBar();
  submitOnce();
}
document.querySelector(".error-summary")?.focus();
