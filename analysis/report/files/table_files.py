"""Tables as files: CSV and XLSX with raw values, LaTeX and Markdown with formatted values."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from analysis.report.tables import Cell, Table, csv_columns
from studies.exporters.csv_out import CsvWriter, csv_cells
from studies.exporters.xlsx_out import Book, workbook

# More rows than fit on a page of a paper: such a table is in its own file, not in all.tex.
LONG = 60
# More rows than any paper prints: such a table is a CSV file only.
TOO_LONG = 2_000

# Characters that pdfLaTeX would execute or cannot print.
TEX: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "\n": " ",
    "\t": " ",
    "\u00a0": "~",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "„": r"\quotedblbase{}",
    "…": r"\ldots{}",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "→": r"$\rightarrow$",
    "α": r"$\alpha$",
    "ε": r"$\varepsilon$",
    "κ": r"$\kappa$",
    "ρ": r"$\rho$",
    "τ": r"$\tau$",
    "ω": r"$\omega$",
}
# Latin letters that the T1 encoding has; other letters are written as their code point.
_LATIN = range(0xC0, 0x17F)

PREAMBLE = r"""\documentclass[a4paper,landscape]{article}
\usepackage[T1]{fontenc}
\usepackage{booktabs,graphicx}
\usepackage[margin=15mm]{geometry}
\setlength{\parindent}{0pt}
\newcommand{\fitted}[1]{\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{#1}}
\begin{document}"""


def write_tables(tables: Sequence[Table], folder: Path) -> None:
    """Write every table as CSV, LaTeX and Markdown.

    A LaTeX document shows them, and a workbook has a sheet for each.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        with (folder / f"{table.name}.csv").open("w", encoding="utf-8", newline="") as file:
            heading, columns = csv_columns(table)
            writer = CsvWriter(file, line_end="\r\n")
            writer.row(heading)
            writer.columns(map(csv_cells, columns))
        if len(table.rows) > TOO_LONG:
            continue
        (folder / f"{table.name}.tex").write_text(to_tex(table), encoding="utf-8")
        (folder / f"{table.name}.md").write_text(to_markdown(table), encoding="utf-8")
    (folder / "all.tex").write_text(to_document(tables), encoding="utf-8")
    with workbook(folder / "all.xlsx") as book:
        _write_sheets(tables, book)


def _write_sheets(tables: Sequence[Table], book: Book) -> None:
    """A sheet that lists the tables with their notes, and one for each that is not too long."""
    contents = book.sheet("contents", ["table", "title", "rows", "notes"])
    contents.rows(_entry(table) for table in tables)
    for table in tables:
        if len(table.rows) <= TOO_LONG:
            heading, columns = csv_columns(table)
            book.sheet(table.name, heading).rows(zip(*columns, strict=True))


def _entry(table: Table) -> list[str | int]:
    where = [f"Too long for a sheet: {table.name}.csv."] if len(table.rows) > TOO_LONG else []
    return [table.name, table.title, len(table.rows), "\n".join([*_notes(table), *where])]


def to_tex(table: Table) -> str:
    """The table for a paper: booktabs, small cells in italics, the note as a comment."""
    layout = "".join("l" if column.is_text else "r" for column in table.columns)
    lines = [f"% {line}" for line in (table.title, *_notes(table)) if line]
    lines += [rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
    if table.groups:
        spans = (rf"\multicolumn{{{n}}}{{c}}{{{tex(group)}}}" for group, n in table.groups)
        lines.append(" & ".join(spans) + r" \\")
    lines.append(" & ".join(tex(column.heading) for column in table.columns) + r" \\")
    lines.append(r"\midrule")
    for row in table.each_row():
        lines.append(" & ".join(map(_tex_cell, row)) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join(lines)


def to_document(tables: Sequence[Table]) -> str:
    """A document that compiles as it is and shows the tables that fit on a page."""
    lines = [PREAMBLE]
    for table in tables:
        if len(table.rows) > LONG:
            kind = "csv" if len(table.rows) > TOO_LONG else "tex"
            lines.append(f"% {table.name}.{kind} has {len(table.rows)} rows: too long for a page.")
            continue
        notes = "".join(rf"\\{{\footnotesize {tex(note)}}}" for note in _notes(table))
        lines.append(
            rf"\begin{{minipage}}{{\linewidth}}\textbf{{{tex(table.title)}}}\\[4pt]"
            rf"\fitted{{\input{{{table.name}.tex}}}}{notes}\end{{minipage}}\par\bigskip"
        )
    return "\n".join([*lines, r"\end{document}", ""])


def _notes(table: Table) -> list[str]:
    stamp = [f"Threshold of high certainty: {table.threshold}."] if table.threshold else []
    return [*stamp, *table.note.splitlines()]


def _tex_cell(cell: Cell) -> str:
    figure = rf"\textit{{{tex(cell.text)}}}" if cell.small else tex(cell.text)
    return f"{figure} {tex(cell.below[0])}" if cell.below else figure


@lru_cache(maxsize=10_000)
def tex(text: str) -> str:
    """Escape text for LaTeX; a letter that has no font is written as its code point."""
    return text.translate(_TEX_SIGNS)


class _TexSigns(dict[int, str]):
    """What `str.translate` puts for each sign, made when the sign is first met."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        self[code] = TEX.get(sign) or _letter(sign)
        return self[code]


def _letter(sign: str) -> str:
    code = ord(sign)
    if code > 0x7E and code not in _LATIN:
        return f"[U+{code:04X}]"
    return sign if code >= 0x20 else " "


_TEX_SIGNS = _TexSigns()


def to_markdown(table: Table) -> str:
    """The table for a README or a reply to a reviewer: small cells in italics."""
    heads = [f"{column.group} {column.heading}".strip() for column in table.columns]
    lines = [f"**{_markdown(table.title)}**", ""]
    lines.append(f"| {' | '.join(map(_markdown, heads))} |")
    lines.append("|" + "|".join(":--" if c.is_text else "--:" for c in table.columns) + "|")
    for row in table.each_row():
        lines.append(f"| {' | '.join(map(_markdown_cell, row))} |")
    notes = [_markdown(note) for note in _notes(table)]
    return "\n".join([*lines, "", *notes, ""]) if notes else "\n".join([*lines, ""])


def _markdown_cell(cell: Cell) -> str:
    text = _markdown(cell.text)
    figure = f"*{text}*" if cell.small else text
    return f"{figure} {_markdown(cell.below[0])}" if cell.below else figure


@lru_cache(maxsize=10_000)
def _markdown(text: str) -> str:
    """Escape text so that Markdown shows it unchanged."""
    return " ".join(text.translate(_MARKDOWN_SIGNS).split())


_MARKDOWN_SIGNS = {ord(sign): f"\\{sign}" for sign in "\\`*_{}[]<>#|"}
