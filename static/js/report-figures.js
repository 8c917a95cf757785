// Draws the figures of a report and offers their files.
import { button, bytesOf, facts, save } from "./report-page.js";
import { csvOf, fileName, tableButtons } from "./report-tables.js";
import { zip } from "./report-zip.js";

// On paper, a plot is drawn this wide, and the style sheet zooms it to fit.
const PRINT_WIDTH = 980;
const SMALL_PRINT_WIDTH = 310;
// Filled when the page has arrived to its end, where they are: the rest can be used before.
export const plots = {};
export let places = [...document.querySelectorAll(".plot")];

function widthOf(place, printing) {
  if (!printing) return place.clientWidth;
  return place.closest(".multiples") ? SMALL_PRINT_WIDTH : PRINT_WIDTH;
}

export function draw(place) {
  if (!plots[place.id]) return undefined;
  const { data, layout } = plots[place.id];
  // A folded figure has no width yet; it is fitted once opened.
  const width = widthOf(place, false) || document.getElementById("main").clientWidth;
  const size = { width, height: Number(place.dataset.height) };
  return Plotly.newPlot(place, data, { ...layout, ...size }, { displayModeBar: false });
}

// In the app, plotly comes after the page. Without it, the tables below the figures remain.
async function whenPlotlyIsThere() {
  while (!window.Plotly || document.readyState === "loading")
    await new Promise((next) => {
      setTimeout(next, 50);
    });
  Object.assign(plots, JSON.parse(document.getElementById("plots").textContent));
  places = places.filter((place) => plots[place.id]);
}

// One after the other, from the top, so that the page can be scrolled and used in between.
export async function drawAll() {
  if (places.length) await whenPlotlyIsThere();
  for (const place of places) {
    await new Promise((next) => {
      setTimeout(next);
    });
    if (!place.data) await draw(place);
  }
  // What plotly measures texts with is outside the window, but screen readers would meet it.
  document.getElementById("js-plotly-tester")?.setAttribute("aria-hidden", "true");
}

export function fit(printing) {
  for (const place of places) {
    const width = widthOf(place, printing);
    if (width > 0 && place.data && place.layout.width !== width) Plotly.relayout(place, { width });
  }
}

function pictureName(place) {
  const explored = document.body.hasAttribute("data-explored") && plots[place.id].marks;
  return explored
    ? `${place.id}-explored-${document.getElementById("threshold-value").value}`
    : place.id;
}

// A picture of a plot as bytes.
async function picture(place, format) {
  if (!place.data) await draw(place);
  const options = {
    format,
    scale: format === "png" ? 3 : 1,
    width: widthOf(place, false) || PRINT_WIDTH,
  };
  const url = await Plotly.toImage(place, { ...options, height: Number(place.dataset.height) });
  const [head, body] = [url.slice(0, url.indexOf(",")), url.slice(url.indexOf(",") + 1)];
  if (!head.endsWith(";base64")) return new TextEncoder().encode(decodeURIComponent(body));
  return bytesOf(body);
}

// Another view of a figure, while its box is ticked.
export function addVariant(box) {
  box.addEventListener("change", () => {
    for (const place of box.closest("figure").querySelectorAll(".plot")) {
      Plotly.relayout(place, JSON.parse(box.checked ? box.dataset.on : box.dataset.off));
    }
  });
}

const PICTURES = { png: "image/png", svg: "image/svg+xml" };

export function addFigureTools(figure) {
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.setAttribute("role", "group");
  tools.setAttribute("aria-label", `Files of “${figure.querySelector("h3").textContent}”`);
  for (const [format, type] of Object.entries(PICTURES)) {
    tools.append(
      button(format.toUpperCase(), async () => {
        for (const place of figure.querySelectorAll(".plot")) {
          save(`${pictureName(place)}.${format}`, await picture(place, format), type);
        }
      }),
    );
  }
  const table = figure.querySelector("table[data-name]");
  if (table) tools.append(...tableButtons(table, ["CSV"]));
  figure.querySelector("figcaption").after(tools);
}

// Every figure as PNG and SVG, and its numbers as CSV, in one archive.
export async function saveFigures() {
  const files = [];
  for (const place of places) {
    for (const format of Object.keys(PICTURES)) {
      files.push({
        name: `figures/${pictureName(place)}.${format}`,
        bytes: await picture(place, format),
      });
    }
  }
  for (const table of document.querySelectorAll("figure table[data-name]")) {
    files.push({
      name: `figures/${fileName(table)}.csv`,
      bytes: new TextEncoder().encode(csvOf(table)),
    });
  }
  save(`${facts.slug}.figures.zip`, zip(files), "application/zip");
}
