// The tables of a report as files: CSV with raw values, LaTeX and Markdown as they read on the page.
// What a row or a cell says is read from the page itself, so a file holds what is shown.

const SMALL_N = 30;
const TOO_SMALL_N = 10;

function button(label, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = label;
  element.addEventListener("click", action);
  return element;
}

function save(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function headings(table) {
  return [...[...table.tHead.rows].at(-1).cells];
}

// The rows that a file of the table holds; of a long table they are made one after the other.
function shownRows(table) {
  return longTables.get(table)?.elements() ?? table.tBodies[0].rows;
}

// What studies/exporters/tables.py takes for the beginning of a formula, and for the end of a line.
const UNSEEN = "[\\s\\x00-\\x20\\x7f-\\x9f\\xad\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff]*";
const FORMULA = new RegExp(`^'*(?:[\\t\\r\\n]|${UNSEEN}[=+\\-@＝＋－＠﹦﹢﹣﹫])`);
const QUOTED = /[",\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]/;

// A cell as a CSV file holds it: quoted where it must be, and never a formula.
function csvCell(value) {
  const text = String(value);
  const safe = typeof value === "string" && FORMULA.test(text) ? `'${text}` : text;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function rawCells(cell) {
  if (cell.dataset.raw) return JSON.parse(cell.dataset.raw);
  return [cell.textContent];
}

function csvOf(table) {
  const { threshold } = table.dataset;
  const names = headings(table).flatMap((cell) => JSON.parse(cell.dataset.names));
  const rows = Array.from(shownRows(table), (row) => [...row.cells].flatMap(rawCells));
  const lines = threshold
    ? [[...names, "threshold"], ...rows.map((row) => [...row, threshold])]
    : [names, ...rows];
  return lines.map((line) => `${line.map(csvCell).join(",")}\r\n`).join("");
}

// The figure of a cell and, in a share, how many it counts.
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

// A sign that LaTeX has no font for is written as its code point.
function texSign(sign) {
  const code = sign.codePointAt(0);
  if (code >= 0xc0 && code < 0x17f) return sign;
  if (code > 0x7e) return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
  return code < 0x20 ? " " : sign;
}

function tex(text) {
  return [...text].map((sign) => facts.tex[sign] ?? texSign(sign)).join("");
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
    `% ${table.dataset.title}`, ...notesOf(table).map((note) => `% ${note}`),
    `\\begin{tabular}{${layout}}`, "\\toprule",
    ...(spans.length ? [`${spans.join(" & ")} \\\\`] : []),
    `${columns.map((cell) => tex(cell.textContent)).join(" & ")} \\\\`, "\\midrule",
    ...Array.from(shownRows(table), (line) => `${[...line.cells].map(row).join(" & ")} \\\\`),
    "\\bottomrule", "\\end{tabular}", "",
  ].join("\n");
}

function markdown(text) {
  return text.replace(/[\\`*_{}[\]<>#|]/g, "\\$&").replace(/\s+/g, " ").trim();
}

function markdownOf(table) {
  const columns = headings(table);
  const row = (cell) => {
    const { text, counts, small } = partsOf(cell);
    return (small ? `*${markdown(text)}*` : markdown(text)) + (counts && ` ${markdown(counts)}`);
  };
  const notes = notesOf(table).map(markdown);
  return [
    `**${markdown(table.dataset.title)}**`, "",
    `| ${columns.map((cell) => markdown(cell.dataset.full ?? cell.textContent)).join(" | ")} |`,
    `|${columns.map((cell) => (cell.classList.contains("number") ? "--:" : ":--")).join("|")}|`,
    ...Array.from(shownRows(table), (line) => `| ${[...line.cells].map(row).join(" | ")} |`),
    "", ...(notes.length ? [...notes, ""] : []),
  ].join("\n");
}

const FORMATS = {
  CSV: { ending: "csv", type: "text/csv", write: csvOf },
  LaTeX: { ending: "tex", type: "text/plain", write: texOf },
  Markdown: { ending: "md", type: "text/markdown", write: markdownOf },
};

// Explored files say so in their names, too.
function fileName(table) {
  const [threshold, kind] = (table.dataset.threshold ?? "").split(", ");
  return kind === "explored" ? `${table.dataset.name}-explored-${threshold}` : table.dataset.name;
}

function tableButtons(table, labels) {
  return labels.map((label) => button(label, async () => {
    const { ending, type, write } = FORMATS[label];
    await longTables.get(table)?.load();
    save(`${fileName(table)}.${ending}`, write(table), type);
  }));
}

function addTableTools(box) {
  const table = box.querySelector("table[data-name]");
  const tools = document.createElement("div");
  tools.className = "tools";
  tools.setAttribute("role", "group");
  tools.setAttribute("aria-label", `Files of “${table.dataset.title}”`);
  tools.append(...tableButtons(table, Object.keys(FORMATS)));
  box.append(tools);
}
