// Keys j and k on lists of items and on an item's page, and a range drawn in the scatter plot.
import "./researcher.js";

const STEP = 5;
const SWITCH = "thirdperson:item-keys";
const switchBox = document.querySelector("[data-shortcuts]");
const rows = [...document.querySelectorAll("[data-row]")];

function keysAreOn() {
  try {
    return localStorage.getItem(SWITCH) !== "off";
  } catch {
    return true;
  }
}

function mountSwitch() {
  document.querySelector("[data-shortcuts-box]").hidden = false;
  switchBox.checked = keysAreOn();
  switchBox.addEventListener("change", () => {
    try {
      localStorage.setItem(SWITCH, switchBox.checked ? "on" : "off");
    } catch {
      switchBox.checked = true; // The choice cannot be stored, so undo it.
    }
  });
}

function move(step) {
  if (rows.length) {
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step;
    if (next in rows) {
      const link = rows[next].querySelector("a");
      link.focus({ preventScroll: true });
      rows[next].scrollIntoView({ block: "nearest" });
      return;
    }
  }
  const name = step > 0 ? "next" : "prev";
  document.querySelector(`[data-walk] a[rel="${name}"]`)?.click();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !switchBox?.checked) return;
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  move(step);
});

if (switchBox) mountSwitch();

// A rectangle drawn with the pointer becomes the four certainties of the form.
const plot = document.querySelector("[data-brush]");

function certaintyAt(event) {
  const box = plot.getBoundingClientRect();
  const [left, top, side] = [plot.dataset.left, plot.dataset.top, plot.dataset.side].map(Number);
  const scale = plot.viewBox.baseVal.width / box.width;
  const across = ((event.clientX - box.left) * scale - left) / side;
  const up = 1 - ((event.clientY - box.top) * scale - top) / side;
  const within = (share) => Math.min(1, Math.max(0, share));
  return [within(across) * 100, within(up) * 100];
}

function draw(rectangle, from, to) {
  const [left, top, side] = [plot.dataset.left, plot.dataset.top, plot.dataset.side].map(Number);
  const low = [0, 1].map((n) => Math.min(from[n], to[n]));
  const high = [0, 1].map((n) => Math.max(from[n], to[n]));
  rectangle.setAttribute("x", left + (low[0] / 100) * side);
  rectangle.setAttribute("y", top + (1 - high[1] / 100) * side);
  rectangle.setAttribute("width", ((high[0] - low[0]) / 100) * side);
  rectangle.setAttribute("height", ((high[1] - low[1]) / 100) * side);
}

function choose(from, to) {
  const fields = document.getElementById("filters").elements;
  ["people", "judge"].forEach((name, n) => {
    // Whole steps of five, like the marks.
    const low = Math.min(19, Math.floor(Math.min(from[n], to[n]) / STEP));
    const high = Math.max(low + 1, Math.ceil(Math.max(from[n], to[n]) / STEP));
    fields[`${name}_from`].value = low * STEP + 1;
    fields[`${name}_to`].value = high * STEP;
  });
  document.getElementById("filters").requestSubmit();
}

function mountBrush() {
  const rectangle = plot.querySelector("[data-range]");
  let from = null;
  document.querySelector("[data-brush-hint]").hidden = false;
  plot.addEventListener("pointerdown", (event) => {
    if (event.button || event.pointerType === "touch") return; // A finger scrolls the page.
    from = certaintyAt(event);
    plot.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  plot.addEventListener("pointermove", (event) => {
    if (from) draw(rectangle, from, certaintyAt(event));
  });
  plot.addEventListener("pointerup", (event) => {
    if (!from) return;
    const [start, end] = [from, certaintyAt(event)];
    from = null;
    choose(start, end); // A click chooses the mark below it.
  });
  plot.addEventListener("pointercancel", () => {
    from = null;
  });
}

if (plot) mountBrush();
