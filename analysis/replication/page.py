"""replication.html: one file that opens offline and may run nothing but its own two scripts."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from analysis.replication.cells import RULE_WORDS, TITLES
from analysis.replication.charts import Panel

_HERE = Path(__file__).parent
_PLOTLY = _HERE.parent.parent / "static" / "vendor" / "plotly" / "plotly-basic-4.1.1.min.js"

_FIGURE = re.compile(r"[\d.–]+( ?\(\d+/\d+\))?")

CAPTIONS = {
    "figure2": (
        "Figure 2: certainty and accuracy with the whole persona",
        "Answers of A or B by stated certainty in tens, cut to 40–90 as in the paper: right below, "
        "wrong (hatched) on top, accuracy above. Only the files in the folder.",
    ),
    "figure3": (
        "Figure 3: the same with fewer features, or without a persona",
        "A prompt that asked for certainty from 1 to 5 keeps that scale.",
    ),
}


def render_page(
    result: Mapping[str, Any], panels: Mapping[str, Sequence[Panel]], paper: str
) -> str:
    """The page of a replication; `result` is the content of replication.json."""
    drawings = {panel.id: panel.drawing for group in panels.values() for panel in group}
    return Template(_text("page.html")).substitute(
        policy=_policy(),
        style=_text("page.css"),
        paper=escape(paper),
        verdict=escape(verdict(result["cells"])),
        files=_table(*files_table(result["files"])),
        skipped=_skipped(result["skipped"]),
        cells="".join(_cells_section(key, title, result["cells"]) for key, title in TITLES.items()),
        printed=_table(*printed_table(result["printed"])),
        figures="".join(_figure(key, panels[key]) for key in CAPTIONS if panels[key]),
        plots=_json(drawings),
        plotly=_plotly(),
        script=_text("page.js"),
    )


def verdict(cells: Sequence[Mapping[str, Any]]) -> str:
    """The outcome in one sentence.

    >>> verdict([{"equal": True}, {"equal": False}, {"equal": None}])
    '2 published cells compared: 1 equal, 1 different. 1 more lacks a file or a published figure.'
    """
    equal = sum(cell["equal"] is True for cell in cells)
    different = sum(cell["equal"] is False for cell in cells)
    rest = len(cells) - equal - different
    compared = (
        f"{equal + different} published cells compared: {equal} equal, {different} different."
    )
    lack = "lacks" if rest == 1 else "lack"
    return f"{compared} {rest} more {lack} a file or a published figure." if rest else compared


def files_table(files: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heading and rows of the table of files, as text."""
    head = ["file", "rows", "A", "B", "tie", "no verdict", "accuracy", "all rows", "high", "low"]
    rows = [
        [
            name,
            *(str(n) for n in (file["rows"], *file["answers"].values())),
            *(counted(file[key]) for key in ("parsed", "all_rows")),
            *(
                "other scale" if file[f"{band}_reason"] else counted(file[band])
                for band in ("high", "low")
            ),
        ]
        for name, file in files.items()
    ]
    return head, rows


def cells_table(cells: Iterable[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heading and rows of published against computed, as text."""
    head = ["row", "column", "published", "computed", "", "why", "rule"]
    marks = {True: "equal", False: "different", None: ""}
    rows = [
        [
            cell["row"],
            cell["column"],
            figure(cell["published"], cell["published_correct"], cell["published_n"]),
            figure(cell["computed"], cell["computed_correct"], cell["computed_n"]),
            marks[cell["equal"]],
            cell["why"],
            RULE_WORDS[cell["rule"]],
        ]
        for cell in cells
    ]
    return head, rows


def printed_table(printed: Iterable[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heading and rows of the tables that are printed as published, as text."""
    head = ["table", "cell", "published", "arithmetic", "why"]
    marks = {True: "holds", False: "does not hold", None: ""}
    rows = [
        [
            check["table"].replace("table", "Table "),
            check["row"],
            check["printed"],
            marks[check["holds"]],
            check["why"],
        ]
        for check in printed
    ]
    return head, rows


def figure(accuracy: float | None, correct: int | None, n: int | None) -> str:
    """A cell as people read it: accuracy and counts, as far as there are any.

    >>> figure(0.690141, 588, 852), figure(0.72, None, None), figure(None, None, 115)
    ('0.690 (588/852)', '0.720', '(?/115)')
    """
    if n == 0:
        return "– (0/0)"
    parts = [] if accuracy is None else [f"{accuracy:.3f}"]
    if n is not None:
        parts.append(f"({'?' if correct is None else correct}/{n})")
    return " ".join(parts) or "–"


def counted(share: Mapping[str, Any]) -> str:
    return figure(share["accuracy"], share["correct"], share["n"])


def _cells_section(key: str, title: str, cells: Sequence[Mapping[str, Any]]) -> str:
    own = [cell for cell in cells if cell["table"] == key]
    return f"<h3>{escape(title)}</h3>{_table(*cells_table(own))}" if own else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heading = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td data-label="{escape(label)}"{_mark(cell)}>{escape(cell)}</td>'
            for label, cell in zip(head, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        '<div class="wide" tabindex="0"><table><thead><tr>'
        f"{heading}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _mark(cell: str) -> str:
    if cell in ("equal", "holds"):
        return ' class="good"'
    if cell in ("different", "does not hold"):
        return ' class="bad"'
    return ' class="figure"' if _FIGURE.fullmatch(cell) else ""


def _skipped(skipped: Sequence[Mapping[str, str]]) -> str:
    if not skipped:
        return ""
    items = "".join(
        f"<li><code>{escape(entry['file'])}</code>: {escape(entry['why'])}</li>"
        for entry in skipped
    )
    return (
        f"<details><summary>{len(skipped)} files were skipped</summary><ul>{items}</ul></details>"
    )


def _figure(key: str, panels: Sequence[Panel]) -> str:
    title, caption = CAPTIONS[key]
    shown = "".join(
        f"<figure><figcaption><strong>{escape(panel.title)}</strong><br>{escape(panel.summary)}"
        f'</figcaption><div class="plot" id="{panel.id}" role="img" '
        f'aria-label="{escape(_in_words(panel))}"></div></figure>'
        for panel in panels
    )
    return f'<h3>{escape(title)}</h3><p>{escape(caption)}</p><div class="panels">{shown}</div>'


def _in_words(panel: Panel) -> str:
    bars = (f"{label}: {right} right, {wrong} wrong" for label, right, wrong in panel.bars)
    return f"{panel.title}. {'; '.join(bars)}"


def _policy() -> str:
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in (_plotly(), _text("page.js"))
    )
    # plotly writes its own styles; they cannot send anything anywhere.
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:"
    )


@cache
def _text(name: str) -> str:
    return (_HERE / name).read_text("utf-8")


@cache
def _plotly() -> str:
    return _PLOTLY.read_text("utf-8")


def _json(value: Any) -> str:
    """JSON that cannot end the script element that holds it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003C").replace(">", "\\u003E").replace("&", "\\u0026")
