// Draws the figures of a report in the app, where plotly comes after the page, and offers their
// files. A file has no plotly, and keeps the still pictures.
import { button, bytesOf, facts, save } from "./report-page.js";
import { csvOf, fileName, tableButtons } from "./report-tables.js";
import { zip } from "./report-zip.js";

// On paper, a plot is drawn this wide, and the style sheet zooms it to fit.
const PRINT_WIDTH = 980;
const SMALL_PRINT_WIDTH = 310;
const PICTURES = { png: "image/png", svg: "image/svg+xml" };
const PNG_SCALE = 3;
// Filled when plotly is there.
export const plots = {};
export let places = [...document.querySelectorAll(".plot")];

function widthOf(place, printing) {
  if (!printing) return place.clientWidth;
  return place.closest(".multiples") ? SMALL_PRINT_WIDTH : PRINT_WIDTH;
}

export function isMoving() {
  return "Plotly" in window;
}

export function draw(place) {
  if (!plots[place.id]) return undefined;
  const { data, layout } = plots[place.id];
  place.replaceChildren();
  // A folded figure has no width yet; it is fitted once opened.
  const width = widthOf(place, false) || document.getElementById("main").clientWidth;
  const size = { width, height: Number(place.dataset.height) };
  return Plotly.newPlot(place, data, { ...layout, ...size }, { displayModeBar: false });
}

function soon(milliseconds = 0) {
  return new Promise((next) => {
    setTimeout(next, milliseconds);
  });
}

// One after the other, from the top, so that the page can be scrolled and used in between.
export async function drawAll() {
  while (document.readyState === "loading") await soon(50);
  if (!places.length || !document.querySelector("script[src]")) return;
  while (!isMoving()) await soon(50);
  Object.assign(plots, JSON.parse(document.getElementById("plots").textContent));
  places = places.filter((place) => plots[place.id]);
  for (const place of places) {
    await soon();
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
  const explored = document.body.hasAttribute("data-explored") && plots[place.id]?.marks;
  return explored
    ? `${place.id}-explored-${document.getElementById("threshold-value").value}`
    : place.id;
}

// The still picture as a file of its own.
function stillFile(place) {
  const still = place.querySelector("svg").cloneNode(true);
  still.setAttribute("width", still.viewBox.baseVal.width);
  still.setAttribute("height", still.viewBox.baseVal.height);
  return new XMLSerializer().serializeToString(still);
}

async function stillPicture(place, format) {
  const text = stillFile(place);
  if (format === "svg") return new TextEncoder().encode(text);
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: PICTURES.svg }));
  await image.decode();
  URL.revokeObjectURL(image.src);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width * PNG_SCALE, image.height * PNG_SCALE];
  const paper = canvas.getContext("2d");
  paper.fillStyle = "#ffffff";
  paper.fillRect(0, 0, canvas.width, canvas.height);
  paper.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((done) => {
    canvas.toBlob(done, PICTURES.png);
  });
  return new Uint8Array(await blob.arrayBuffer());
}

// A picture of a plot as bytes.
async function picture(place, format) {
  if (!isMoving()) return stillPicture(place, format);
  if (!place.data) await draw(place);
  const options = {
    format,
    scale: format === "png" ? PNG_SCALE : 1,
    width: widthOf(place, false) || PRINT_WIDTH,
  };
  const url = await Plotly.toImage(place, { ...options, height: Number(place.dataset.height) });
  const [head, body] = [url.slice(0, url.indexOf(",")), url.slice(url.indexOf(",") + 1)];
  if (!head.endsWith(";base64")) return new TextEncoder().encode(decodeURIComponent(body));
  return bytesOf(body);
}

// Another view of a figure, while its box is ticked.
export function addVariant(box) {
  box.closest(".option").hidden = false;
  box.addEventListener("change", () => {
    for (const place of box.closest("figure").querySelectorAll(".plot")) {
      Plotly.relayout(place, JSON.parse(box.checked ? box.dataset.on : box.dataset.off));
    }
  });
}

export function addFigureTools(figure) {
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.setAttribute("role", "group");
  tools.setAttribute("aria-label", `Files of “${figure.querySelector("h3").textContent}”`);
  for (const [format, type] of Object.entries(PICTURES)) {
    tools.append(
      button(format.toUpperCase(), async () => {
        for (const place of figure.querySelectorAll(".plot:not(:empty)")) {
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
  for (const place of places.filter((place) => place.firstChild)) {
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
