"""The chapter on groups: on which topics and personas a side errs more."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.data.verdicts import Verdicts
from analysis.report.quantities import Name, Quantity, QuantityInterval, Text, Words, clause, say
from analysis.report.rater_tests import name_of
from analysis.report.report_json import Json, estimate, put, undefined
from analysis.report.results import Finding, TestResult, items
from analysis.report.section import ReportJson, ReportPage, Section, Sentence
from analysis.report.sections.groups.accuracy import (
    FAMILY,
    MAX_VALUES,
    MIN_SHARE,
    GroupAccuracy,
)
from analysis.report.sentences import GROUPS, LANGUAGES, TOPICS, holds, level_of, members
from analysis.report.study import ReportedStudy, put_holm
from analysis.report.tables import Table, TableColumn
from analysis.report.words import run_names, whole_runs
from analysis.stats.core.groups import FEWEST_PERSONAS, GroupErrors, errors_by_group
from analysis.stats.core.multiplicity import benjamini_yekutieli, permuted_groups
from analysis.stats.core.results import BoolArray, FloatArray, IntArray, n_distinct, relabel
from studies.prompts import language_name


def _groups(study: ReportedStudy) -> Iterator[tuple[str, list[str], IntArray]]:
    """Features of personas: label, values, and each item's value code; -1 unknown."""
    persona = study.shared.persona
    for label, values in study.data.features:
        names = sorted(set(values) - {""})
        if not 1 < len(names) <= MAX_VALUES:
            continue
        code_of = {name: code for code, name in enumerate(names)}
        codes = np.array([code_of.get(value, -1) for value in values], dtype=np.int64)
        if (codes >= 0).mean() < MIN_SHARE:
            continue
        sizes = [n_distinct(persona[codes == code]) for code in range(len(names))]
        total = sum(sizes)
        if any(min(size, total - size) >= FEWEST_PERSONAS for size in sizes):
            yield label, names, codes


def _wrong(side: Verdicts) -> FloatArray:
    """1 wrong, 0 right; NaN without a scored verdict."""
    correct = np.asarray(side.correct, dtype=np.float64)
    return np.where(correct >= 0, 1 - correct, np.nan)


def _test(
    study: ReportedStudy,
    grouped: Sequence[tuple[str, list[str], IntArray]],
    wrong: Sequence[FloatArray],
    sides: Sequence[Sequence[Json]],
    key: str,
) -> None:
    """Add to each entry the p value adjusted over all raters and groups."""
    persona, n_personas = relabel(study.shared.persona)
    sums = np.zeros((2, len(wrong), n_personas))
    for place, values in enumerate(wrong):
        known = ~np.isnan(values)
        for row, weights in enumerate((values[known], None)):
            sums[row, place] = np.bincount(persona[known], weights, minlength=n_personas)
    group_of = dict[tuple[str, str], int]()
    inside, outside = list[BoolArray](), list[BoolArray]()
    for label, names, codes in grouped:
        of_persona = np.full(n_personas, -1)
        of_persona[persona] = codes
        for code, name in enumerate(names):
            group_of[label, name] = len(inside)
            inside.append(of_persona == code)
            outside.append((of_persona >= 0) & (of_persona != code))
    test = permuted_groups(
        sums[0],
        sums[1],
        np.array(inside),
        np.array(outside),
        fewest=FEWEST_PERSONAS,
        rng=study.rng(),
    )
    for place, entries in enumerate(sides):
        for entry in entries:
            at = place, group_of[entry["label"], entry["value"]]
            for name, p in (("p", test.p[at]), ("p_max", test.adjusted[at])):
                put(entry[key], name, None if np.isnan(p) else p, _why(entry[key]))
        tests = [entry[key] for entry in entries]
        put_holm(tests)
        adjusted = benjamini_yekutieli([one["p"] for one in tests])
        for one, p in zip(tests, adjusted, strict=True):
            put(one, "p_by", p, one.get("p_reason"))


def _why(difference: Json) -> str:
    """The reason why a difference has no test."""
    reason: str = difference.get("value_reason") or difference.get("ci_reason") or "no_variation"
    return reason


