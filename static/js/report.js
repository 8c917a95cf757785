// Starts the page of a report: adds buttons, draws figures, and prepares it for paper.
import {
  addFigureTools,
  addVariant,
  draw,
  drawAll,
  fit,
  isMoving,
  places,
  saveFigures,
} from "./report-figures.js";
import { addItemFilters } from "./report-items.js";
import { save, unfoldAround } from "./report-page.js";
import { addLongTable, isInApp } from "./report-rows.js";
import { addTableTools } from "./report-tables.js";
import { addThreshold } from "./report-threshold.js";

let isWhole = false;
let isPrinting = false;

// A link to or into a folded part unfolds it.
function unfold() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const chapter = place?.querySelector(":scope > details.chapter:not([open])");
  if (chapter) chapter.open = true;
  if (unfoldAround(place) || chapter) place.scrollIntoView();
}

for (const figure of document.querySelectorAll("figure[id]")) addFigureTools(figure);
for (const box of document.querySelectorAll(".table-box")) addTableTools(box);
for (const element of document.querySelectorAll("[data-download]")) {
  const { download: kind, file } = element.dataset;
  element.addEventListener("click", () => {
    if (kind === "figures") saveFigures();
    else save(file, document.getElementById(kind).textContent, "text/plain");
  });
}
for (const element of document.querySelectorAll("button[data-print]")) {
  element.addEventListener("click", () => {
    isWhole = element.dataset.print === "all";
    window.print();
    isWhole = false;
  });
}
for (const table of document.querySelectorAll("table[data-rows]")) addLongTable(table);
// Links to pages of the app lead nowhere from a file.
for (const element of document.querySelectorAll(".in-app")) element.hidden = !isInApp();
for (const section of document.querySelectorAll(".items")) addItemFilters(section);
window.addEventListener("hashchange", unfold);
// A second click on a link does not change the address.
document.addEventListener("click", (event) => {
  if (event.target.closest?.("a[href^='#']")?.hash === location.hash) unfold();
});
unfold();
drawAll().then(() => {
  for (const form of document.querySelectorAll("form.threshold")) addThreshold(form);
  if (isMoving()) for (const box of document.querySelectorAll("input[data-on]")) addVariant(box);
  for (const element of document.querySelectorAll(".needs-script")) element.hidden = false;
  document.body.setAttribute("data-drawn", "yes");
});

// A figure inside a closed part had no width until now.
document.addEventListener(
  "toggle",
  (event) => {
    if (event.target.open) fit(isPrinting);
  },
  true,
);
let waiting = 0;
window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => fit(isPrinting), 150);
});

// Paper has its own width. It gets open parts, the main tables, and everything on request, except
// what only helps on a screen.
const MAIN = "details[data-print]";
const REST = "details:not(.on-screen, #items, figure details)";
let opened = [];

window.addEventListener("beforeprint", () => {
  isPrinting = true;
  const printed = document.querySelectorAll(isWhole ? `${MAIN}, ${REST}` : MAIN);
  opened = [...printed].filter((details) => !details.open);
  for (const details of opened) details.open = true;
  for (const place of places) if (!place.data && isMoving()) draw(place);
  fit(true);
});
window.addEventListener("afterprint", () => {
  isPrinting = false;
  for (const details of opened) details.open = false;
  fit(false);
});
