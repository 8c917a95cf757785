// The item page works without this file. Here: slider, places of a set, drafts, shortcuts, active time, sheets,
// what waits for the network, and the next item without another request.
import { keepDraft } from "./annotator-draft.js";
import { followHistory, showItem } from "./annotator-next.js";
import { sendUntilStored } from "./annotator-offline.js";
import { measureActiveTime } from "./annotator-time.js";
import { mountPlaces } from "./annotator-places.js";
import { mountCertainty } from "./annotator-slider.js";
import { mountSheets } from "./annotator-sheets.js";
import { mountShortcuts } from "./annotator-shortcuts.js";

function submitOnce(form) {
  // In a preview a double press sends one request; an answer's own way out knows by itself.
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault();
    sent = true;
  });
  window.addEventListener("pageshow", () => { sent = false; });
}

function mountBar(form, { signal }) {
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
  signal.addEventListener("abort", () => sizes.disconnect());

  // Scrolling up to read again folds it, on phones; scrolling down or answering opens it.
  let last = scrollY;
  addEventListener("scroll", () => {
    if (Math.abs(scrollY - last) < 24) return;
    bar.classList.toggle("is-folded", scrollY < last && !bar.contains(document.activeElement));
    last = scrollY;
  }, { passive: true, signal });
  form.addEventListener("change", () => bar.classList.remove("is-folded"));
  bar.addEventListener("focusin", () => bar.classList.remove("is-folded"));
}

function nameThisPage(form) {
  // “task/” shows the item whose turn it is: give the entry in the browser's history the item's
  // own address, so that Back leads to this item and its answer.
  const own = new URL(form.action);
  if (own.pathname !== location.pathname) history.replaceState(null, "", own);
}

/** Mount everything on the item that the page shows. */
function mount() {
  const form = document.querySelector("[data-item-form]");
  if (!form) return;
  // Ends what listens beyond the item's own elements when the next item takes its place.
  const left = new AbortController();
  const { signal } = left;
  const activeTime = measureActiveTime({ signal });
  const certainty = mountCertainty(form);
  const places = mountPlaces(form);
  const { isWaiting } = keepDraft(form, { certainty, places, activeTime, signal });
  mountShortcuts(form, { places, signal });
  mountSheets();
  mountBar(form, { signal });
  if (form.dataset.next) {
    nameThisPage(form);
    followHistory(form, { signal });
    sendUntilStored(form, { isWaiting, show, signal });
  } else submitOnce(form);

  function show(item) {
    left.abort();
    showItem(item);
    mount();
  }
}

mount();
document.querySelector(".error-summary")?.focus();