def _entries(
    study: ReportedStudy,
    grouped: Sequence[tuple[str, list[str], IntArray]],
    wrong: FloatArray,
    people: FloatArray | None,
) -> list[Json]:
    """The groups of one side; `people` are the errors to compare a judge's with."""
    entries: list[Json] = []
    persona = study.shared.persona
    for label, names, codes in grouped:
        groups = errors_by_group(wrong, codes, persona)
        beyond = {}
        if people is not None:
            beyond = {one.group: one for one in errors_by_group(wrong - people, codes, persona)}
        # With two groups, one comparison is enough.
        for one in groups[: 1 if len(groups) == 2 else None]:
            if min(one.personas, one.personas_rest) >= FEWEST_PERSONAS:
                entry = _entry(label, names[one.group], one)
                if people is not None:
                    more = beyond.get(one.group)  # None if no item has both values
                    entry["beyond_people"] = (
                        estimate(more.difference)
                        if more
                        else undefined("empty_group", "value", "ci")
                    )
                entries.append(entry)
    return entries


def _p_of(entry: Json) -> tuple[float, str, str]:
    p = entry["difference"]["p"]
    return (1.0 if p is None else p), entry["label"], entry["value"]


def _entry(label: str, value: str, group: GroupErrors) -> Json:
    out: Json = {"label": label, "value": value, "n": group.n, "personas": group.personas}
    put(out, "wrong", group.inside, "empty_group")
    put(out, "wrong_elsewhere", group.outside, "empty_group")
    out["difference"] = estimate(group.difference)
    return out


def group_errors_table(report: ReportJson) -> Table:
    errors = report.get("group_errors", {"people": [], "judges": []})
    sides = [("People, majority", errors["people"])]
    if errors["judges"]:
        names = run_names(report)
        sides += [(names[index], errors["judges"][index]) for index in whole_runs(report)]
    rows = []
    for who, entries in sides:
        for entry in entries:
            beyond = entry.get("beyond_people", {})
            row = [who, entry["label"], entry["value"]]
            row += [entry[key] for key in ("personas", "n", "wrong", "wrong_elsewhere")]
            row += [entry["difference"][key] for key in ("value", "ci", "p_max")]
            rows.append([*row, *(beyond.get(key) for key in ("value", "ci", "p_max"))])
    columns = (
        TableColumn("Who"),
        TableColumn("Feature"),
        TableColumn("Value"),
        TableColumn("Personas", "count"),
        TableColumn("Items", "count"),
        TableColumn("In the group", "percent", "Wrong"),
        TableColumn("Elsewhere", "percent", "Wrong"),
        TableColumn("Difference", "points", "Wrong"),
        TableColumn("95 % interval", "points_range", "Wrong"),
        TableColumn("Adjusted p", "p", "Wrong"),
        TableColumn("Difference", "points", "More than people"),
        TableColumn("95 % interval", "points_range", "More than people"),
        TableColumn("Adjusted p", "p", "More than people"),
    )
    return Table(
        "errors_by_group",
        "Personas on which each side errs",
        columns,
        rows,
        f"Groups of at least {FEWEST_PERSONAS} personas, each compared with all other personas. "
        "Adjusted p: by random reassignment of personas to groups, for the largest difference "
        "over all groups, features, runs and people; only this separates a finding from chance. "
        "Intervals (Welch, over personas) are for single groups. Runs with less of the persona "
        "are in report.json. More than people: the same for the judge’s errors minus the "
        "majority’s, item by item.",
        family=FAMILY,
    )


