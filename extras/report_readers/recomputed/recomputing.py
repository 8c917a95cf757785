"""Verification: compute a report again and compare it value by value."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from django.db.models import Count

from analysis.data.views import View
from analysis.errors import AnalysisError
from analysis.lifecycle.build_job import OnProgress, compute, load_studies
from analysis.lifecycle.storage import report_dir
from analysis.models import Report
from analysis.report.build import SCHEMA
from analysis.report.report_json import to_json, without_people
from analysis.report.rules import MethodChange, method_changes
from analysis.report.words import listed
from annotation.models import Annotation, Annotator, AnnotatorEvent
from extras.report_readers.recomputed.differences import ReportDifference, differences
from studies.file_storage.storage import Stored
from studies.texts.json_values import NotJson, json_value

SHOWN_ITEMS = 10

# Parts of a report that can change without any answer, in words.
_NO_ANSWERS = {
    r"human\.(people|quotas|pay|checks|without_flagged)\b": "participation, such as a time-out",
    r"human\.not_counted\b": "which answers do not count",
    r"judges\[[^]]*\]\.(cost|record)\b": "the records of runs, such as their cost",
    r"study\b": "settings of the study",
    r"inputs\.record_hash": "how people took part",
}


@dataclass(frozen=True)
class MethodDifference:
    """How many changed values a change of a method can explain, and the first of them."""

    change: MethodChange
    values: int
    first: str


@dataclass(frozen=True)
class ReportVerification:
    """The result of computing a report again.

    Attributes
    ----------
    differences : tuple of Difference
        All changed values except software versions. Of a report of other versions, numbers come
        first, and those that differ only by rounding are equal.
    software : tuple of Difference
        Changed software versions; a report with only these differences is equal.
    reasons : tuple of str
        Sentences on changes in the data; withdrawn answers first.
    is_superseded : bool
        Whether answers in the report have been withdrawn.
    methods : tuple of MethodDifference
        Changes of methods since the report that can explain changed values.
    unexplained : int
        Changed numbers that no such change explains.
    others : int
        Other such values: texts, and parts of the report that only one version has.
    """

    differences: tuple[ReportDifference, ...]
    software: tuple[ReportDifference, ...]
    reasons: tuple[str, ...]
    is_superseded: bool
    methods: tuple[MethodDifference, ...]
    unexplained: int
    others: int

    @property
    def is_equal(self) -> bool:
        return not self.differences

    @property
    def versions(self) -> str:
        """The changed versions in words: “numpy 1.26.4 → 2.3.1”."""
        return _versions(self.software)


# Sums in another order differ by less.
_ROUNDING = 1e-9


def _is_of_numbers(one: ReportDifference) -> bool:
    """Whether one side is a number and the other is too, or is undefined."""
    numbers = [isinstance(number, int | float) for number in (one.then, one.now)]
    return all(numbers) or (any(numbers) and None in (one.then, one.now))


def _is_rounding(one: ReportDifference) -> bool:
    """Whether both are numbers that differ only in the last digits."""
    return (
        isinstance(one.then, float)
        and isinstance(one.now, float)
        and math.isclose(one.then, one.now, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
    )


def _versions(software: Iterable[ReportDifference]) -> str:
    names = {one.path.removeprefix("software."): one for one in software}
    return ", ".join(f"{name} {_short(v.then)} → {_short(v.now)}" for name, v in names.items())


def _short(version: str) -> str:
    return version if len(version) <= 20 else f"{version[:12]}…"


def read_report(name: str) -> dict[str, Any]:
    """Read report.json from a file or its folder, or by the id of a stored report.

    Raises `AnalysisError`.
    """
    path: Path | Stored = Path(name)
    if Path(name).is_dir():
        path = Path(name, "report.json")
    elif not path.is_file() and Report.objects.filter(public_id=name, state="done").exists():
        path = report_dir(name) / "report.json"
    try:
        report = json_value(path.read_bytes())
    except OSError:
        raise AnalysisError(
            f"There is no report at {path}. Use a report.json, its folder, or the id at the end "
            "of a report's address."
        ) from None
    except NotJson as error:
        raise AnalysisError(f"{path} is not JSON: {error}. Use the original file.") from None
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise AnalysisError(f"{path} is not a report: its schema is not {SCHEMA}.")
    return report


def verify_report(
    report: Mapping[str, Any],
    *,
    study: str = "",
    on_progress: OnProgress = lambda percent, sentence: None,
) -> ReportVerification:
    """Compute `report` again from the current answers. Raises `AnalysisError`.

    `study` is the short name that its data has here, if it was imported under another one.
    """
    slugs = report["study"]["source"].get("pooled_from") or [study or report["study"]["slug"]]
    view = View.of(report.get("view", {}).get("filters", {}))
    parameters = report["parameters"]
    again = compute(
        load_studies(slugs, view),
        view,
        seed=report["seed"],
        threshold=parameters["threshold"],
        bootstrap=parameters["bootstrap"],
        asked=_asked(report),
        on_progress=on_progress,
    )
    now = json.loads(to_json(again))
    if "redacted" in report:
        now = json.loads(to_json(without_people(now)))
    if study:
        now["study"] |= {key: report["study"][key] for key in ("slug", "title")}
    people = _people_now(slugs)
    is_renamed = not people.known & _raters(report)
    if is_renamed:
        report, now = _without_raters(report), _without_raters(now)
    every = list(differences(report, now))
    software = tuple(one for one in every if one.path.startswith("software"))
    reasons = [*_withdrawals(report, people.withdrawn), *_deletions(report, people)]
    superseded = bool(reasons)
    reasons += _other_reasons(report, now, people)
    changed = tuple(one for one in every if one not in software)
    if software:
        kept = (one for one in changed if not _is_rounding(one))
        changed = tuple(sorted(kept, key=lambda one: not _is_of_numbers(one)))
    known = str(report["software"].get("methods", ""))
    methods, left = _explained(changed, known=known) if software else ([], list(changed))
    unexplained = sum(_is_of_numbers(one) for one in left)
    if is_renamed and report["human"]["annotators"]:
        reasons.append(
            "No annotator of the report has the same name here, as after an import of an export. "
            "Rows about single annotators were not compared."
        )
    elif changed and not reasons:
        reasons.append(_what_else(report, now, changed, _versions(software)))
    return ReportVerification(
        differences=changed,
        software=software,
        reasons=tuple(reasons),
        is_superseded=superseded,
        methods=tuple(methods),
        unexplained=unexplained,
        others=len(left) - unexplained,
    )


def _explained(
    changed: Sequence[ReportDifference], *, known: str
) -> tuple[list[MethodDifference], list[ReportDifference]]:
    """The changes of methods after the date `known`, and the differences that none explains.

    An empty date is that of a report from before the list. A value counts for the newest change
    that can explain it.
    """
    later = [change for change in method_changes() if change.date > known]
    paths: dict[MethodChange, list[str]] = {change: [] for change in later}
    others = []
    for one in changed:
        # The registration has descriptions of analyses, and no number of them.
        is_described = one.path.startswith("registration.")
        can = () if is_described else (method for method in later if method.explains(one.path))
        if (change := next(iter(can), None)) is None:
            others.append(one)
        else:
            paths[change].append(one.path)
    by_change = [MethodDifference(method, len(of), of[0]) for method, of in paths.items() if of]
    return by_change, others


def _asked(report: Mapping[str, Any]) -> Mapping[str, str]:
    """Who requested a report with other values than its plan's, and when, as it states."""
    for departure in report.get("registration", {}).get("departures", ()):
        if departure["what"] in ("threshold", "seed", "bootstrap"):
            return {key: departure[key] for key in ("on", "by") if key in departure}
    return {}


