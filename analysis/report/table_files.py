"""Tables as files, as terminal text, and in parts for a page's script."""

import base64
import json
import textwrap
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.report.tables import Cell, Table, compact, csv_columns
from studies.exporters.tables import Book, CsvWriter, csv_cells, workbook

if TYPE_CHECKING:
    from studies.file_storage.storage import Stored

# Tables with more rows do not fit on a page: they are in their own file, not in all.tex.
LONG = 60
# Tables with more rows than any paper prints are only CSV files.
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
# Latin letters in the T1 encoding; others are written as code points.
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
    """A sheet that lists the tables with notes, and a sheet for each table that is not too long."""
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
    """The table for a paper: booktabs, small n in italics, the note as a comment."""
    layout = "".join("l" if column.is_text else "r" for column in table.columns)
    lines = [f"% {line}" for line in (table.title, *_notes(table)) if line]
    lines += [rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
    if table.groups:
        spans = (rf"\multicolumn{{{n}}}{{c}}{{{tex(group)}}}" for group, n in table.groups)
        lines.append(" & ".join(spans) + r" \\")
        lines.append(" ".join(_rules(table.groups)))
    lines.append(" & ".join(tex(column.heading) for column in table.columns) + r" \\")
    lines.append(r"\midrule")
    for row in table.each_row():
        lines.append(" & ".join(map(_tex_cell, row)) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join(lines)


def _rules(groups: Sequence[tuple[str, int]]) -> Iterator[str]:
    """A rule under the head of each group, apart from the next."""
    last = 0
    for group, n in groups:
        first, last = last + 1, last + n
        if group:
            yield rf"\cmidrule(lr){{{first}-{last}}}"


def to_document(tables: Sequence[Table]) -> str:
    """A document that compiles unchanged and shows the tables that fit on a page."""
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
    return [*stamp, *str(table.note).splitlines()]


def _tex_cell(cell: Cell) -> str:
    figure = rf"\textit{{{tex(cell.text)}}}" if cell.small else tex(cell.text)
    return f"{figure} {tex(cell.below[0])}" if cell.below else figure


@lru_cache(maxsize=10_000)
def tex(text: str) -> str:
    """Escape text for LaTeX; letters without a font become code points."""
    return text.translate(_TEX_SIGNS)


class _TexSigns(dict[int, str]):
    """A table for `str.translate`, filled when a character first occurs."""

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
    """The table for a README or a reply to a reviewer: small n in italics."""
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


WIDEST = 52  # a longer cell wraps


def to_text(table: Table) -> str:
    """A heading and a table with aligned columns; long cells wrap."""
    head = [column.heading for column in table.columns]
    cells = ([" ".join([cell.text, *cell.below]) for cell in row] for row in table.cells)
    lines_of = [head, *cells]
    rows = [[textwrap.wrap(cell, WIDEST) or [""] for cell in line] for line in lines_of]
    widths = [max(len(part) for line in rows for part in line[i]) for i in range(len(head))]
    lines = [table.title, "-" * len(table.title)]
    for line in rows:
        for parts in zip_longest(*line, fillvalue=""):
            padded = (f"{part:<{width}}" for part, width in zip(parts, widths, strict=True))
            lines.append("  ".join(padded).rstrip())
    return "\n".join([*lines, ""])


# Bytes of packed rows per table in the page, where base64 turns three bytes into four characters.
PACKED_BYTES = 400_000
SAMPLE = 2_000  # sample rows to estimate the compression
ROWS_PER_FILE = 2_000
KEYS = "keys.json"


def item_rows(report: Mapping[str, Any], table: Table, limit: int | None = None) -> list[list[Any]]:
    """The rows of the items table: cells, who was right, and each group's number.

    Texts and numbers are as in report.json; None is missing.
    """
    return [
        [row, [side["correct"] for side in (item["people"], *item["judges"])], item["groups"]]
        for row, item in zip(table.rows[:limit], report["items"][:limit], strict=True)
    ]


def plain_rows(table: Table, limit: int | None = None) -> list[list[Any]]:
    """The rows of any other table, as in `item_rows`, with displayed numbers."""
    return [[[_packed(cell) for cell in row]] for row in table.each_row(limit)]


def _packed(cell: Cell) -> Any:
    if cell.is_text:
        return cell.text
    return [cell.text, cell.raw, cell.small, cell.below]


def pack(rows_of: Callable[[int], Sequence[Any]], n_rows: int) -> tuple[str, int]:
    """Pack as many first rows of a table as fit; returns the text and the number of rows.

    `rows_of` returns a given number of first rows.
    """
    n = min(n_rows, SAMPLE)
    text = _deflated(rows_of(n))
    if n < n_rows and (room := PACKED_BYTES * n // len(text)) > n:
        n = min(n_rows, room)
        text = _deflated(rows_of(n))
    while len(text) > PACKED_BYTES:
        n = min(n - 1, int(0.97 * n * PACKED_BYTES / len(text)))
        text = _deflated(rows_of(n))
    return (text, n) if n else ("", 0)


def _deflated(rows: Sequence[Any]) -> str:
    return base64.b64encode(zlib.compress(compact(rows).encode())).decode("ascii")


def write_item_rows(rows: Sequence[Any], folder: Path) -> None:
    """Write rows by key to files of `ROWS_PER_FILE`, with the last key of each."""
    folder.mkdir(parents=True)
    parts = [rows[start : start + ROWS_PER_FILE] for start in range(0, len(rows), ROWS_PER_FILE)]
    for number, part in enumerate(parts):
        (folder / f"{number}.json").write_text(compact(part), encoding="utf-8")
    (folder / KEYS).write_text(compact([part[-1][0][0] for part in parts]), encoding="utf-8")


def read_item_rows(folder: "Path | Stored", *, after: str) -> tuple[list[Any], bool]:
    """The rows of one file whose keys follow `after`, and whether more follow.

    Raises `FileNotFoundError` if the report has no such files, because its page has all rows.
    """
    keys = json.loads((folder / KEYS).read_bytes())
    number = bisect_right(keys, after)
    if number == len(keys):
        return [], False
    rows = json.loads((folder / f"{number}.json").read_bytes())
    return [row for row in rows if row[0][0] > after], number + 1 < len(keys)
