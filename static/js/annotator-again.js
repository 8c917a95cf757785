// The page about an unavailable database keeps the sent form, and sends it again when the site is
// back.
const PAUSE_MS = 5_000;
const form = document.querySelector("[data-again]");

async function isBack() {
  try {
    const response = await fetch(form.action, { credentials: "same-origin", redirect: "manual" });
    return response.type === "opaqueredirect" || response.status < 500;
  } catch {
    return false;
  }
}

async function again() {
  if (await isBack()) HTMLFormElement.prototype.submit.call(form);
  else setTimeout(again, PAUSE_MS);
}

const status = document.querySelector("[data-trying]");
status.textContent = status.dataset.trying;
setTimeout(again, PAUSE_MS);
