// The rows of long tables. The page shows the first ones; more are packed into it, and in the app
// the server has the rest of the table of items. They are read when a reader asks for them.

import { button, bytesOf, facts, headings, lineBelow, oneDecimal } from "./report-page.js";

export const ROWS_AT_ONCE = 100;
export const longTables = new Map();

// In the app, a report's address is below its study; a file on a disk has no such address.
export function isInApp() {
  return new RegExp(`/studies/${facts.slug}/reports/[^/]+/(?:report|article/article)\\.html$`).test(
    window.location.pathname,
  );
}

async function unpack(script) {
  const bytes = bytesOf(script.textContent);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

class LongTable {
  constructor(table) {
    this.table = table;
    this.isNumber = headings(table).map((heading) => heading.classList.contains("number"));
    this.rows = [...table.tBodies[0].rows].map((element) => ({ element }));
    this.total = Number(table.dataset.rows ?? this.rows.length);
    this.limit = ROWS_AT_ONCE;
    this.fits = null; // which rows are wanted; null for all
    this.order = null;
    this.chosen = this.rows;
    this.finish = () => {}; // what else a shown row needs
    this.sources = [];
    if ("packed" in table.dataset) this.sources.push(() => this.readPacked());
    if (table.dataset.more && isInApp()) this.sources.push(() => this.readPage(table.dataset.more));
    this.more = button("Show more rows", () => {
      this.limit += ROWS_AT_ONCE;
      return this.show();
    });
    if (this.sources.length) table.closest(".scroll").after(this.more);
  }

  // The packed rows come after this script, so that it need not wait for them.
  async readPacked() {
    if (document.readyState === "loading")
      await new Promise((done) => document.addEventListener("DOMContentLoaded", done));
    const packed = await unpack(
      document.querySelector(`script.packed[data-of="${this.table.dataset.name}"]`),
    );
    for (const [cells, correct, groups] of packed.slice(this.rows.length))
      this.rows.push({ cells, correct, groups });
    this.sources.shift();
  }

  async readPage(address) {
    const after = encodeURIComponent(this.textsOf(this.rows.at(-1))[0]);
    const answer = await fetch(`${address}?after=${after}`).catch(() => ({ ok: false }));
    const page = answer.ok ? await answer.json() : { rows: [], more: false };
    for (const [cells, correct, groups] of page.rows) this.rows.push({ cells, correct, groups });
    if (!page.more) this.sources.shift();
  }

  // Read until there are `n` rows, or no more are available.
  async load(n = this.total) {
    while (this.rows.length < n && this.sources.length) {
      this.reading ??= this.sources[0]().finally(() => {
        this.reading = null;
      });
      await this.reading;
    }
  }

  // Show the rows that are wanted, the first ones at once.
  async show() {
    const call = Symbol("of several, the last one counts");
    this.call = call;
    await this.load(this.fits || this.order ? this.total : this.limit);
    if (call !== this.call) return;
    this.chosen = this.fits ? this.rows.filter(this.fits) : this.rows;
    if (this.order) this.chosen = [...this.chosen].sort(this.order);
    this.table.tBodies[0].replaceChildren(
      ...this.chosen.slice(0, this.limit).map((row) => this.elementOf(row)),
    );
    this.more.hidden =
      this.limit >= (this.fits || this.order ? this.chosen.length : this.total) ||
      (this.limit >= this.rows.length && !this.sources.length);
  }

  // How many rows are wanted, and of how many.
  get count() {
    const n = this.fits ? this.chosen.length : this.total;
    return { n, of: this.fits ? this.rows.length : this.total };
  }

  *elements() {
    for (const row of this.chosen) yield this.elementOf(row);
  }

  textsOf(row) {
    row.texts ??= row.element
      ? [...row.element.cells].map((cell) => cell.textContent)
      : row.cells.map((cell, column) => this.partsOf(cell, column).text);
    return row.texts;
  }

  elementOf(row) {
    const element = row.element ?? document.createElement("tr");
    if (!row.element)
      element.append(...row.cells.map((cell, column) => this.cellElement(cell, column)));
    this.finish(element, row);
    return element;
  }

  cellElement(packed, column) {
    const { text, raw, small, below } = this.partsOf(packed, column);
    const cell = document.createElement(column ? "td" : "th");
    if (!column) cell.scope = "row";
    cell.textContent = text;
    if (this.isNumber[column]) cell.classList.add("number");
    else if (text.length > 60) cell.classList.add("long");
    cell.classList.toggle("small", small);
    if (raw) cell.dataset.raw = JSON.stringify(raw);
    for (const line of below) cell.append(lineBelow(line));
    return cell;
  }

  // A packed cell is a text, a number, null, or an array of its shown text and its CSV value.
  partsOf(packed, column) {
    if (Array.isArray(packed))
      return { text: packed[0], raw: packed[1], small: packed[2], below: packed[3] };
    const plain = { small: false, below: [] };
    if (packed === null) return { text: "–", raw: [""], ...plain };
    if (this.isNumber[column]) return { text: oneDecimal(packed), raw: [packed], ...plain };
    return { text: packed, raw: null, ...plain };
  }
}

export function addLongTable(table) {
  longTables.set(table, new LongTable(table));
}