class GroupsOfErrors(Section):
    """Groups of personas on which each side errs."""

    name = "group_errors"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty without a feature that groups enough personas."""
        grouped = list(_groups(study))
        if not grouped:
            return {}
        people, judges = _wrong(study.people), [_wrong(judge) for judge in study.judges]
        sides = [_entries(study, grouped, people, None)]
        sides += [_entries(study, grouped, judge, people) for judge in judges]
        # Runs that saw less of the persona are not raters here: each is tested alone.
        whole = study.whole_runs
        alone = [[place] for place in range(len(judges)) if place not in whole]
        for places in (whole, *alone):
            wrong, entries = [judges[at] for at in places], [sides[at + 1] for at in places]
            _test(study, grouped, [values - people for values in wrong], entries, "beyond_people")
            if places is whole:
                wrong, entries = [people, *wrong], [sides[0], *entries]
            _test(study, grouped, wrong, entries, "difference")
        for side in sides:
            side.sort(key=lambda entry: (entry["difference"]["p"] is None, _p_of(entry)))
        return {"group_errors": {"people": sides[0], "judges": sides[1:]}}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield group_errors_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for test in group_tests(report):
            yield Sentence("finding", test.sentence())


@dataclass(frozen=True)
class GroupTest:
    """A claim that holds: a judge's errors on personas of a group minus those on others.

    `beyond` is the same for its errors minus those of people, if both have one.
    """

    judge: int
    name: Name
    group: Name
    result: TestResult
    beyond: TestResult | None

    def claim(self) -> Text:
        often = "more" if self.result.finding is Finding.ABOVE else "less"
        return clause(
            f"{{judge}} errs {often} often on personas with {{group}} than on others",
            judge=self.name,
            group=self.group,
        )

    def sentence(self) -> Text:
        beyond = clause("it is not shown that this goes beyond the errors of people")
        if self.beyond is not None and self.beyond.finding is self.result.finding:
            beyond = clause(
                "that is {x} points beyond the errors of people there", x=self.beyond.value
            )
        return say(
            "{claim}: {x} points on {x.of}{p}; {beyond}.",
            claim=self.claim(),
            x=self.result.value,
            p=self.result.adjusted_p,
            beyond=beyond,
        )


def group_tests(report: ReportJson) -> Iterator[GroupTest]:
    """The claims of judges that hold; groups in which none does are no question of anybody."""
    errors = report.get("group_errors", {"judges": []})
    names, level = run_names(report), level_of(report, GROUPS)
    for index in whole_runs(report) if errors["judges"] else ():
        path = f"group_errors.judges.{index}"
        for place, entry in enumerate(errors["judges"][index]):
            tests = [
                _tested(report, entry, f"{path}.{place}", key, level)
                for key in ("difference", "beyond_people")
            ]
            if tests[0] is not None and tests[0].finding is not Finding.OPEN:
                group = Name(f"{entry['label']} {entry['value']}")
                yield GroupTest(index, Name(names[index]), group, tests[0], tests[1])


def _tested(
    report: ReportJson, entry: ReportJson, path: str, key: str, level: float
) -> TestResult | None:
    difference, path = entry[key], f"{path}.{key}"
    if difference["value"] is None or difference.get("p_max") is None:
        return None
    interval = QuantityInterval.at(difference, "ci", path)
    of = items(report, "of the group", entry["n"])
    return TestResult(
        Quantity("points", of, difference["value"], f"{path}.value", interval),
        holds(difference, level),
        Quantity("p", of, difference["p_max"], f"{path}.p_max"),
    )


@dataclass(frozen=True)
class PartTest:
    """A claim that holds: a side's errors on a topic, or in a language, minus those on others."""

    who: str
    name: Name | Words
    part: Text
    others: Words
    result: TestResult

    def claim(self) -> Text:
        errs = "errs more" if self.result.finding is Finding.ABOVE else "errs less"
        return clause(
            f"{{name}} {errs} often {{part}} than {{others}}",
            name=self.name,
            part=self.part,
            others=self.others,
        )


def part_tests(report: ReportJson) -> Iterator[PartTest]:
    """The claims about topics and languages that hold, of judges and of the majority."""
    tests = report.get("claims_tested", {}).get("members", ())
    for kind, others in ((TOPICS, "on other topics"), (LANGUAGES, "in other languages")):
        level = level_of(report, kind)
        for name, test in members(report, kind):
            if test["p_max"] is None or test.get("value") is None:
                continue
            part = clause("on “{topic}”", topic=Name(test["about"]))
            if kind == LANGUAGES:
                part = clause("in {language}", language=Name(language_name(test["about"])))
            path = f"claims_tested.members.{tests.index(test)}"
            of = items(report, str(part), test["n"], f"{path}.n")
            interval = QuantityInterval.at(test, "ci", path)
            result = TestResult(
                Quantity("points", of, test["value"], f"{path}.value", interval),
                holds(test, level),
                is_without_interval=interval.ends is None,
            )
            if result.finding is not Finding.OPEN:
                who = test["who"]
                yield PartTest(who, name_of(who, name), part, Words(others), result)


class GroupsSection(Section):
    """Accuracy by topic and by persona feature."""

    name = "groups"
    title = "Who and what is hard"
    parts = (GroupAccuracy(), GroupsOfErrors())

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        tables = page.tables
        # A table that a figure draws is shown with it, first.
        drawn = {figure.table: figure for figure in page.figures.values()}
        groups = [
            (drawn.get(name), table) for name, table in tables.items() if name.startswith("group_")
        ]
        return {"groups": sorted(groups, key=lambda group: group[0] is None)}
