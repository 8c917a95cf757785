"""How often people repeat their own answers, and how close others come to that ceiling."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from analysis.data.verdicts import Verdicts, repeated_readings
from analysis.report.quantities import Population, Quantity, QuantityInterval, say
from analysis.report.report_json import Json, cell, estimate
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import run_name
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.comparison.noise import run_noise
from analysis.stats.core.results import BoolArray, Estimate, IntArray, Proportion
from analysis.stats.core.shared_variance import Sharing
from extras.own_answers.answers_twice import Retests
from extras.own_answers.retest import Retest as Found
from extras.own_answers.retest import retest_of, share_of_retest

_TIE = 2


def _unstable(study: ReportedStudy) -> Iterator[Json]:
    """How often a run changes its choice when it reads an item again in the same order."""
    for run in study.data.runs:
        readings = repeated_readings(study.data, run)
        noise = run_noise(readings, n_draws=study.draws, rng=study.rng())
        if noise.n_items and not run.is_jury:
            yield identity(run) | _changed(noise.same_choice) | {"items": noise.n_items}


def _changed(same: Proportion | Estimate) -> Json:
    """A share of equal choices as that of changed ones."""
    interval = same.interval
    if interval is not None:
        interval = replace(interval, low=1 - interval.high, high=1 - interval.low)
    value = None if same.value is None else 1 - same.value
    return estimate(Estimate(value, same.reason, interval, same.interval_reason))


def _found(retests: Retests, rows: BoolArray) -> Found:
    sharing = _sharing(retests).take(rows)
    return retest_of((retests.first == retests.again)[rows], sharing)


def _sharing(retests: Retests) -> Sharing:
    return Sharing.of_items(
        retests.person.size, {"persona": retests.person, "question": retests.question}
    )


def _entry(estimates: Found, has_ties: bool) -> Json:
    ceiling = Estimate(None, "not_identified") if has_ties else estimates.ceiling
    return {"agreement": cell(estimates.agreement, "value", "count"), "ceiling": estimate(ceiling)}


def _side(study: ReportedStudy, side: Verdicts, sharing: Sharing, retests: Retests) -> Json:
    """Accuracy about people's own answers, and as a share of their ceiling."""
    right = side.correct[side.scored] == 1
    rows = sharing.take(side.scored)
    accuracy = general_proportion(right, rows)
    share = share_of_retest(
        right,
        _people_of(study, retests)[side.scored],
        rows,
        retests.first == retests.again,
        retests.person,
        _sharing(retests),
    )
    return {"accuracy": cell(accuracy, "value", "count"), "share": estimate(share)}


def _people_of(study: ReportedStudy, retests: Retests) -> IntArray:
    """The person of each item, by the codes of `retests`; others follow."""
    codes = {name: place for place, name in enumerate(retests.people)}
    items = study.data.items
    return np.array([codes.setdefault(item.persona, len(codes)) for item in items], dtype=np.int64)


def _bands(report: ReportJson) -> list[tuple[str, ReportJson]]:
    named = [
        ("All answers", report["all"]),
        (f"Certainty {report['threshold']} or more", report["high"]),
        ("Lower certainty", report["low"]),
    ]
    return [(name, entry) for name, entry in named if entry["agreement"]["n"]]


def retest_table(report: ReportJson) -> Table:
    entry = report["retest"]
    return table_of_entries(
        "retest",
        "How often people repeat their own answers",
        _bands(entry),
        [
            ("Asked twice", "count", "agreement.n"),
            ("Same answer", "percent", "agreement.value"),
            ("95 % interval", "percent_range", "agreement.ci"),
            ("Best accuracy", "percent", "ceiling.value"),
            ("95 % interval", "percent_range", "ceiling.ci", "Best accuracy"),
        ],
        "Certainty is that of the first answer. Best accuracy: the long-run maximum about the "
        "first answers, if slips in both answers are independent and equally likely either way. It "
        "is undefined if at most half of the answers are repeated, or if ties were offered.",
        first="Answers",
    )


def retest_share_table(report: ReportJson) -> Table:
    chapter = report["retest"]
    judges = chapter["share_of_judges"]
    return table_of_entries(
        "retest_share",
        "Accuracy as a share of the ceiling",
        [
            ("Majority of people", chapter["share_of_people"]),
            *((run_name(entry, judges), entry) for entry in judges),
        ],
        [
            ("Items", "count", "accuracy.n"),
            ("Accuracy", "percent", "accuracy.value"),
            ("95 % interval", "percent_range", "accuracy.ci", "Accuracy"),
            ("Estimate", "percent", "share.value", "Share of the ceiling"),
            ("95 % interval", "percent_range", "share.ci", "Share of the ceiling"),
        ],
        "Share: 0 is chance, 100 % is the best accuracy in the table above; by chance it can be "
        "higher. Its interval accounts for the uncertainty of both.",
        first="Who",
    )


