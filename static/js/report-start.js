// Gives the report its buttons, draws it, and prepares it for paper.

let isWhole = false;

document.querySelectorAll("figure[id]").forEach(addFigureTools);
document.querySelectorAll(".table-box").forEach(addTableTools);
document.querySelectorAll("[data-download]").forEach((element) => {
  const [kind, name] = [element.dataset.download, element.dataset.file];
  const text = () => document.getElementById(kind).textContent;
  element.addEventListener("click", () =>
    kind === "figures" ? saveFigures() : save(name, text(), "text/plain"),
  );
});
document.querySelectorAll("button[data-print]").forEach((element) =>
  element.addEventListener("click", () => {
    isWhole = element.dataset.print === "all";
    window.print();
    isWhole = false;
  }),
);
document.querySelectorAll("table[data-rows]").forEach(addLongTable);
document.querySelectorAll(".items").forEach(addItemFilters);
document.addEventListener("toggle", fitOpened, true);
window.addEventListener("hashchange", unfold);
// The second click on a link changes no address.
document.addEventListener("click", (event) => {
  if (event.target.closest?.("a[href^='#']")?.hash === location.hash) unfold();
});
unfold();
drawAll().then(() => {
  document.querySelectorAll("form.threshold").forEach(addThreshold);
  document.querySelectorAll("input[data-on]").forEach(addVariant);
  places
    .filter((place) => place.id.startsWith("heat_"))
    .forEach((place) => {
      place.on("plotly_click", (event) => showItemsOf(event.points[0].customdata));
    });
  document.querySelectorAll(".needs-script").forEach((element) => {
    element.hidden = false;
  });
  document.body.setAttribute("data-drawn", "yes");
});

let waiting = 0;
window.addEventListener("resize", () => {
  window.clearTimeout(waiting);
  waiting = window.setTimeout(() => fit(isPrinting), 150);
});

// Paper has a width of its own. It has what is open, the main tables, and everything on request,
// except what only helps on a screen.
const MAIN = "details[data-print]";
const REST = "details:not(.on-screen, #items, #table-raters details, figure details)";
const closed = () =>
  [...document.querySelectorAll(isWhole ? `${MAIN}, ${REST}` : MAIN)].filter(
    (details) => !details.open,
  );
let opened = [];
window.addEventListener("beforeprint", () => {
  isPrinting = true;
  opened = closed();
  opened.forEach((details) => {
    details.open = true;
  });
  places.filter((place) => !place.data).forEach(draw);
  fit(true);
});
window.addEventListener("afterprint", () => {
  isPrinting = false;
  opened.forEach((details) => {
    details.open = false;
  });
  fit(false);
});
