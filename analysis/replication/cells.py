"""Each published cell compared with its file: equal or different, and why."""

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from analysis.replication.result_names import ResultName

RULE_WORDS = {
    "drop_nonAB": "A and B only",
    "all_rows": "all rows",
}
TITLES = {
    "table1": "Table 1: accuracy",
    "table2": "Table 2: accuracy by certainty",
    "table4": "Table 4: accuracy by certainty with fewer features",
    "table8": "Table 8: with and without persona",
}


@cache
def published() -> dict[str, Any]:
    """The published cells that are recorded in this package."""
    content: dict[str, Any] = json.loads(Path(__file__).with_name("published.json").read_text())
    return content


def compare_cells(files: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Published cells with the figures of their files, then cells that only the files have.

    `files` holds what `counting.describe` says about each file, by its name.
    """
    cells, seen = [], set()
    for cell in published()["cells"]:
        present = [name for name in cell["files"] if name in files]
        for name in present or [None]:
            cells.append(_compared(cell, name, files))
            seen.add((cell["table"], name, cell["part"]))
    for name, figures in files.items():
        for cell in _cells_of(ResultName.parse(name)):
            if (cell["table"], name, cell["part"]) not in seen:
                cells.append(_compared(cell, name, {name: figures}))
    order = list(TITLES)
    return sorted(cells, key=lambda cell: order.index(cell["table"]))


def _cells_of(name: ResultName | None) -> list[dict[str, Any]]:
    """The cells of Tables 1, 2, 4 and 8 for a file of this name, without published values."""
    if name is None:
        return []
    rule = "all_rows" if name.with_tie else "drop_nonAB"
    model = f"{name.model} ({name.edition})" if name.edition else name.model
    cells: list[tuple[str, str, str, str]] = []
    whole = name.features == "All features" and name.with_persona
    if whole:
        tie = "with tie" if name.with_tie else "no tie"
        cells.append(("table1", f"{name.dataset} {tie}", model, "overall"))
    bands = ("high", "low") if not name.with_tie and name.with_persona else ()
    for part in bands:
        if whole:
            cells.append(("table2", name.dataset, f"{model} {part}", part))
        if name.dataset in ("PRISM", "OpinionQA"):
            row = name.features if name.dataset == "PRISM" else f"OpinionQA, {name.features}"
            cells.append(("table4", row, f"{model} {part}", part))
    if not name.with_persona:
        cells.append(("table8", f"{name.dataset} w/o persona", model, "overall"))
    return [
        {"table": table, "row": row, "column": column, "part": part, "rule": rule}
        for table, row, column, part in cells
    ]


def _compared(
    cell: Mapping[str, Any], name: str | None, files: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    file = files[name] if name else None
    computed = file["rules"][cell["rule"]][cell["part"]] if file else {}
    result = {
        "table": cell["table"],
        "row": cell["row"],
        "column": cell["column"],
        "part": cell["part"],
        "rule": cell["rule"],
        "file": name or cell["files"][0],
        "published": cell.get("accuracy"),
        "published_correct": cell.get("correct"),
        "published_n": cell.get("n"),
        "computed": computed.get("accuracy"),
        "computed_correct": computed.get("correct"),
        "computed_n": computed.get("n"),
        "equal": None,
        "why": "",
    }
    if file is None:
        result["why"] = "The file is not in the folder."
    elif not any(key in cell for key in ("accuracy", "correct", "n")):
        result["why"] = "The published cell is not recorded here."
    else:
        reasons = _disagreements(result)
        result["equal"] = not reasons
        result["why"] = " ".join([*reasons, *_remarks(cell, file)]) if reasons else ""
    return result


def _disagreements(cell: Mapping[str, Any]) -> list[str]:
    """One sentence for each printed value that does not agree; empty if all agree."""
    accuracy, correct, n = cell["computed"], cell["computed_correct"], cell["computed_n"]
    reasons = []
    if cell["published_n"] not in (None, n):
        reasons.append(f"The file has {n} answers in this cell.")
    elif cell["published_correct"] not in (None, correct):
        reasons.append(_numerator_reason(cell["published_correct"], correct, n))
    printed = cell["published"]
    if printed is not None and (accuracy is None or abs(round(accuracy, 3) - printed) > 1e-9):
        reasons.append(_accuracy_reason(printed, accuracy, correct, n))
    return reasons


def _remarks(cell: Mapping[str, Any], file: Mapping[str, Any]) -> list[str]:
    """Known reasons for a cell that differs."""
    remarks = [cell["note"]] if "note" in cell else []
    decided = file["without_tie_truth"]
    if cell["rule"] == "drop_nonAB" and cell["part"] == "overall" and file["answers"]["C"] == 0:
        if decided["n"] < file["parsed"]["n"]:
            remarks.append(
                f"Over the answers whose truth is no tie it is {decided['correct']}/"
                f"{decided['n']} = {decided['accuracy']:.4f}."
            )
    return remarks


def _numerator_reason(printed: int, counted: int, n: int) -> str:
    """The effect of multiplying the rounded accuracy by n and cutting, which can lose one."""
    if printed == int(n * round(counted / n, 3)):
        return (
            f"Counted, {counted} of {n} are right; the paper's {printed} is its rounded "
            "accuracy times the denominator, cut to a whole number."
        )
    return f"Counted, {counted} of {n} are right."


def _accuracy_reason(printed: float, accuracy: float | None, correct: int, n: int) -> str:
    if accuracy is None:
        return "The file has no answer in this cell."
    if math.isclose(math.floor(accuracy * 1000) / 1000, printed, abs_tol=1e-9):
        return f"{correct}/{n} is {accuracy:.5f}; the paper cut it where it should have rounded."
    return f"The file gives {correct}/{n} = {accuracy:.4f}."


def check_printed() -> list[dict[str, Any]]:
    """Arithmetic of the tables whose data were not released: Tables 3, 5, 6 and 7."""
    checks = [
        {
            "table": cell["table"],
            "row": cell["row"],
            "printed": cell["text"],
            "computed": cell["correct"] / cell["n"],
            "holds": abs(round(cell["correct"] / cell["n"], 3) - cell["accuracy"]) < 1e-9,
            "why": f"{cell['correct']}/{cell['n']} = {cell['correct'] / cell['n']:.3f}",
        }
        for cell in published()["printed"]
    ]
    for statement in published()["statements"]:
        sums = statement["check"]
        checks.append(
            {
                "table": statement["table"],
                "row": statement["row"],
                "printed": statement["text"],
                "computed": None,
                "holds": None if sums is None else all(sum(a) == b for a, b in sums),
                "why": statement.get("note", ""),
            }
        )
    return sorted(checks, key=lambda check: str(check["table"]))
