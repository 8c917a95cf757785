// An answer goes out in the background, so that neither a missing network nor a silent server can
// lose it: it waits on this device, the page says so, and it is sent again until it arrives, also
// by a later visit.
import { readItem, wantsItem } from "./annotator-next.js";
import { all, read, write } from "./annotator-store.js";

const PATIENCE_MS = 15_000;
const PAUSES_MS = [2_000, 5_000, 10_000, 30_000];

/** Ask the server once: "stored" or the next item, "refused" (it has something to say), or "away". */
async function ask(action, body, headers = {}) {
  if (!navigator.onLine) return "away";
  try {
    const response = await fetch(action, {
      method: "POST",
      body,
      headers,
      credentials: "same-origin",
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (response.type === "opaqueredirect") return "stored";
    const item = await readItem(response);
    if (item) return item;
    return response.status >= 500 ? "away" : "refused";
  } catch {
    return "away";
  }
}

/** Send what waits from earlier visits to other items; what is refused stays as a draft. */
export async function sendWaiting(study, { except } = {}) {
  for (const [key, { waiting }] of all(study)) {
    if (!waiting || key === except) continue;
    const outcome = await ask(waiting.action, new URLSearchParams(waiting.body));
    if (outcome === "stored") write(key, { sent: true });
    else if (outcome === "refused") write(key, { ...read(key), waiting: undefined });
  }
}

/** Mount after whatever else listens to the form's submission. `show` shows the next item. */
export function sendUntilStored(form, { isWaiting, show, signal }) {
  const note = document.querySelector("[data-offline]");
  let sending = false;
  let tries = 0;
  let timer;

  async function send() {
    clearTimeout(timer);
    if (sending) return;
    sending = true;
    const outcome = await ask(form.action, new URLSearchParams(new FormData(form)), wantsItem);
    if (outcome === "stored" || outcome.page) {
      form.dispatchEvent(new Event("stored"));
      if (outcome.page) show(outcome);
      else location.assign(form.dataset.next);
    } else if (outcome === "refused") {
      // The browser shows what the server says; what is sent twice is stored once. The button
      // called “submit” hides the form's own method.
      HTMLFormElement.prototype.submit.call(form);
    } else {
      sending = false;
      form.dispatchEvent(new Event("away"));
      note.textContent = navigator.onLine ? note.dataset.away : note.dataset.text;
      timer = setTimeout(send, PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]);
      tries += 1;
    }
  }

  function hold() {
    clearTimeout(timer);
    note.textContent = "";
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tries = 0;
    send();
  });
  // Whoever changes a waiting answer sends it themselves.
  form.addEventListener("input", hold);
  form.addEventListener("change", hold);
  addEventListener("online", () => { if (note.textContent) send(); }, { signal });
  // The page may come back from the browser's cache.
  addEventListener("pageshow", () => { sending = false; }, { signal });
  if (isWaiting) form.requestSubmit();
  sendWaiting(form.dataset.draft.split(":")[0], { except: form.dataset.draft });
}
