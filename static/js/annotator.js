// The item page works without this file. Here: slider, drafts, shortcuts, active time, sheets,
// and what waits for the network.
import { keepDraft } from "./annotator-draft.js";
import { sendUntilStored } from "./annotator-offline.js";
import { measureActiveTime } from "./annotator-time.js";
import { mountCertainty } from "./annotator-slider.js";
import { mountSheets } from "./annotator-sheets.js";
import { mountShortcuts } from "./annotator-shortcuts.js";

const form = document.querySelector("[data-item-form]");

function submitOnce() {
  // In a preview a double press sends one request; an answer's own way out knows by itself.
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
  window.addEventListener("pageshow", () => { sent = false; });
}

function mountBar() {
  const bar = document.querySelector("[data-answer-bar]");
  const quick = bar.querySelector("[data-quick]");

  // Focus never lies under the bar: the browser scrolls this much further.
  function measure() {
    const height = bar.offsetHeight || quick.offsetHeight;
    document.documentElement.style.setProperty("--bar", `${height}px`);
  }
  const sizes = new ResizeObserver(measure);
  sizes.observe(bar);
  sizes.observe(quick);

  // Scrolling up to read again folds it, on phones; scrolling down or answering opens it.
  let last = scrollY;
  addEventListener("scroll", () => {
    if (Math.abs(scrollY - last) < 24) return;
    bar.classList.toggle("is-folded", scrollY < last && !bar.contains(document.activeElement));
    last = scrollY;
  }, { passive: true });
  form.addEventListener("change", () => bar.classList.remove("is-folded"));
  bar.addEventListener("focusin", () => bar.classList.remove("is-folded"));
}

function nameThisPage() {
  // “task/” shows the item whose turn it is: give the entry in the browser's history the item's
  // own address, so that Back leads to this item and its answer.
  const own = new URL(form.action);
  if (own.pathname !== location.pathname) history.replaceState(null, "", own);
}

if (form) {
  nameThisPage();
  const activeTime = measureActiveTime();
  const certainty = mountCertainty(form);
  const { isWaiting } = keepDraft(form, { certainty, activeTime });
  mountShortcuts(form);
  mountSheets();
  mountBar();
  if (form.dataset.next) sendUntilStored(form, { isWaiting });
  else submitOnce();
}
document.querySelector(".error-summary")?.focus();
