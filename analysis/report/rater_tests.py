"""The permutation tests of people and runs, each with the number that it is about.

Chapters, titles of figures and the table of claims read a test here, so they say the same of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Text,
    Words,
    clause,
    joined,
)
from analysis.report.report_json import ReportJson
from analysis.report.results import Finding, TestResult, items
from analysis.report.sentences import (
    CALIBRATION,
    LENGTH,
    MAJORITY,
    PEOPLE,
    RANKING,
    SIDES,
    SINGLE,
    TOGETHER,
    at,
    members,
)

Who = Name | Words


@dataclass(frozen=True)
class RaterTest:
    """The test of people, of their majority (`who` as in report.json), or of a run."""

    who: str
    name: Who
    result: TestResult

    @property
    def is_one(self) -> bool:
        return is_one([self.name])

    def verb(self, one: str) -> Words:
        """A verb that agrees with the name, from its form for one."""
        if self.is_one:
            return Words(one)
        return Words({"is": "are", "does": "do"}.get(one, one.removesuffix("s")))


def rater_tests(report: ReportJson, kind: str) -> list[RaterTest]:
    """Every rater's test of a kind of claims, with its number in the form that the kind has."""
    tests = []
    for name, member in members(report, kind):
        who = member["who"]
        value = _NUMBERS[kind](report, who)
        if value is None:
            continue
        result = TestResult.of_rater(report, kind, who, _as_tested(report, member, value))
        if result is not None:
            tests.append(RaterTest(who, name_of(who, name), result))
    return tests


def _as_tested(report: ReportJson, member: ReportJson, value: Quantity) -> Quantity:
    """The number and its interval as they stand next to the test, on the answers that it used."""
    if member.get("value") is None or value.of is None:
        return value
    path = f"claims_tested.members.{report['claims_tested']['members'].index(member)}"
    return replace(
        value,
        of=replace(value.of, n=member["n"], path=f"{path}.n"),
        value=member["value"],
        path=f"{path}.value",
        interval=QuantityInterval.at(member, "ci", path),
    )


def name_of(who: str, name: str) -> Who:
    return Words(name) if who in (SINGLE, MAJORITY) else Name(name)


def held(report: ReportJson, kind: str) -> tuple[list[Who], list[Who]]:
    """The raters whose claim holds: above 0, and below 0."""
    tests = rater_tests(report, kind)
    above, below = (
        [test.name for test in tests if test.result.finding is finding]
        for finding in (Finding.ABOVE, Finding.BELOW)
    )
    return above, below


def is_one(names: Sequence[Who]) -> bool:
    """Whether verbs of these names are singular."""
    return len(names) == 1 and (isinstance(names[0], Name) or names[0] != PEOPLE)


def of_names(names: Sequence[Who]) -> Text:
    """Names for a title, which has room for three."""
    if len(names) > 3:
        people = [name for name in names if isinstance(name, Words)]
        runs = Population("run", n=len(names) - len(people))
        return joined([*(clause("{who}", who=who) for who in people), clause("{n}", n=runs)])
    return joined([clause("{who}", who=who) for who in names])


def sided(report: ReportJson, who: str) -> str:
    """What chose a side: answers or, where ties did not or a question was repeated, some of them.

    Of several readings of an item, the first one in each order counts.
    """
    if who in (SINGLE, MAJORITY):
        return "choice of a side" if report["study"]["allow_tie"] else "answer"
    run = at(report, who)
    offers_tie = run["ties"].get("share_reason") != "not_offered"
    kind = "choice of a side" if offers_tie else "answer"
    return f"first {kind}" if run["record"]["samples"] > 1 else kind


def scored_sides(report: ReportJson, who: str) -> Population:
    """The answers of which it is known which side was chosen and which was right."""
    entry, path = position_of(report, who)
    rule, paths = "with a known right side", (f"{path}.n_truth", f"{path}.n")
    return Population(sided(report, who), rule, entry["n_truth"], entry["n"], *paths)


def position_of(report: ReportJson, who: str) -> tuple[ReportJson, str]:
    """The entry of people or a run on the sides of the screen, with its path."""
    path = "human.position" if who in (SINGLE, MAJORITY) else f"{who}.position"
    return at(report, path), path