def instability_table(report: ReportJson) -> Table:
    chapter = report["retest"]
    judges = chapter["changed_by_judges"]
    return table_of_entries(
        "instability",
        "How often people and judges change their choice",
        [
            ("People, on a second visit", chapter["changed_by_people"]),
            *((run_name(entry, judges), entry) for entry in judges),
        ],
        [
            ("Asked twice", "count", "items"),
            ("Changed", "percent", "value"),
            ("95 % interval", "percent_range", "ci", "Changed"),
        ],
        "People: own answers to the same item on a second visit, days later; the interval is for "
        "people and questions in general. Judges: two readings of an item in the same order of "
        "responses, in one run; the interval resamples items.",
        first="Who",
    )


class RetestSection(Section):
    """How often people repeat their own answers, and the resulting ceiling."""

    name = "retest"
    title = "Own answers given twice"
    inside = "How often people repeat them, and accuracy as a share of that ceiling"
    keys = """
retest | object | Own answers given twice, and the resulting best accuracy.
retest.people | count | People who answered items again.
retest.is_linked | flag | Whether others predict their first answers here.
retest.all | object | All answers given twice.
retest.high | object | Those whose first answer was certain.
retest.low | object | Those whose first answer was less certain.
retest.threshold | certainty | The certainty from which an answer counts as certain.
all.agreement | object | Answers that were the same both times.
high.agreement | object | Answers that were the same both times.
low.agreement | object | Answers that were the same both times.
all.ceiling | object | Best possible accuracy about the first answers.
high.ceiling | object | Best possible accuracy about the first answers.
low.ceiling | object | Best possible accuracy about the first answers.
retest.with_ties | flag | Whether a tie was offered, so that no best accuracy is known.
retest.two_options | count | Answers given twice without a tie.
share_of_people | object | The majority's accuracy about own answers, as a share of the ceiling.
share_of_judges | list | The same for each judge.
changed_by_people | object | Own answers that differ on a second visit.
changed_by_judges | list | Readings of an item in the same order that differ, by run.
share_of_people.share | object | Accuracy as a share: 0 is chance, 1 the ceiling.
share_of_judges.share | object | Accuracy as a share: 0 is chance, 1 the ceiling.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return "retest" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty without answers given twice."""
        retests = study.data.of(Retests)
        if retests is None:
            return {}
        # With a third option, chance level and ceiling would differ.
        two = (retests.first < _TIE) & (retests.again < _TIE)
        every = np.ones(two.size, dtype=bool)
        has_ties = study.data.study.allow_tie
        overall = _found(retests, every)
        sure = retests.certainty >= study.threshold
        unsure = retests.certainty < study.threshold
        out: Json = {
            "people": len(retests.people),
            "is_linked": retests.is_linked,
            "all": _entry(overall, has_ties),
            "high": _entry(_found(retests, sure), has_ties),
            "low": _entry(_found(retests, unsure), has_ties),
            "threshold": study.threshold,
            "with_ties": has_ties,
            "two_options": int(two.sum()),
        }
        if retests.is_linked and not has_ties:
            judges = zip(study.data.runs, study.judges, strict=True)
            out["share_of_people"] = _side(study, study.people, study.shared.items, retests)
            out["share_of_judges"] = [
                identity(run) | _side(study, judge, study.shared.judged, retests)
                for run, judge in judges
            ]
        if unstable := list(_unstable(study)):
            out["changed_by_people"] = _changed(overall.agreement) | {"items": overall.agreement.n}
            out["changed_by_judges"] = unstable
        return {"retest": out}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "retest" in report:
            yield retest_table(report)
            if "changed_by_judges" in report["retest"]:
                yield instability_table(report)
            if "share_of_people" in report["retest"]:
                yield retest_share_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if "retest" not in report:
            return
        # In a linked study, others predict what the people of the first one answered.
        of_first = "of the first study" if report["retest"]["is_linked"] else ""
        n = report["retest"]["people"]
        people = Population("person", of_first, n, path="retest.people")
        entry, path = report["retest"]["all"], "retest.all"
        n = entry["agreement"]["n"]
        answers = Population("answer", n=n, path=f"{path}.agreement.n")
        same = entry["agreement"]["value"]
        if same is None:
            yield Sentence("finding", say("{people} answered again.", people=people))
            return
        interval = QuantityInterval.at(entry["agreement"], "ci", f"{path}.agreement")
        repeated = Quantity("share", answers, same, f"{path}.agreement.value", interval)
        form = "{people} answered again, and chose the same in {x} of {x.of} ({x.interval})."
        yield Sentence("finding", say(form, people=people, x=repeated))
        if entry["ceiling"]["ci"] is None:
            return
        interval = QuantityInterval.at(entry["ceiling"], "ci", f"{path}.ceiling")
        best = Quantity(
            "rate", answers, entry["ceiling"]["value"], f"{path}.ceiling.value", interval
        )
        form = (
            "If slips are independent and as likely either way, nobody can predict such answers "
            "better than {x} in the long run ({x.interval})."
        )
        yield Sentence("finding", say(form, x=best))


CHAPTER = RetestSection()
