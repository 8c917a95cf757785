"""On which groups of personas the majority and each run err more often than on others."""

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, estimate, number, put, undefined
from analysis.report.rules import LEVEL
from analysis.report.section import Report, Section, Sentence
from analysis.report.sections.groups.accuracy import MAX_VALUES, MIN_SHARE
from analysis.report.sections.groups.comparison import FAMILY
from analysis.report.study import Study
from analysis.report.tables import Column, Table
from analysis.report.text.names import run_names, whole_runs
from analysis.report.text.numbers import p_value, points
from analysis.stats.accuracy.group_errors import FEWEST_PERSONAS, GroupErrors, errors_by_group
from analysis.stats.core.checks import n_distinct
from analysis.stats.core.multiplicity import benjamini_yekutieli, holm
from analysis.stats.core.results import FloatArray, IntArray


def group_errors(study: Study) -> Json:
    """The entry of report.json; empty without a feature that groups enough personas."""
    grouped = list(_groups(study))
    if not grouped:
        return {}
    people = _wrong(study.people)
    sides = [_entries(study, grouped, people, None)]
    sides += [_entries(study, grouped, _wrong(judge), people) for judge in study.judges]
    return {"group_errors": {"people": sides[0], "judges": sides[1:]}}


def _groups(study: Study) -> Iterator[tuple[str, list[str], IntArray]]:
    """Features of personas: label, values, and the code of each item's value; -1 unknown."""
    data, persona = study.data, study.shared.persona
    labels = dict.fromkeys(label for pairs in data.personas.values() for label, _ in pairs)
    for label in labels:
        value_of = {key: dict(pairs).get(label, "") for key, pairs in data.personas.items()}
        values = [value_of[item.persona] for item in data.items]
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
    """1 wrong, 0 right; NaN where a side has no scored verdict."""
    correct = np.asarray(side.correct, dtype=np.float64)
    return np.where(correct >= 0, 1 - correct, np.nan)


def _entries(
    study: Study,
    grouped: Sequence[tuple[str, list[str], IntArray]],
    wrong: FloatArray,
    people: FloatArray | None,
) -> list[Json]:
    """The groups of one side, by p; `people` are the errors that a judge's are compared with."""
    entries: list[Json] = []
    persona = study.shared.persona
    for label, names, codes in grouped:
        found = errors_by_group(wrong, codes, persona)
        beyond = {}
        if people is not None:
            beyond = {one.group: one for one in errors_by_group(wrong - people, codes, persona)}
        # Of two groups, one compared with the other says all.
        for one in found[: 1 if len(found) == 2 else None]:
            if min(one.personas, one.personas_rest) >= FEWEST_PERSONAS:
                entry = _entry(label, names[one.group], one)
                if people is not None:
                    entry["beyond_people"] = _difference(beyond.get(one.group))
                entries.append(entry)
    if people is not None:
        _adjust([entry["beyond_people"] for entry in entries])
    _adjust([entry["difference"] for entry in entries])
    return sorted(entries, key=lambda entry: (entry["difference"]["p"] is None, _p_of(entry)))


def _p_of(entry: Json) -> tuple[float, str, str]:
    p = entry["difference"]["p"]
    return (1.0 if p is None else p), entry["label"], entry["value"]


def _entry(label: str, value: str, found: GroupErrors) -> Json:
    out: Json = {"label": label, "value": value, "n": found.n, "personas": found.personas}
    put(out, "wrong", number(found.inside), "empty_group")
    put(out, "wrong_elsewhere", number(found.outside), "empty_group")
    out["difference"] = _difference(found)
    return out


def _difference(found: GroupErrors | None) -> Json:
    """A difference with its p; undefined for a group in which no item has both values."""
    if found is None:
        return undefined("empty_group", "value", "ci", "p")
    out = estimate(found.difference)
    reason = found.difference.interval_reason or found.difference.reason
    put(out, "p", number(found.p), reason)
    return out


def _adjust(entries: Sequence[Json]) -> None:
    p_values = [entry["p"] for entry in entries]
    for entry, one, other in zip(
        entries, holm(p_values), benjamini_yekutieli(p_values), strict=True
    ):
        put(entry, "p_holm", number(one), entry.get("p_reason"))
        put(entry, "p_by", number(other), entry.get("p_reason"))


def group_errors_table(report: Report) -> Table:
    found = report.get("group_errors", {"people": [], "judges": []})
    sides = [("People, majority", found["people"])]
    if found["judges"]:
        names = run_names(report)
        sides += [(names[index], found["judges"][index]) for index in whole_runs(report)]
    rows = []
    for who, entries in sides:
        for entry in entries:
            beyond = entry.get("beyond_people", {})
            row = [who, entry["label"], entry["value"]]
            row += [entry[key] for key in ("personas", "n", "wrong", "wrong_elsewhere")]
            row += [entry["difference"][key] for key in ("value", "ci", "p_holm", "p_by")]
            rows.append([*row, *(beyond.get(key) for key in ("value", "ci", "p_holm"))])
    columns = (
        Column("Who"),
        Column("Feature"),
        Column("Value"),
        Column("Personas", "count"),
        Column("Items", "count"),
        Column("In the group", "percent", "Wrong"),
        Column("Elsewhere", "percent", "Wrong"),
        Column("Difference", "points", "Wrong"),
        Column("95 % interval", "points_range", "Wrong"),
        Column("Holm p", "p", "Wrong"),
        Column("BY p", "p", "Wrong"),
        Column("Difference", "points", "More than people do"),
        Column("95 % interval", "points_range", "More than people do"),
        Column("Holm p", "p", "More than people do"),
    )
    return Table(
        "errors_by_group",
        "On which personas each side errs",
        columns,
        rows,
        f"Groups of at least {FEWEST_PERSONAS} personas, each compared with all other personas by "
        "a Welch test over personas. Holm and Benjamini-Yekutieli: over all groups of all features "
        "of one side; only they separate a finding from chance. Runs with less of the persona are "
        "in report.json. More than people do: the same for "
        "the judge’s errors less those of the majority, item by item.",
        family=FAMILY,
    )


class GroupsOfErrors(Section):
    """Which groups of personas each side errs on."""

    name = "group_errors"

    def compute(self, study: Study, earlier: Report) -> Json:
        return group_errors(study)

    def tables(self, report: Report) -> Iterator[Table]:
        yield group_errors_table(report)

    def sentences(self, report: Report) -> Iterator[Sentence]:
        found = report.get("group_errors")
        if found is None:
            return
        for who, entries in zip(run_names(report), found["judges"], strict=True):
            for entry in entries:
                p = entry["difference"]["p_holm"]
                if p is not None and p <= LEVEL:
                    yield Sentence.of("finding", _words(who, entry, p))


def _words(who: str, entry: Report, p: float) -> str:
    value, beyond = entry["difference"]["value"], entry["beyond_people"]
    often = "more" if value > 0 else "less"
    words = (
        f"{who} errs {often} often on personas with {entry['label']} {entry['value']} than on "
        f"others ({points(value)} points, Holm p {p_value(p)})"
    )
    if beyond["p_holm"] is not None and beyond["p_holm"] <= LEVEL:
        return f"{words}, beyond the errors of people there ({points(beyond['value'])} points)."
    return f"{words}; that this goes beyond the errors of people is not shown."
