// An answer goes out in the background, so that neither a missing network nor a silent server can
// lose it: it waits on this device, the page says so, and it is sent again until it arrives.

const PATIENCE_MS = 15_000;
const PAUSES_MS = [2_000, 5_000, 10_000, 30_000];

/** Ask the server once: "stored", "refused" (it has something to say), or "away". */
async function ask(form) {
  try {
    const response = await fetch(form.action, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      credentials: "same-origin",
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (response.type === "opaqueredirect") return "stored";
    return response.status >= 500 ? "away" : "refused";
  } catch {
    return "away";
  }
}

/** Mount after whatever else listens to the form's submission. */
export function sendUntilStored(form) {
  const note = document.querySelector("[data-offline]");
  let sending = false;
  let tries = 0;
  let timer;

  async function send() {
    clearTimeout(timer);
    if (sending) return;
    sending = true;
    const outcome = navigator.onLine ? await ask(form) : "away";
    if (outcome === "stored") {
      form.dispatchEvent(new Event("stored"));
      location.assign(form.dataset.next);
    } else if (outcome === "refused") {
      // The browser shows what the server says; what is sent twice is stored once. The button
      // called “submit” hides the form's own method.
      HTMLFormElement.prototype.submit.call(form);
    } else {
      sending = false;
      note.textContent = navigator.onLine ? note.dataset.away : note.dataset.text;
      timer = setTimeout(send, PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]);
      tries += 1;
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tries = 0;
    send();
  });
  // Whoever changes a waiting answer sends it themselves.
  form.addEventListener("change", () => { clearTimeout(timer); note.textContent = ""; });
  addEventListener("online", () => { if (note.textContent) send(); });
  // The page may come back from the browser's cache.
  addEventListener("pageshow", () => { sending = false; });
}
