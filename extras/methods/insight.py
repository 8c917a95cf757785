"""Insight: how well certainty separates right from wrong answers, apart from accuracy."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Text,
    bare,
    clause,
    say,
)
from analysis.report.report_json import Json, pick, put, put_ci, tested, why
from analysis.report.section import NumberSource, ReportJson, Section, Sentence
from analysis.report.sentences import claim_p
from analysis.report.study import IN_GENERAL, ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.tested import ReportedTest
from analysis.report.words import reason, run_names, whole_runs
from analysis.stats.comparison.general_difference import GeneralDifference
from analysis.stats.core.multiplicity import holm
from extras.methods.stats.meta_d import N_LEVELS, Insight, insight, insight_difference

CLAIM = "insight against people"


def _entry(insight: Insight) -> Json:
    out: Json = {"n": insight.n, "n_right": insight.n_right, "levels": insight.n_levels}
    out |= pick(insight, {name: name for name in ("d_prime", "meta_d", "m_ratio")})
    put_ci(out, "m_ratio_ci", insight)
    return out


def _difference(gap: GeneralDifference, p_holm: float | None, *, is_whole: bool) -> Json:
    out: Json = {"n": gap.n, "holds_for": IN_GENERAL} | tested(gap)
    put(out, "p_holm", p_holm, why(gap) if is_whole else "less_of_persona")
    return out


_PEOPLE = "People, single answers"
_NO_DIFFERENCE = {"difference": {"value": None, "ci": None, "p_holm": None}}


def insight_table(report: ReportJson) -> Table:
    entry = report["insight"]
    labelled = [
        (_PEOPLE, entry["people"] | _NO_DIFFERENCE),
        *zip(run_names(report), entry["judges"], strict=True),
    ]
    return table_of_entries(
        "insight",
        "Sensitivity of choices and of certainty",
        labelled,
        [
            ("Answers", "count", "n"),
            ("right", "count", "n_right"),
            ("d′", "decimal", "d_prime"),
            ("meta-d′", "decimal", "meta_d"),
            ("Ratio", "decimal", "m_ratio", "M-ratio"),
            ("95 %", "range", "m_ratio_ci", "M-ratio"),
            ("Difference", "decimal", "difference.value", "Minus people’s M-ratio"),
            ("95 %", "range", "difference.ci", "Minus people’s M-ratio"),
            ("Holm p", "p", "difference.p_holm", "Minus people’s M-ratio"),
        ],
        "Answers that chose one of two responses with a certainty, to items where one is right. "
        f"Certainty: up to {entry['levels']} levels of about equal size, formed person by person "
        "for people, whose answers are then counted together. Undefined with fewer than ten "
        "right or wrong answers, with d′ below 0.2, or with one certainty. Intervals hold for "
        "items, people, personas and questions in general. The ratio can exceed 1 if certainty "
        "follows the difficulty of items.",
        first="Side",
    )


class InsightSection(Section):
    """Whether certainty separates right from wrong as well as the choices allow."""

    name = "insight"
    title = "Insight"
    inside = "d′, meta-d′ and the M-ratio"
    sources = (NumberSource("insight.people", "insight", _PEOPLE),)
    keys = """
insight | object | How well certainty separates right from wrong, apart from accuracy.
insight.levels | count | Levels of certainty.
n_right | count | Right answers.
d_prime | number | Sensitivity of the choices.
meta_d | number | Sensitivity that would produce the certainties.
m_ratio | number | `meta_d` divided by `d_prime`.
"""

    has_claims = True

    def is_needed(self, report: ReportJson) -> bool:
        return "insight" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty if the M-ratio is undefined for every side."""
        votes, truth, shared = study.votes, study.binary_truth, study.shared
        of_item, items = truth[votes.item], np.arange(truth.size)
        people = insight(of_item, votes.choice, votes.certainty, shared.answers, by=votes.annotator)
        judges = [
            insight(truth, judge.answer, judge.certainty, shared.judged) for judge in study.judges
        ]
        if all(side.m_ratio is None for side in (people, *judges)):
            return {}
        gaps = [
            insight_difference(judge, items, people, votes.item, shared.items) for judge in judges
        ]
        # Runs that saw less of the persona are described, not tested.
        whole = study.whole_runs
        tests = dict(zip(whole, holm([gaps[n].p for n in whole]), strict=True))
        entries = [
            identity(run)
            | _entry(judge)
            | {"difference": _difference(gap, tests.get(n), is_whole=n in tests)}
            for n, (run, judge, gap) in enumerate(zip(study.data.runs, judges, gaps, strict=True))
        ]
        return {"insight": {"levels": N_LEVELS, "people": _entry(people), "judges": entries}}

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        judges = report["insight"]["judges"] if "insight" in report else ()
        whole = whole_runs(report)
        return {CLAIM: [claim_p(one["difference"]) for n, one in enumerate(judges) if n in whole]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "insight" in report:
            yield insight_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if "insight" not in report:
            return
        people = report["insight"]["people"]
        if people["m_ratio"] is None:
            why = bare(reason(people["m_ratio_reason"]))
            yield Sentence("finding", say("Insight: no M-ratio of people ({why}).", why=why))
            return
        answers = Population("answer", n=people["n"], path="insight.people.n")
        interval = QuantityInterval.at(people, "m_ratio_ci", "insight.people")
        path = "insight.people.m_ratio"
        ratio = Quantity("coefficient", answers, people["m_ratio"], path, interval)
        words = say(
            "Insight of people: M-ratio {x} in {x.of} ({x.interval}); a ratio of one means that "
            "certainty uses all the evidence behind the choice.",
            x=ratio,
        )
        yield Sentence("finding", words)
        for words in _judges(report):
            yield Sentence("finding", words)


INSIGHT = InsightSection()


def _judges(report: ReportJson) -> Iterator[Text]:
    """Whether each whole judge has more or less insight than people, after Holm's correction."""
    for place in whole_runs(report):
        name, entry = run_names(report)[place], report["insight"]["judges"][place]
        difference, path = entry["difference"], f"insight.judges.{place}.difference"
        n, who = entry["n"] + report["insight"]["people"]["n"], Name(name)
        of = Population("answer", f"of {name} and of people", n)
        test = ReportedTest.at(report, CLAIM, difference, path, of, unit="coefficient")
        yield test.sentence(
            clause("{who} has more insight than people", who=who),
            clause("{who} has less insight than people", who=who),
            whether=clause("{who} has more or less insight than people", who=who),
            number="M-ratios that differ by {x}",
        )
