// Places of the responses of a set: each place once, the order so far, and keys for it.

/** Returns {show, isComplete, press}, or null where the page shows two responses to choose from. */
export function mountPlaces(form) {
  const groups = [...form.querySelectorAll("[data-places]")];
  if (!groups.length) return null;
  const columns = form.querySelector(".columns");
  const spoken = form.querySelector("[data-places-spoken]");
  const orders = form.querySelectorAll("[data-order]");

  const chosen = (group) => group.querySelector(":checked");
  const radios = (group) => [...group.querySelectorAll("input")];
  const holder = (place) => groups.find((group) => chosen(group)?.value === place);
  const isComplete = () => groups.every(chosen);

  function show() {
    const letters = groups.map((_, n) => holder(String(n + 1))?.dataset.places.toUpperCase() ?? "–");
    for (const order of orders) {
      order.textContent = letters.join(" › ");
      order.closest("[hidden]")?.removeAttribute("hidden");
    }
    columns.classList.toggle("is-ranked", isComplete());
  }

  function say(sentence, group, place = "") {
    return spoken.dataset[sentence].replace("{name}", group.dataset.name).replace("{place}", place);
  }

  function free(group) {
    const radio = chosen(group);
    radio.checked = false;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
  }

  function give(group, place) {
    const radio = radios(group)[place - 1];
    radio.checked = true;
    radio.focus();
    radio.dispatchEvent(new Event("change", { bubbles: true }));
  }

  for (const group of groups) {
    group.addEventListener("change", ({ target }) => {
      show();
      if (!target.checked) return;
      const sentences = [say("placed", group, target.labels[0].textContent.trim())];
      for (const other of groups) {
        if (other === group || chosen(other)?.value !== target.value) continue;
        free(other);
        sentences.push(say("freed", other));
      }
      spoken.textContent = sentences.join(" ");
    });
  }

  /** A letter gives its response the next free place, or takes it back; a digit is a place. */
  function press(key, target) {
    const named = groups.find((group) => group.dataset.places === key);
    if (named && chosen(named)) {
      radios(named)[0].focus();
      free(named);
      spoken.textContent = say("freed", named);
    } else if (named) {
      const next = groups.findIndex((_, n) => !holder(String(n + 1)));
      give(named, next + 1);
    } else {
      const group = target.closest?.("[data-places]");
      if (!group || !/^[1-9]$/.test(key) || Number(key) > groups.length) return false;
      give(group, Number(key));
    }
    return true;
  }

  show();
  return { show, isComplete, press };
}
