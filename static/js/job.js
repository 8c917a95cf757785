// Follows a job, and loads the page again when the job is over.
"use strict";

{
  // A block, because other scripts of the page use the same names.
  const box = document.getElementById("job");
  const bar = box.querySelector("progress");
  const message = document.getElementById("job-message");
  const EVERY_MS = 1500;

  async function look() {
    try {
      const response = await fetch(box.dataset.status, { headers: { Accept: "application/json" } });
      if (response.ok) {
        const status = await response.json();
        if (!status.open) {
          window.location.reload();
          return;
        }
        bar.value = status.progress;
        if (message.textContent !== status.message) message.textContent = status.message;
      }
    } catch (error) {
      // The server is being restarted or the network is gone: try again later.
      if (!(error instanceof TypeError)) throw error;
    }
    window.setTimeout(look, EVERY_MS);
  }

  window.setTimeout(look, EVERY_MS);
}
