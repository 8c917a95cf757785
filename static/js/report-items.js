// The table of items: filtered by words, by who was right, by group; sorted by any column.

const CASES = {
  all: () => true,
  judge_only: (people, judge) => people.right === 0 && judge.right === 1,
  people_only: (people, judge) => people.right === 1 && judge.right === 0,
  both_wrong: (people, judge) => people.right === 0 && judge.right === 0,
  differ: (people, judge) => people.choice !== null && judge.choice !== null && people.choice !== judge.choice,
  certain_wrong: (_, judge, tau) => judge.right === 0 && judge.certainty !== null && judge.certainty >= tau,
  people_certain_wrong: (people, _, tau) => people.right === 0 && people.certainty !== null && people.certainty >= tau,
  undecided: (people, judge) => people.choice === null || judge.choice === null,
};

function sidesOf(row) {
  return JSON.parse(row.dataset.sides).map(([choice, certainty, right]) => ({ choice, certainty, right }));
}

function thresholdNow() {
  const input = document.getElementById("threshold-value");
  return Number(input ? input.value : facts.threshold);
}

function addItemFilters(section) {
  const table = section.querySelector("table");
  const form = section.querySelector("form");
  const rows = [...table.tBodies[0].rows].map((row) => ({
    row, text: row.textContent.toLowerCase(), sides: sidesOf(row), groups: row.dataset.groups.split(" "),
  }));
  const show = () => {
    const [words, kind, group] = ["words", "case", "group"].map((name) => form.elements[name].value);
    const wanted = words.trim().toLowerCase();
    const judge = form.elements.run ? Number(form.elements.run.value) : 0;
    const tau = thresholdNow();
    let n = 0;
    for (const { row, text, sides, groups } of rows) {
      const [people, ...judges] = sides;
      const fits = CASES[kind](people, judges[judge] ?? { choice: null, certainty: null, right: null }, tau);
      row.hidden = !(fits && text.includes(wanted) && (!group || groups.includes(group)));
      n += row.hidden ? 0 : 1;
    }
    form.querySelector("output").textContent = `${n} of ${rows.length} items`;
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => window.setTimeout(show));
  document.querySelectorAll("form.threshold").forEach((control) => control.addEventListener("input", show));
  addSorting(table);
  linkItems(rows.map(({ row }) => row));
  addGroupButtons();
  form.hidden = false;
  show();
}

function addSorting(table) {
  headings(table).forEach((heading, column) => {
    const isNumber = heading.classList.contains("number");
    const sort = button(heading.textContent, () => {
      const falling = heading.getAttribute("aria-sort") === "ascending";
      const value = (row) => {
        const text = row.cells[column].textContent;
        if (!isNumber) return text;
        return text === "–" ? Number.NEGATIVE_INFINITY : Number(text.replaceAll(",", ""));
      };
      const order = (one, other) => (value(one) < value(other) ? -1 : value(one) > value(other) ? 1 : 0);
      const sorted = [...table.tBodies[0].rows].sort((one, other) => (falling ? -1 : 1) * order(one, other));
      headings(table).forEach((cell) => cell.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
      table.tBodies[0].append(...sorted);
    });
    heading.replaceChildren(sort);
  });
}

// In the app an item has a page of its own, two levels up; a file on a disk has no such place.
function linkItems(rows) {
  if (!new RegExp(`/studies/${facts.slug}/reports/[^/]+/report\\.html$`).test(window.location.pathname)) return;
  for (const row of rows) {
    const link = document.createElement("a");
    link.href = `../../items/${encodeURIComponent(row.dataset.item)}/`;
    link.textContent = row.cells[0].textContent;
    row.cells[0].replaceChildren(link);
  }
}

// What a press on a cell of a heat map does, for the keyboard: from the tables of the same groups.
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
  section.closest("details").open = true;
  form.reset();
  form.elements.group.value = group;
  form.dispatchEvent(new Event("input"));
  section.scrollIntoView();
  form.elements.group.focus();
}
