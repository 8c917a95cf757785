// Without a network an answer waits on this device and goes out once it is back.

/** Mount before whatever else listens to the form's submission: a held answer is not sent. */
export function holdWhileOffline(form) {
  const note = document.querySelector("[data-offline]");
  let waiting = false;

  form.addEventListener("submit", (event) => {
    if (navigator.onLine) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    waiting = true;
    note.textContent = note.dataset.text;
  });
  addEventListener("online", () => {
    note.textContent = "";
    if (waiting) form.requestSubmit();
    waiting = false;
  });
}