def lean_of_errors(entry: ReportJson) -> float:
    """How much more often A would be chosen than right, with as frequent errors on either side.

    Where the right response is mostly on one side, errors lean to the other one.
    """
    a, b = entry["right_when_a"], entry["right_when_b"]
    n = a["n"] + b["n"]
    return float((n - a["correct"] - b["correct"]) / n * (b["n"] - a["n"]) / n) if n else 0.0


def is_lean_of_errors(entry: ReportJson, lean: float) -> bool:
    """Whether errors without a preference for a side give half of a lean or more."""
    by_errors = lean_of_errors(entry)
    return by_errors * lean > 0 and abs(by_errors) >= abs(lean) / 2


def _side(report: ReportJson, who: str) -> Quantity | None:
    """How much more often side A was chosen than it was right."""
    value = next(test["value"] for _, test in members(report, SIDES) if test["who"] == who)
    return None if value is None else Quantity("points", scored_sides(report, who), value)


@dataclass(frozen=True)
class LengthErrors:
    """How often a side errs where the shorter, and where the longer response is right."""

    shorter: Quantity
    longer: Quantity

    @classmethod
    def of(cls, report: ReportJson, who: str) -> "LengthErrors | None":
        path = f"{'human' if who == MAJORITY else who}.verbosity"
        parts = []
        for key in ("shorter", "longer"):
            part = at(report, path)[f"right_when_{key}"]
            if not part["n"]:
                return None
            rule = f"where the {key} response is right"
            of = items(report, rule, part["n"], f"{path}.right_when_{key}.n")
            parts.append(Quantity("share", of, 1 - part["correct"] / part["n"]))
        return cls(*parts)


def _length(report: ReportJson, who: str) -> Quantity | None:
    """How much more often a side errs where the shorter response is right."""
    errors = LengthErrors.of(report, who)
    if errors is None:
        return None
    one, other = (errors.shorter, errors.longer)
    if one.of is None or other.of is None:
        return None
    of = items(report, "with responses of different lengths", one.of.n + other.of.n)
    return Quantity("points", of, one.value - other.value)


def _scored(report: ReportJson, who: str) -> tuple[ReportJson, Population, str]:
    """A side's entry, and its answers that are right or wrong and have a certainty."""
    path = {SINGLE: "human.individual", MAJORITY: "human.majority"}.get(who, who)
    entry: ReportJson = at(report, path)
    n = f"{path}.calibration.n"
    rule = "that are right or wrong and have a certainty"
    if who == SINGLE:
        among, where = report["human"]["answers"], "human.answers"
        of = Population("answer", rule, entry["calibration"]["n"], among, n, where)
        return entry, of, path
    return entry, items(report, rule, entry["calibration"]["n"], n), path


def _calibrated(report: ReportJson, who: str) -> Quantity | None:
    """How much higher mean certainty is than the share of right answers."""
    entry, of, path = _scored(report, who)
    gap = entry["calibration"].get("gap")
    return None if gap is None else Quantity("points", of, gap, f"{path}.calibration.gap")


def _ranked(report: ReportJson, who: str) -> Quantity | None:
    """How much more often answers of high certainty are right than others."""
    entry, of, _ = _scored(report, who)
    high, low = entry["high"]["accuracy"], entry["low"]["accuracy"]
    return None if high is None or low is None else Quantity("points", of, high - low)


def _together(report: ReportJson, who: str) -> Quantity | None:
    """The rank correlation of a judge's certainty with that of people."""
    path = f"comparison.{who.removeprefix('judges.')}.certainty"
    entry = at(report, path)
    if entry["spearman"] is None:
        return None
    of = items(report, "on which both state a certainty", entry["items"], f"{path}.items")
    interval = QuantityInterval.at(entry, "spearman_general_ci", path)
    return Quantity("coefficient", of, entry["spearman"], f"{path}.spearman", interval)


_NUMBERS: Mapping[str, Callable[[ReportJson, str], Quantity | None]] = {
    SIDES: _side,
    LENGTH: _length,
    CALIBRATION: _calibrated,
    RANKING: _ranked,
    TOGETHER: _together,
}
