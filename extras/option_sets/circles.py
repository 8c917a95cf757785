"""Whether choices agree with each other: in both orders, and among three responses."""

from collections.abc import Iterator

import numpy as np

from analysis.data.arrays import RunData
from analysis.data.verdicts import Ints
from analysis.report.encode import Json, cell, undefined
from analysis.report.section import Report, Section, Sentence
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.text.names import run_name
from analysis.report.text.numbers import percent, percent_range
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.comparison.probes import agreed
from extras.option_sets.sets import OptionSets, RankedSets
from extras.option_sets.transitivity import transitivity

TIE = 2
BOTH = "both"


def consistency(study: ReportedStudy) -> Json:
    """The entry of report.json; empty without sets of three responses.

    Without such sets the table of positions says what both orders agree on.
    """
    if study.data.of(OptionSets) is None:
        return {}
    judges = []
    ranked = study.data.of(RankedSets)
    for run, judge in zip(study.data.runs, study.judges, strict=True):
        entry = identity(run) | _triples(study, judge.answer)
        if run.setting == "listwise" or (ranked is not None and run.run in ranked.rankings):
            # A reply puts the whole set in one order, which never has a circle: 0 % says nothing.
            none = {"n": 0, "correct": 0} | undefined("one_order", "value", "ci")
            entry |= {"cyclic": none, "intransitive": dict(none)}
            entry |= undefined("one_order", "edits", "bounded")
        if run.orders == BOTH:
            entry["orders"] = _orders(study, run)
        judges.append(entry)
    return {"consistency": {"people": _triples(study, study.people.answer), "judges": judges}}


def _orders(study: ReportedStudy, run: RunData) -> Json:
    """The share of items on which the two orders choose different responses."""
    rows = run.judgments
    n = len(study.data.items)
    choice, first = rows.choice.astype(np.int64), rows.shown_first.astype(np.int64)
    verdict = agreed(choice, rows.item, first, n)
    items = np.flatnonzero(verdict >= 0)
    differs = verdict[items] == TIE
    return cell(general_proportion(differs, study.shared.judged.take(items)), "value")


def _triples(study: ReportedStudy, answer: Ints) -> Json:
    sets = study.data.of(OptionSets)
    assert sets is not None  # noqa: S101 - there are sets
    clusters = {"persona": study.shared.persona, "question": study.shared.question}
    found = transitivity(sets.of_item, sets.first, sets.second, answer, clusters)
    return {
        "sets": found.n_sets,
        "pairs": found.pairs,
        "cyclic": cell(found.cyclic, "value"),
        "intransitive": cell(found.intransitive, "value"),
        "edits": found.edits,
        "bounded": found.n_bounded,
    }


def consistency_table(report: Report) -> Table:
    found = report["consistency"]
    sides = [("People, majority", found["people"])]
    sides += [(run_name(entry, found["judges"]), entry) for entry in found["judges"]]
    rows = [
        (who, {"orders": {"value": None, "ci": None}, **entry})
        for who, entry in sides
        if entry["sets"]
    ]
    return table_of_entries(
        "consistency",
        "Whether choices fit one order of the responses",
        rows,
        [
            ("Questions", "count", "sets"),
            ("Pairs", "count", "pairs"),
            ("n", "count", "cyclic.n", "Circles of three"),
            ("Share", "percent", "cyclic.value", "Circles of three"),
            ("95 % interval", "percent_range", "cyclic.ci", "Circles of three"),
            ("n", "count", "intransitive.n", "Triples that fit no order with ties"),
            ("Share", "percent", "intransitive.value", "Triples that fit no order with ties"),
            ("95 %", "percent_range", "intransitive.ci", "Triples that fit no order with ties"),
            ("Decisions to change", "count", "edits"),
            ("Questions with a bound", "count", "bounded"),
            ("Share", "percent", "orders.value", "Orders disagree"),
            ("95 % interval", "percent_range", "orders.ci", "Orders disagree"),
        ],
        "Questions of one persona with three responses or more that are compared with each other. "
        "Circle: one response is preferred to a second, the second to a third, and the third to "
        "the first; a quarter of random choices are circles. Decisions to change: the fewest, "
        "so that the pairs of every question fit an order with ties; an upper bound for questions "
        "with more than six responses. A judge that puts a whole set in one order cannot make a "
        "circle and has no share. People’s circles can come from people who differ: it is the "
        "majority that is counted.",
        first="Who",
    )


class Consistency(Section):
    """Circles of choices, and choices that depend on the order."""

    name = "consistency"
    keys = """
        # Circles of choices
        consistency | object | Whether choices within a set of responses contradict each other.
        cyclic | object | Circles of three choices.
        intransitive | object | Sets with a circle.
        edits | count | Choices to change until there is no circle.
        bounded | count | Sets of more than six responses, for which `edits` is an upper bound.
        consistency.judges.orders | object | The same in both orders.
    """

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return consistency(study)

    def tables(self, report: Report) -> Iterator[Table]:
        if "consistency" in report:
            yield consistency_table(report)

    def sentences(self, report: Report) -> Iterator[Sentence]:
        judges = report.get("consistency", {"judges": []})["judges"]
        for entry in judges:
            cyclic = entry["cyclic"]
            if cyclic["n"] and cyclic["ci"] is not None:
                who = run_name(entry, judges)
                yield Sentence.of(
                    "finding",
                    f"{who}: {percent(cyclic['value'])} of {cyclic['n']:,} triples of responses "
                    f"are circles (95 % CI {percent_range(cyclic['ci'])}; random choices: 25 %).",
                )
