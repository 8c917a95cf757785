// Draws the figures of a report, hands out their files, and filters its long tables.
"use strict";

const PRINT_WIDTH = 640;
const SMALL_PRINT_WIDTH = 310;
const plots = JSON.parse(document.getElementById("plots").textContent);
const places = [...document.querySelectorAll(".plot")].filter((place) => plots[place.id]);

function widthOf(place, printing) {
  if (!printing) return place.clientWidth;
  return place.closest(".multiples") ? SMALL_PRINT_WIDTH : PRINT_WIDTH;
}

function draw(place) {
  const { data, layout } = plots[place.id];
  const size = { width: widthOf(place, false), height: Number(place.dataset.height) };
  return Plotly.newPlot(place, data, { ...layout, ...size }, { displayModeBar: false });
}

function fit(printing) {
  for (const place of places) {
    const width = widthOf(place, printing);
    if (width > 0 && place.data && place.layout.width !== width) Plotly.relayout(place, { width });
  }
}

function button(label, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = label;
  element.addEventListener("click", action);
  return element;
}

function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

// A cell as a file holds it: quoted, and never something that a spreadsheet would execute.
function csvCell(text) {
  const isNumber = /^[-+−]?[\d.,]+( ?%)?$/.test(text);
  const safe = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}

function csvOf(table) {
  const lines = [...table.querySelectorAll("tr")].map((row) =>
    [...row.children]
      .flatMap((cell) => [cell.innerText.replace(/\s+/g, " ").trim(), ...Array(cell.colSpan - 1).fill("")])
      .map(csvCell)
      .join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function addTools(figure) {
  const tools = document.createElement("div");
  tools.className = "tools";
  for (const format of ["png", "svg"]) {
    tools.append(button(format.toUpperCase(), () => {
      for (const place of figure.querySelectorAll(".plot")) {
        const scale = format === "png" ? 3 : 1;
        Plotly.downloadImage(place, { format, filename: place.dataset.file, scale });
      }
    }));
  }
  const table = figure.querySelector("table");
  if (table) tools.append(button("CSV", () => save(`${table.dataset.csv}.csv`, "text/csv", csvOf(table))));
  figure.querySelector("figcaption").after(tools);
}

function addTableTools(box) {
  const table = box.querySelector("table[data-csv]");
  if (!table || box.closest("figure")) return;
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.append(button("CSV", () => save(`${table.dataset.csv}.csv`, "text/csv", csvOf(table))));
  box.append(tools);
}

function addFilter(input) {
  const rows = [...document.querySelectorAll(`#${input.dataset.filter} tbody tr`)];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    rows.forEach((row, index) => { row.hidden = !texts[index].includes(wanted); });
  });
}

document.querySelectorAll("figure").forEach(addTools);
document.querySelectorAll(".table-box").forEach(addTableTools);
document.querySelectorAll("[data-filter]").forEach(addFilter);
Promise.all(places.map(draw)).then(() => document.body.setAttribute("data-drawn", "yes"));

let waiting = 0;
window.addEventListener("resize", () => {
  window.clearTimeout(waiting);
  waiting = window.setTimeout(() => fit(false), 150);
});

// Paper has a width of its own, and shows what a reader would have to open.
const closed = () => document.querySelectorAll("#methods details:not([open]), #certainty > details:not([open]), .heat:not([open])");
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...closed()];
  opened.forEach((details) => { details.open = true; });
  fit(true);
});
window.addEventListener("afterprint", () => {
  opened.forEach((details) => { details.open = false; });
  fit(false);
});