class PeopleNow(NamedTuple):
    """The withdrawn answers by pseudonym, the pseudonyms of excluded annotators and of all.

    `deleted` were deleted at their request, and lost the names that earlier reports use.
    """

    withdrawn: dict[str, int]
    excluded: set[str]
    known: set[str]
    deleted: int


def _people_of(slug: str) -> PeopleNow:
    """What became of the people of a study."""
    people = Annotator.objects.filter(study__slug=slug)
    withdrawn = (
        Annotation.objects.filter(
            assignment__annotator__study__slug=slug, standing=Annotation.Standing.WITHDRAWN
        )
        .values_list("assignment__annotator__pseudonym")
        .annotate(n=Count("pk"))
        .order_by("assignment__annotator__pseudonym")
    )
    excluded = people.exclude(excluded_at=None).values_list("pseudonym", flat=True)
    events = AnnotatorEvent.objects.filter(annotator__study__slug=slug)
    deleted = events.filter(event=AnnotatorEvent.DELETED)
    known = set(people.values_list("pseudonym", flat=True))
    return PeopleNow(dict(withdrawn), set(excluded), known, deleted.count())


def _people_now(slugs: Sequence[str]) -> PeopleNow:
    """Like `_people_of`; in a pooled report, annotators are listed by wave name too."""
    if len(slugs) == 1:
        return _people_of(slugs[0])
    people = PeopleNow({}, set(), set(), 0)
    for slug in slugs:
        wave = _people_of(slug)
        people = PeopleNow(
            people.withdrawn | {f"{slug}/{name}": n for name, n in wave.withdrawn.items()},
            people.excluded | {f"{slug}/{name}" for name in wave.excluded},
            people.known | {f"{slug}/{name}" for name in wave.known},
            people.deleted + wave.deleted,
        )
    return people


