"""Compare each published cell with its file, and explain differences."""

import json
import math
from collections.abc import Mapping
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import Any

from extras.replication.released.result_files import ResultName

PLACES = 3
TITLES = {
    "table1": "Table 1: accuracy",
    "table2": "Table 2: accuracy by certainty",
    "table3": "Table 3: accuracy by certainty with fewer features, OpinionQA",
    "table4": "Table 4: accuracy by certainty with fewer features, PRISM",
    "table5": "Table 5: GPT-4 and the majority of three people, OpinionQA",
    "table7": "Table 7: GPT-4 and single people, OpinionQA",
    "table8": "Table 8: with and without persona",
}
OUTCOMES = {
    "equal": "equal",
    "different": "different",
    "absent": "no file here",
    "no_output": "not released",
    "unpublished": "",
}


@cache
def published() -> dict[str, Any]:
    """The published cells recorded in this package."""
    content: dict[str, Any] = json.loads(Path(__file__).with_name("published.json").read_text())
    return content


def compare_cells(files: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every published cell with its file's figures, then cells found only in the files.

    `files` has the result of `counts.describe` for each file name.
    """
    cells, seen = [], set()
    for cell in published()["cells"]:
        present = [name for name in cell["files"] if name in files]
        for name in present or [None]:
            cells.append(_compared(cell, name, files))
            seen.add((cell["table"], name, cell["part"]))
    for cell in cells:
        if cell["part"] == "average":
            _average(cell, cells)
    for name, figures in files.items():
        for cell in _cells_of(ResultName.parse(name)):
            if (cell["table"], name, cell["part"]) not in seen:
                cells.append(_compared(cell | {"files": [name]}, name, {name: figures}))
    order = list(TITLES)
    return sorted(cells, key=lambda cell: order.index(cell["table"]))


def _average(cell: dict[str, Any], cells: list[dict[str, Any]]) -> None:
    """Fill an average of Table 1 with the mean over data sets, once all are counted."""
    setting = cell["row"].removeprefix("Average ")
    parts = [
        other["computed"]
        for other in cells
        if other["table"] == cell["table"]
        and other["part"] == "overall"
        and other["column"] == cell["column"]
        and other["row"].endswith(setting)
    ]
    if any(part is None for part in parts):
        cell["outcome"], cell["why"] = "absent", "The average needs the files of all data sets."
        return
    cell["computed"] = math.fsum(parts) / len(parts)
    cell["equal"] = abs(cell["computed"] - cell["published"]) < 0.0005 + 1e-9
    cell["outcome"] = "equal" if cell["equal"] else "different"
    if not cell["equal"]:
        cell["why"] = "The mean of the accuracies counted above."


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
        if ablation := {"OpinionQA": "table3", "PRISM": "table4"}.get(name.dataset):
            cells.append((ablation, name.features, f"{model} {part}", part))
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
    rule = cell.get("rule")
    computed = file["rules"][rule][cell["part"]] if file else {}
    notebook = cell.get("notebook", {})
    agrees, contradiction = own_fraction(cell)
    result = {
        "table": cell["table"],
        "row": cell["row"],
        "column": cell["column"],
        "part": cell["part"],
        "rule": rule,
        "file": name or next(iter(cell.get("files", ())), None),
        "published": cell.get("accuracy"),
        "published_correct": cell.get("correct"),
        "published_n": cell.get("n"),
        "places": cell.get("places", PLACES),
        "own_fraction": agrees,
        "own_fraction_why": contradiction,
        "notebook": notebook.get("accuracy"),
        "notebook_n": notebook.get("n"),
        "computed": computed.get("accuracy"),
        "computed_correct": computed.get("correct"),
        "computed_n": computed.get("n"),
        "outcome": "absent",
        "equal": None,
        "why": "",
    }
    if file is None:
        if not cell["files"] and cell["part"] != "average":
            result["outcome"] = "no_output"
    elif not any(key in cell for key in ("accuracy", "correct", "n")):
        result["outcome"], result["why"] = "unpublished", "The paper has no such cell."
    else:
        reasons = _disagreements(result)
        result["equal"] = not reasons
        result["outcome"] = "different" if reasons else "equal"
        result["why"] = " ".join([*reasons, *_remarks(cell, file)]) if reasons else ""
    return result


def _disagreements(cell: Mapping[str, Any]) -> list[str]:
    """One sentence per printed value that differs; empty if all agree."""
    accuracy, correct, n = cell["computed"], cell["computed_correct"], cell["computed_n"]
    reasons = []
    if cell["published_n"] not in (None, n):
        reasons.append(f"The file has {n} answers in this cell.")
    elif cell["published_correct"] not in (None, correct):
        reasons.append(_numerator_reason(cell["published_correct"], correct, n))
    printed = cell["published"]
    if printed is None and accuracy is not None:
        reasons.append(f"The paper prints no accuracy, the file gives {accuracy:.4f}.")
    elif printed is not None and (accuracy is None or round(accuracy, cell["places"]) != printed):
        reasons.append(_accuracy_reason(printed, accuracy, correct, n))
    return reasons


def _remarks(cell: Mapping[str, Any], file: Mapping[str, Any]) -> list[str]:
    """Known reasons for a cell that differs."""
    remarks = [cell["note"]] if "note" in cell else []
    decided = file["without_tie_truth"]
    if cell["rule"] == "drop_nonAB" and cell["part"] == "overall" and file["answers"]["C"] == 0:
        if decided["n"] < file["parsed"]["n"]:
            remarks.append(
                f"Over the answers whose truth is not a tie it is {decided['correct']}/"
                f"{decided['n']} = {decided['accuracy']:.4f}."
            )
    return remarks


def _numerator_reason(printed: int, counted: int, n: int) -> str:
    """The effect of truncating rounded accuracy times n, which can lose one."""
    if printed == int(n * round(counted / n, 3)):
        return (
            f"By count, {counted} of {n} are right; the paper's {printed} is its rounded "
            "accuracy times the denominator, truncated."
        )
    return f"By count, {counted} of {n} are right."


def _accuracy_reason(printed: float, accuracy: float | None, correct: int, n: int) -> str:
    if accuracy is None:
        return "The file has no answer in this cell."
    if math.isclose(math.floor(accuracy * 1000) / 1000, printed, abs_tol=1e-9):
        return f"{correct}/{n} is {accuracy:.5f}; the paper truncated instead of rounding."
    return f"The file gives {correct}/{n} = {accuracy:.4f}."


def rounded(correct: int, n: int, places: int = PLACES, how: str = ROUND_HALF_UP) -> float:
    """`correct` of `n` as the paper would print it.

    >>> rounded(375, 473), rounded(375, 473, how=ROUND_DOWN)
    (0.793, 0.792)
    """
    step = Decimal(1).scaleb(-places)
    return float((Decimal(correct) / Decimal(n)).quantize(step, rounding=how))


def own_fraction(cell: Mapping[str, Any]) -> tuple[bool | None, str]:
    """Whether the printed accuracy is the printed fraction, and why not.

    None if the cell has no fraction, or a fraction of no answers.

    >>> own_fraction({"accuracy": 0.893, "correct": 133, "n": 149})
    (True, '')
    >>> own_fraction({"accuracy": 0.893, "correct": 32, "n": 36})
    (False, '32/36 is .889. No whole number of 36 gives .893.')
    """
    accuracy, correct, n = (cell.get(key) for key in ("accuracy", "correct", "n"))
    if accuracy is None or correct is None or not n:
        return None, ""
    places = cell.get("places", PLACES)
    is_value = rounded(correct, n, places)
    if is_value == accuracy:
        return True, ""
    return False, f"{correct}/{n} is {_printed(is_value)}. {_reason(cell, accuracy, correct, n)}"


def _reason(cell: Mapping[str, Any], accuracy: float, correct: int, n: int) -> str:
    if "fraction" in cell:
        return str(cell["fraction"])
    if rounded(correct, n, how=ROUND_DOWN) == accuracy:
        return "The paper truncated instead of rounding."
    fitting = [right for right in range(n + 1) if rounded(right, n) == accuracy]
    if not fitting:
        return f"No whole number of {n} gives {_printed(accuracy)}."
    fraction = f"{fitting[0]} of {n} gives {_printed(accuracy)}"
    if correct == int(n * accuracy):
        return f"{fraction}: the numerator is {_printed(accuracy)} times {n}, truncated."
    return f"{fraction}. The reason is not known."


def _printed(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def check_printed() -> list[dict[str, Any]]:
    """Check the arithmetic of the paper's other statements."""
    checks = []
    for statement in published()["statements"]:
        holds, why = None, statement.get("note", "")
        if sums := statement.get("check"):
            holds = all(sum(parts) == whole for parts, whole in sums)
        if fraction := statement.get("fraction"):
            holds, why = own_fraction(
                dict(zip(("accuracy", "correct", "n"), fraction, strict=True))
            )
        checks.append(
            {
                "table": statement["table"],
                "row": statement["row"],
                "printed": statement["text"],
                "holds": holds,
                "why": why,
            }
        )
    return checks
