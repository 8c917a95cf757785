// The table of items: filtered by words, by who was right, by group; sorted by any column.

import { button, facts, headings, unfoldAround } from "./report-page.js";
import { addLongTable, isInApp, longTables, ROWS_AT_ONCE } from "./report-rows.js";

const CASES = {
  judge_only: (people, judge) => people.right === 0 && judge.right === 1,
  people_only: (people, judge) => people.right === 1 && judge.right === 0,
  both_wrong: (people, judge) => people.right === 0 && judge.right === 0,
  differ: (people, judge) =>
    people.choice !== null && judge.choice !== null && people.choice !== judge.choice,
  certain_wrong: (_, judge, tau) =>
    judge.right === 0 && judge.certainty !== null && judge.certainty >= tau,
  people_certain_wrong: (people, _, tau) =>
    people.right === 0 && people.certainty !== null && people.certainty >= tau,
  undecided: (people, judge) => people.choice === null || judge.choice === null,
};
const NOBODY = { choice: null, certainty: null, right: null };
// The first side's choice and certainty; those of each judge follow.
const FIRST_SIDE = 5;

// The answers of people and of a judge to an item, and whether they were right.
function sidesOf(row, judge) {
  const side = (number) => {
    if (row.element) {
      row.sides ??= JSON.parse(row.element.dataset.sides);
      const [choice, certainty, right] = row.sides[number] ?? [null, null, null];
      return { choice, certainty, right };
    }
    if (row.correct[number] === undefined) return NOBODY;
    const [choice, certainty] = row.cells.slice(FIRST_SIDE + 2 * number);
    const right = row.correct[number];
    return { choice, certainty, right: right === null ? null : Number(right) };
  };
  return [side(0), side(1 + judge)];
}

function groupsOf(row) {
  row.groups ??= row.element.dataset.groups.split(" ").map((group) => Number(group.split(".")[1]));
  return row.groups;
}

function thresholdNow() {
  const input = document.getElementById("threshold-value");
  return Number(input ? input.value : facts.threshold);
}

// The filter that a reader has set; null if it lets every row pass.
function filterOf(form, items) {
  const [words, kind, group] = ["words", "case", "group"].map((name) => form.elements[name].value);
  const wanted = words.trim().toLowerCase();
  const judge = form.elements.run ? Number(form.elements.run.value) : 0;
  const [grouping, code] = group.split(".").map(Number);
  const tau = thresholdNow();
  if (!wanted && kind === "all" && !group) return null;
  return (row) =>
    (kind === "all" || CASES[kind](...sidesOf(row, judge), tau)) &&
    (!group || groupsOf(row)[grouping] === code) &&
    (!wanted || items.textsOf(row).join("\n").toLowerCase().includes(wanted));
}

export function addItemFilters(section) {
  const table = section.querySelector("table");
  const form = section.querySelector("form");
  if (!longTables.has(table)) addLongTable(table);
  const items = longTables.get(table);
  if (isInApp()) items.finish = linkItem;
  const said = form.querySelector("output");
  const show = async () => {
    items.fits = filterOf(form, items);
    if (items.fits && items.sources.length) said.textContent = "Reading all items.";
    await items.show();
    const { n, of } = items.count;
    said.textContent =
      of < items.total ? `${n} of the ${of} items in this file` : `${n} of ${of} items`;
  };
  form.addEventListener("input", () => {
    items.limit = ROWS_AT_ONCE;
    show();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => window.setTimeout(show));
  for (const control of document.querySelectorAll("form.threshold")) {
    control.addEventListener("input", show);
  }
  addSorting(items, show);
  addGroupButtons();
  form.hidden = false;
  show();
}

function addSorting(items, show) {
  const { table } = items;
  headings(table).forEach((heading, column) => {
    const sort = button(heading.textContent, () => {
      const falling = heading.getAttribute("aria-sort") === "ascending";
      const value = (row) => {
        const text = items.textsOf(row)[column];
        if (!items.isNumber[column]) return text;
        return text === "–" ? Number.NEGATIVE_INFINITY : Number(text.replaceAll(",", ""));
      };
      const order = (one, other) =>
        value(one) < value(other) ? -1 : value(one) > value(other) ? 1 : 0;
      items.order = (one, other) => (falling ? -1 : 1) * order(one, other);
      for (const cell of headings(table)) cell.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
      show();
    });
    heading.replaceChildren(sort);
  });
}

// In the app, an item has its own page, two levels up.
function linkItem(element) {
  const [cell] = element.cells;
  if (cell.firstElementChild) return;
  const link = document.createElement("a");
  link.href = `../../items/${encodeURIComponent(cell.textContent)}/`;
  link.textContent = cell.textContent;
  cell.replaceChildren(link);
}
// The names of groups in their tables show the group's items.
function addGroupButtons() {
  for (const table of document.querySelectorAll('table[data-name^="group_"]')) {
    const number = Number(table.dataset.name.slice("group_".length)) - 1;
    [...table.tBodies[0].rows].forEach((row, code) => {
      const [name] = row.cells;
      const show = button(name.textContent, () => showItemsOf(`${number}.${code}`));
      show.title = "Show its items";
      name.replaceChildren(show);
    });
  }
}

// Items of one group.
function showItemsOf(group) {
  const section = document.querySelector(".items");
  if (!section) return;
  const form = section.querySelector("form");
  unfoldAround(section);
  form.reset();
  form.elements.group.value = group;
  form.dispatchEvent(new Event("input"));
  section.scrollIntoView();
  form.elements.group.focus();
}