def _raters(report: Mapping[str, Any]) -> set[str]:
    return {name for row in report["human"]["raters"] for name in _names(row)}


def _without_raters(report: Mapping[str, Any]) -> dict[str, Any]:
    return {**report, "human": {**report["human"], "raters": []}}


def _withdrawals(report: Mapping[str, Any], withdrawn: Mapping[str, int]) -> Iterator[str]:
    for row in report["human"]["raters"]:
        if n := sum(withdrawn.get(name, 0) for name in _names(row)):
            yield (
                f"{row['rater']} withdrew {n} answers in the report. The report is superseded: "
                "build it again, and do not pass on the old one."
            )


def _deletions(report: Mapping[str, Any], people: PeopleNow) -> Iterator[str]:
    """People whose name is gone; nothing else about them is left to say."""
    n = min(len(_raters(report) - people.known), people.deleted)
    if n:
        annotators = "1 annotator was" if n == 1 else f"{n:,} annotators were"
        yield (
            f"{annotators} deleted at their request, with their answers. The report is superseded: "
            "build it again, and do not pass on the old one."
        )


def _names(row: Mapping[str, Any]) -> list[str]:
    """An annotator's names, one for each pooled study that they took part in."""
    names: list[str] = row["rater"].split(" + ")
    return names


def _other_reasons(
    report: Mapping[str, Any], now: Mapping[str, Any], people: PeopleNow
) -> Iterator[str]:
    then_people, now_people = _raters(report), _raters(now)
    gone = then_people - now_people - people.withdrawn.keys()
    if people.deleted:
        gone &= people.known
    for name, group in (
        ("newly excluded from the analysis", gone & people.excluded),
        ("no longer counted", gone - people.excluded),
        ("new in the analysis", now_people - then_people),
    ):
        if group:
            annotators = "1 annotator is" if len(group) == 1 else f"{len(group)} annotators are"
            yield f"{annotators} {name}: {', '.join(sorted(group))}."
    for key in ("items", "annotations", "judgments", "runs"):
        then, after = report["inputs"][key], now["inputs"][key]
        if then != after:
            yield f"The report uses {then:,} {key}; there are now {after:,}."
    if report.get("registration", {}).get("plan") != now["registration"]["plan"]:
        yield "The analysis plan differs, or was frozen after the report was built."


def _what_else(
    report: Mapping[str, Any],
    now: Mapping[str, Any],
    changed: Sequence[ReportDifference],
    versions: str,
) -> str:
    """The reason for a change with the same numbers of annotators and answers.

    `versions` are those that changed, in words.
    """
    hashes = ("hash", "record_hash")
    if all(report["inputs"].get(key) == now["inputs"][key] for key in hashes):
        if not versions:
            return "Answers and software are the same as in the report, so its file was changed."
        return (
            f"The answers are the same as in the report, but other versions built it: {versions}. "
            "Build the report again for the numbers of the present versions. To check the old "
            "numbers, verify the report with its own versions: if they differ there too, its file "
            "was changed."
        )
    paths = {difference.path for difference in changed} - {"inputs.hash"}
    if len(paths) > 1:
        paths -= {"inputs.record_hash"}  # the others explain more
    about = {
        next((words for place, words in _NO_ANSWERS.items() if re.match(place, path)), "")
        for path in paths
    }
    if about and "" not in about:
        return f"No answer was changed, only {listed(sorted(about))}."
    sentence = "The number of answers is the same, but some answers were changed."
    rows = (difference.path.partition("items[")[2] for difference in changed)
    items = list(dict.fromkeys(row.partition("]")[0] for row in rows if row))
    if not items and versions:
        return (
            "The number of answers and the result of every item are the same as in the report, "
            f"but other versions built it: {versions}. Build the report again for the numbers of "
            "the present versions. To find out whether details of answers were changed too, verify "
            "the report with its own versions."
        )
    if not items:
        return sentence
    more = f" and {len(items) - SHOWN_ITEMS:,} more" if len(items) > SHOWN_ITEMS else ""
    return f"{sentence} Items with changed results: {', '.join(items[:SHOWN_ITEMS])}{more}."
