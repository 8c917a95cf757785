// The tables of a report as files: CSV of raw values, LaTeX and Markdown as on the page. Rows and
// cells are read from the page, so a file has what is shown.

import { button, facts, headings, save } from "./report-page.js";
import { longTables } from "./report-rows.js";

// The rows of a table's file; those of a long table are created one after the other.
function shownRows(table) {
  return longTables.get(table)?.elements() ?? table.tBodies[0].rows;
}

// The beginnings of formulas and the line ends of studies/exporters/tables.py.
const UNSEEN =
  "\\x00-\\x20\\x7f-\\xa0\\xad\\u061c\\u1680\\u180e\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3000\\ufeff";
const BREAKS = "\\r\\n\\x0b\\x0c\\x1c-\\x1e\\x85\\u2028\\u2029";
const SIGNS = "=@＝＋－＠﹦﹢﹣﹫";
const FORMULA = new RegExp(`^'*(?:[\\t\\r\\n]|[${UNSEEN}]*[${SIGNS}+\\-])`);
// “- milk” and “+ milk” are entries of a list.
const FORMULA_LINE = new RegExp(
  `([${BREAKS}])(?='*(?:(?![${BREAKS}])[${UNSEEN}])*(?:[${SIGNS}]|[+\\-](?! )))`,
  "g",
);
const QUOTED = new RegExp(`[",${BREAKS}]`);

// A CSV cell: quoted if necessary, and never a formula.
function csvCell(value) {
  const text = String(value);
  const safe = typeof value === "string" ? spreadsheetText(text) : text;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function spreadsheetText(text) {
  const lines = text.replace(FORMULA_LINE, "$1'");
  return FORMULA.test(text) ? `'${lines}` : lines;
}

function rawCells(cell) {
  if (cell.dataset.raw) return JSON.parse(cell.dataset.raw);
  return [cell.textContent];
}

export function csvOf(table) {
  const { threshold } = table.dataset;
  const names = headings(table).flatMap((cell) => JSON.parse(cell.dataset.names));
  const rows = Array.from(shownRows(table), (row) => [...row.cells].flatMap(rawCells));
  const lines = threshold
    ? [[...names, "threshold"], ...rows.map((row) => [...row, threshold])]
    : [names, ...rows];
  return lines.map((line) => `${line.map(csvCell).join(",")}\r\n`).join("");
}

// The figure of a cell, and for a share its count.
function partsOf(cell) {
  const [below] = cell.querySelectorAll(".below");
  return {
    text: cell.firstChild ? cell.firstChild.textContent : "",
    counts: below ? ` ${below.textContent}` : "",
    small: cell.classList.contains("small"),
  };
}

function notesOf(table) {
  const { threshold, note } = table.dataset;
  const stamp = threshold ? [`Threshold of high certainty: ${threshold}.`] : [];
  return note ? [...stamp, note] : stamp;
}

// A character that LaTeX has no font for is written as its code point.
function texSign(sign) {
  const code = sign.codePointAt(0);
  if (code >= 0xc0 && code < 0x17f) return sign;
  if (code > 0x7e) return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  return code < 0x20 ? " " : sign;
}

function tex(text) {
  return [...text].map((sign) => facts.tex[sign] ?? texSign(sign)).join("");
}

// A rule under the head of each group, apart from the next.
function rulesBelow(groups) {
  let last = 0;
  const rules = [];
  for (const cell of groups) {
    const first = last + 1;
    last += cell.colSpan;
    if (cell.textContent) rules.push(`\\cmidrule(lr){${first}-${last}}`);
  }
  return rules.join(" ");
}

function texOf(table) {
  const columns = headings(table);
  const layout = columns.map((cell) => (cell.classList.contains("number") ? "r" : "l")).join("");
  const groups = table.tHead.rows.length > 1 ? [...table.tHead.rows[0].cells] : [];
  const spans = groups.map((cell) => `\\multicolumn{${cell.colSpan}}{c}{${tex(cell.textContent)}}`);
  const row = (cell) => {
    const { text, counts, small } = partsOf(cell);
    return (small ? `\\textit{${tex(text)}}` : tex(text)) + tex(counts);
  };
  return [
    `% ${table.dataset.title}`,
    ...notesOf(table).map((note) => `% ${note}`),
    `\\begin{tabular}{${layout}}`,
    "\\toprule",
    ...(spans.length ? [`${spans.join(" & ")} \\\\`, rulesBelow(groups)] : []),
    `${columns.map((cell) => tex(cell.textContent)).join(" & ")} \\\\`,
    "\\midrule",
    ...Array.from(shownRows(table), (line) => `${[...line.cells].map(row).join(" & ")} \\\\`),
    "\\bottomrule",
    "\\end{tabular}",
    "",
  ].join("\n");
}

function markdown(text) {
  return text
    .replace(/[\\`*_{}[\]<>#|]/g, "\\$&")
    .replace(/\s+/g, " ")
    .trim();
}

function markdownOf(table) {
  const columns = headings(table);
  const row = (cell) => {
    const { text, counts, small } = partsOf(cell);
    return (small ? `*${markdown(text)}*` : markdown(text)) + (counts && ` ${markdown(counts)}`);
  };
  const notes = notesOf(table).map(markdown);
  return [
    `**${markdown(table.dataset.title)}**`,
    "",
    `| ${columns.map((cell) => markdown(cell.dataset.full ?? cell.textContent)).join(" | ")} |`,
    `|${columns.map((cell) => (cell.classList.contains("number") ? "--:" : ":--")).join("|")}|`,
    ...Array.from(shownRows(table), (line) => `| ${[...line.cells].map(row).join(" | ")} |`),
    "",
    ...(notes.length ? [...notes, ""] : []),
  ].join("\n");
}

const FORMATS = {
  CSV: { ending: "csv", type: "text/csv", write: csvOf },
  LaTeX: { ending: "tex", type: "text/plain", write: texOf },
  Markdown: { ending: "md", type: "text/markdown", write: markdownOf },
};

// The names of explored files say so, too.
export function fileName(table) {
  const [threshold, kind] = (table.dataset.threshold ?? "").split(", ");
  return kind === "explored" ? `${table.dataset.name}-explored-${threshold}` : table.dataset.name;
}

export function tableButtons(table, labels) {
  return labels.map((label) =>
    button(label, async () => {
      const { ending, type, write } = FORMATS[label];
      await longTables.get(table)?.load();
      save(`${fileName(table)}.${ending}`, write(table), type);
    }),
  );
}

export function addTableTools(box) {
  const table = box.querySelector("table[data-name]");
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.setAttribute("role", "group");
  tools.setAttribute("aria-label", `Files of “${table.dataset.title}”`);
  tools.append(...tableButtons(table, Object.keys(FORMATS)));
  box.append(tools);
}
