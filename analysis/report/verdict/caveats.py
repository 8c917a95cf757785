"""The three caveats of the first screen; the chapter on limits has all of them, in full."""

from collections.abc import Callable, Mapping
from typing import Any

from analysis.report.chapters import MORE
from analysis.report.text.numbers import number_of
from analysis.report.verdict.answer import counted_people
from analysis.report.verdict.replacement import replacement_of

Report = Mapping[str, Any]
SHOWN = 3

# What readers must know first, in this order. Each gives a sentence, or nothing where it is not so.
# That data are simulated stands above the title.
Caveat = Callable[[Report], str]


def _chosen_late(report: Report) -> str:
    registration = report["registration"]
    if report["parameters"]["explored"] or registration["late_changes"]:
        return "The threshold or the margin was chosen after the data."
    plan = registration["plan"]
    if not plan:
        return "No analysis plan was frozen: all is exploratory."
    return "" if plan["before_data"] else "The analysis plan was frozen after the first data."


def _agreement_only(report: Report) -> str:
    known = report["headline"]["state"] != "no_truth" or not report["judges"]
    return "" if known else "Agreement is not accuracy: people can agree and be wrong."


def _few(report: Report) -> str:
    found = rests_on(report)
    for kind in (*found.get("too_few", ()), *found.get("one", ()), *found.get("few", ())):
        n = found["clusters"].get(kind)
        what = "person" if kind == "people" else kind.removesuffix("s")
        shown = counted_people(found) if kind == "people" else n and number_of(n, what)
        return f"Only {shown}: others may differ." if n else ""
    return ""


def _unequal(report: Report) -> str:
    """What people count as where some gave many more answers."""
    found = rests_on(report)
    if not found.get("clusters", {}).get("people") or "people" in found["too_few"]:
        return ""
    shown = counted_people(found)
    return f"{shown}." if "count as" in shown else ""


def rests_on(report: Report) -> Report:
    """The clusters behind the answer; empty where nothing is compared."""
    if replaced := replacement_of(report):
        return replaced.found
    run = report["headline"].get("run")
    for entry in report["comparison"]:
        if entry["run"] == run:
            found: Report = entry["difference_general"]
            return found
    return {}


def _of_chapters(report: Report) -> str:
    """What a chapter of an extra has to say first."""
    failed = report.get("failed_parts", ())
    found = (chapter.caveat(report) for chapter in MORE if chapter.name not in failed)
    return next(filter(None, found), "")


def _unknown_truth(report: Report) -> str:
    unknown, n = report["inputs"]["truth"]["unknown"], report["inputs"]["items"]
    return f"{unknown:,} of {n:,} items have no known answer." if 0 < unknown < n else ""


def _excluded(report: Report) -> str:
    n = report["human"]["not_counted"].get("excluded_people", 0)
    return f"{n:,} {'person is' if n == 1 else 'people are'} excluded." if n else ""


def _averages(report: Report) -> str:
    return "These are averages: not for decisions about one person."


def _stereotypes(report: Report) -> str:
    return "Answers from profiles may be stereotypes."


def _volunteers(report: Report) -> str:
    return "People chose to take part." if report["human"].get("people") else ""


CAVEATS: tuple[Caveat, ...] = (
    _agreement_only,
    _chosen_late,
    _unequal,
    _few,
    _of_chapters,
    _unknown_truth,
    _excluded,
    _averages,
    _stereotypes,
    _volunteers,
)


def caveats_of(report: Report) -> list[str]:
    return [sentence for caveat in CAVEATS if (sentence := caveat(report))][:SHOWN]
