// A slider beside the number box; the two stay in step and neither has a starting value.

const STEPS = {
  ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10,
};

/** What somebody typed, as a whole number from 1 to 100, or null. */
export function readCertainty(text) {
  const match = /^\s*(\d{1,3})\s*%?\s*$/.exec(text);
  const value = match ? Number(match[1]) : 0;
  return value >= 1 && value <= 100 ? value : null;
}

function readBands() {
  return [...document.querySelectorAll("[data-low]")].map((row) => ({
    low: Number(row.dataset.low),
    high: Number(row.dataset.high),
    name: row.querySelector("[data-name]").textContent,
    definition: row.querySelector("[data-definition]").textContent,
  }));
}

function makeRange(place) {
  const range = document.createElement("input");
  range.type = "range";
  range.min = 1;
  range.max = 100;
  range.setAttribute("aria-label", place.dataset.label);
  const low = document.createElement("span");
  const high = document.createElement("span");
  low.textContent = "1";
  high.textContent = "100";
  low.ariaHidden = high.ariaHidden = "true";
  place.append(low, range, high);
  return range;
}

/** A part of the text that the style sheet leaves out where there is no room. */
function part(name, text) {
  const span = document.createElement("span");
  span.className = name;
  span.textContent = text;
  return span;
}

function mountRange(range, box, { set, show }) {
  range.addEventListener("keydown", (event) => {
    const unset = range.classList.contains("unset");
    if (event.key === "Home") set(1);
    else if (event.key === "End") set(100);
    else if (event.key in STEPS) set(unset ? 50 : Number(range.value) + STEPS[event.key]);
    else return;
    event.preventDefault();
  });

  // A thumb that starts on the slider and then scrolls the page must leave it as it was: the
  // browser cancels the pointer when it takes the gesture over.
  let before = null;
  let scrolling = false;
  range.addEventListener("pointerdown", () => {
    before = readCertainty(box.value);
    scrolling = false;
  });
  range.addEventListener("pointercancel", () => {
    scrolling = true;
    box.value = before ?? "";
    show(before);
    box.dispatchEvent(new Event("change", { bubbles: true }));
  });
  range.addEventListener("input", () => { if (!scrolling) set(Number(range.value)); });
  // A click exactly where the hidden thumb waits changes nothing and fires no input event.
  range.addEventListener("click", () => { if (!scrolling) set(Number(range.value)); });
}

/** Mount the slider, where the study has one, and name the level of the number that is typed.
    Returns {show}, or null where the study asks for no certainty. */
export function mountCertainty(form) {
  const box = form.elements.certainty;
  if (!box) return null;
  const place = form.querySelector("[data-slider]");
  const band = form.querySelector("[data-band]");
  const spoken = form.querySelector("[data-band-spoken]");
  const bands = readBands();
  const range = place && makeRange(place);
  let speaking;

  function show(value) {
    const found = bands.find(({ low, high }) => value >= low && value <= high);
    if (range) {
      range.classList.toggle("unset", value === null);
      range.setAttribute("aria-valuetext", found ? `${value}, ${found.name}` : place.dataset.unset);
      if (found) range.value = value;
    }
    band.textContent = "";
    if (value !== null) {
      const name = document.createElement("b");
      name.textContent = found.name;
      band.append(
        part("band-long", `${value}, `), name,
        part("band-long", ` (${found.low}–${found.high})`),
        part("band-meaning", `: ${found.definition}`),
      );
    }
    // Screen readers hear the level once the hand rests, not at every step.
    clearTimeout(speaking);
    speaking = setTimeout(() => { spoken.textContent = found ? `${value}, ${found.name}` : ""; }, 600);
  }

  function set(value) {
    const limited = Math.min(100, Math.max(1, value));
    box.value = limited;
    form.elements.control.value = "slider";
    show(limited);
    box.dispatchEvent(new Event("change", { bubbles: true }));
  }

  if (range) mountRange(range, box, { set, show });
  for (const level of form.querySelectorAll("[name=level]")) {
    level.addEventListener("change", () => {
      form.querySelector("[data-hint]").textContent = level.dataset.range;
    });
  }
  box.addEventListener("input", () => {
    form.elements.control.value = "number";
    show(readCertainty(box.value));
  });
  show(readCertainty(box.value));
  return { show: () => show(readCertainty(box.value)) };
}
