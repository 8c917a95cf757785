// A threshold that a reader tries: tables, marks and files follow it and say that it is explored.
// Every number was computed in advance and is only looked up here.

import { isMoving, places, plots } from "./report-figures.js";
import { facts, lineBelow, oneDecimal } from "./report-page.js";

const SMALL_N = 30;
const TOO_SMALL_N = 10;

function stepAt(steps, threshold) {
  return steps.findLast((step) => step[0] <= threshold) ?? steps[0];
}

function shareWords(correct, n) {
  return n < TOO_SMALL_N ? "–" : `${oneDecimal((100 * correct) / n)} %`;
}

function showCell(cell, [, n, correct, low, high]) {
  const known = low !== undefined;
  const below = [`(${correct}/${n})`];
  if (known && n >= TOO_SMALL_N) below.push(`${oneDecimal(100 * low)}–${oneDecimal(100 * high)} %`);
  const figure = n === 0 ? "–" : n < TOO_SMALL_N ? "too few" : oneDecimal((correct / n) * 100);
  cell.replaceChildren(figure, ...below.map(lineBelow));
  cell.classList.toggle("small", n > 0 && n < SMALL_N);
  cell.dataset.raw = JSON.stringify([
    n ? Number((correct / n).toPrecision(10)) : "", // as many digits as in report.json
    correct,
    n,
    known ? low : "",
    known ? high : "",
  ]);
}

function showTables(threshold, words) {
  for (const table of document.querySelectorAll("table[data-threshold]")) {
    table.dataset.threshold = words;
    for (const cell of table.querySelectorAll("[data-steps]")) {
      showCell(cell, stepAt(JSON.parse(cell.dataset.steps), threshold));
    }
  }
}

// What a threshold changes in a figure, by the kind of its marks.
const MARKS = {
  corner(place, { all, steps }, threshold, explored) {
    const [, highRight, highAll, lowRight, lowAll] = stepAt(steps, threshold);
    const line = (label, right, n) => `${label} ${shareWords(right, n)} (${right}/${n})`;
    const text = [
      line("All", ...all),
      line("High", highRight, highAll),
      line("Low", lowRight, lowAll),
    ];
    if (explored) text.push(`high from ${threshold}, explored`);
    Plotly.relayout(place, { "annotations[0].text": text.join("<br>") });
  },
  coverage(place, { alt }, threshold, explored) {
    const told = [];
    place.data.forEach((trace, index) => {
      if (trace.meta !== "mark") return;
      const line = place.data[index - 1];
      const at = line.customdata.findIndex(([from]) => from >= threshold);
      const [x, y] = at < 0 ? [[], []] : [[line.x[at]], [line.y[at]]];
      Plotly.restyle(place, { x: [x], y: [y] }, index);
      if (at >= 0)
        told.push(`${line.name} ${oneDecimal(100 * y[0])} % at ${oneDecimal(100 * x[0])} %`);
    });
    const found = told.join("; ") || "too few answers to mark";
    place.previousElementSibling.textContent = `${alt} At certainty ${threshold}: ${found}`;
    say(place, explored ? `marks: certainty ≥ ${threshold}, explored` : "");
  },
  line(place, _, threshold, explored) {
    Plotly.relayout(place, { "shapes[0].x0": threshold, "shapes[0].x1": threshold });
    say(place, explored ? `${threshold}, explored` : "");
  },
};

// Text inside the drawing, so that a saved picture includes it.
function say(place, text) {
  const note = {
    text,
    xref: "paper",
    yref: "paper",
    x: 1,
    y: 0,
    xanchor: "right",
    yanchor: "bottom",
    showarrow: false,
    font: { size: 12 },
    bgcolor: "rgba(255,255,255,.85)",
  };
  Plotly.relayout(place, { annotations: text ? [note] : [] });
}

// Still pictures keep the report's threshold, and so do their titles and stamps.
function showFigures(threshold, explored) {
  if (!isMoving()) return;
  for (const title of document.querySelectorAll("h3[data-neutral]")) {
    title.dataset.finding ??= title.textContent;
    title.textContent =
      threshold === facts.threshold ? title.dataset.finding : title.dataset.neutral;
  }
  for (const place of places) {
    const marks = plots[place.id].marks;
    if (marks) MARKS[marks.kind](place, marks, threshold, explored);
  }
}

export function addThreshold(form) {
  const input = form.querySelector("input");
  const registered = Number(form.dataset.registered);
  const status = form.querySelector("[role=status]");
  const back = form.querySelector("button");
  const describe = () => {
    const threshold = Number(input.value);
    const explored = threshold !== registered;
    const words = `${threshold}, ${explored ? "explored" : form.dataset.standing}`;
    form.querySelector("output").textContent = threshold;
    input.setAttribute("aria-valuetext", words);
    status.textContent = explored
      ? `Explored threshold ${threshold}. ${isMoving() ? form.dataset.explored : form.dataset.exploredInTables}`
      : form.dataset.words;
    back.hidden = !explored;
    document.body.toggleAttribute("data-explored", explored);
    const stamps = isMoving() ? ".threshold-stamp" : "table .threshold-stamp";
    document.querySelectorAll(stamps).forEach((stamp) => {
      stamp.textContent = `Threshold ${words}`;
      stamp.classList.toggle("explored-stamp", explored);
    });
    return { threshold, explored, words };
  };
  const show = () => {
    const { threshold, explored, words } = describe();
    showTables(threshold, words);
    showFigures(threshold, explored);
  };
  input.addEventListener("input", show);
  back.addEventListener("click", () => {
    input.value = registered;
    show();
    input.focus();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  describe();
  form.hidden = false;
}
