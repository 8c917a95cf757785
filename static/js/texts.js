// Shows each text as annotators see it while it is written. “Update preview” does the same.
"use strict";

const form = document.querySelector("[data-texts]");
const PAUSE_MS = 400;

function follow(place) {
  const field = form.elements[place.dataset.preview];
  let timer;
  let asked = 0;

  async function load() {
    asked += 1;
    const mine = asked;
    const body = new URLSearchParams({ name: field.name, text: field.value });
    body.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
    try {
      const response = await fetch(form.dataset.texts, { method: "POST", body });
      if (!response.ok || response.redirected) return;
      const html = await response.text();
      if (mine === asked) place.innerHTML = html;
    } catch {
      // Without a network the last preview stays.
    }
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(load, PAUSE_MS);
  });
}

form?.querySelectorAll("[data-no-script]").forEach((button) => {
  button.hidden = true;
});
form?.querySelectorAll("[data-preview]").forEach(follow);
