"""Disagreement: the best possible agreement with people, and how much of it judges have."""

from collections.abc import Iterator

import numpy as np

from analysis.data.arrays import RunData
from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, estimate, number, put, put_interval
from analysis.report.section import NumberSource, Report, Section, Sentence
from analysis.report.sections.disagreement.response_sets import ResponseSets, finding
from analysis.report.sections.disagreement.retest import PossibleAccuracy
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.text.names import run_name
from analysis.report.text.numbers import percent, percent_range
from analysis.report.text.sentences import fill, shown
from analysis.stats.agreement.ceiling import (
    ShareOfPossible,
    agreed_with,
    agreement_ceiling,
    majority_of_others,
    pair_agreement,
    share_of_possible,
)
from analysis.stats.core.results import IntArray

FEWEST_ANSWERS = 2  # on average, of the items with an answer
PERSON, OTHERS = "One annotator", "Majority of the item’s other annotators"


def disagreement(study: ReportedStudy) -> Json:
    """The entry of report.json; empty without judges or with few items that have two answers."""
    votes = study.votes
    counts = votes.counts()
    answers = counts.sum(axis=1)
    if not study.data.runs or votes.n < FEWEST_ANSWERS * max(int((answers > 0).sum()), 1):
        return {}
    sharing = study.shared.items
    ceiling = agreement_ceiling(counts, sharing)
    found: Json = {
        "items": ceiling.n_items,
        "answers_per_item": votes.n / int((answers > 0).sum()),
        "chance": 1 / votes.n_options,
        "ceiling": {"low": estimate(ceiling.low), "high": estimate(ceiling.high)},
    }
    for name, agreed in (
        ("person", pair_agreement(counts)),
        ("others", majority_of_others(counts)),
    ):
        found[name] = _share(share_of_possible(agreed, counts, sharing), ceiling.n_items)
    runs = zip(study.data.runs, study.judges, strict=True)
    found["judges"] = [_judge(study, counts, run, judge) for run, judge in runs]
    return {"disagreement": found}


def _judge(study: ReportedStudy, counts: IntArray, run: RunData, judge: Verdicts) -> Json:
    # An option that annotators did not have agrees with nobody.
    wide = np.pad(counts, ((0, 0), (0, 3 - counts.shape[1])))
    agreed = agreed_with(judge.answer, wide)
    items = int(((judge.answer >= 0) & (counts.sum(axis=1) >= 2)).sum())
    found = share_of_possible(agreed, counts, study.shared.items)
    return identity(run) | _share(found, items)


def _share(found: ShareOfPossible, items: int) -> Json:
    share: Json = {}
    put(share, "value", number(found.low), found.reason)
    put(share, "up_to", number(found.high), found.reason)
    put_interval(share, "ci", found.interval, found.interval_reason or found.reason)
    return {"items": items, "agreement": estimate(found.agreement), "share": share}


def _named(report: Report) -> list[tuple[str, Report]]:
    judges = report["disagreement"]["judges"]
    return [(run_name(entry, judges), entry) for entry in judges]


def ceiling_table(report: Report) -> Table:
    found = report["disagreement"]
    rows = [(PERSON, found["person"]), (OTHERS, found["others"]), *_named(report)]
    ends = " and ".join(percent(found["ceiling"][end]["value"]) for end in ("low", "high"))
    return table_of_entries(
        "ceiling",
        "Agreement with one more person, as a share of what is possible",
        rows,
        [
            ("Items", "count", "items"),
            ("Agreement", "percent", "agreement.value"),
            ("95 % interval", "percent_range", "agreement.ci"),
            ("at least", "percent", "share.value", "Share of what is possible"),
            ("at most", "percent", "share.up_to", "Share of what is possible"),
            ("95 % interval", "percent_range", "share.ci", "Share of what is possible"),
        ],
        "Items with two or more answers. No judge can agree with everybody where people differ: "
        f"the best possible agreement is estimated to be between {ends}. Share: 0 is chance "
        f"({percent(found['chance'])}), 100 % the best possible on the same items; “–” where that "
        "may be no better than chance. Intervals are for items, people, personas and questions in "
        "general; that of the share is for both ends.",
        first="Who",
    )


class Disagreement(Section):
    """What the disagreement of people leaves possible, and whether judges reproduce it."""

    name = "disagreement"
    title = "Disagreement"
    inside = "The best possible agreement with all answers of an item"
    sources = (NumberSource("disagreement", "ceiling"),)
    parts = (PossibleAccuracy(), ResponseSets())

    def is_needed(self, report: Report) -> bool:
        return any(key in report for key in ("disagreement", *(part.name for part in self.parts)))

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return disagreement(study)

    def tables(self, report: Report) -> Iterator[Table]:
        if "disagreement" in report:
            yield ceiling_table(report)

    def sentences(self, report: Report) -> Iterator[Sentence]:
        if "response_sets" in report:
            yield finding(report)
        found = report.get("disagreement")
        if found is None or found["person"]["agreement"]["value"] is None:
            return
        pair = found["person"]["agreement"]["value"]
        high = found["ceiling"]["high"]["value"]
        seen = [each["agreement"]["value"] or 0 for each in found["judges"]]
        # A bound that a judge passes, by copying one of these people, is none.
        ends = found["ceiling"]["high"]["ci"] if max(seen, default=0) <= (high or 0) else None
        words = "Two people agree on {pair} of the items"
        if ends is not None:
            words += (
                ", so the most that a judge can agree with one more person is estimated at {high} "
                "(95 % CI {ends})"
            )
        values = {
            "pair": shown(percent(pair), "disagreement.person.agreement.value"),
            "high": shown(percent(high), "disagreement.ceiling.high.value"),
        }
        if ends is not None:
            values["ends"] = shown(percent_range(ends), "disagreement.ceiling.high.ci")
        known = [
            index
            for index, entry in enumerate(found["judges"])
            if entry["share"]["value"] is not None
        ]
        if known:
            best = max(known, key=lambda at: found["judges"][at]["agreement"]["value"])
            entry = found["judges"][best]
            words += (
                "; {judge} agrees most, on {agreed}"
                if len(known) > 1
                else ("; {judge} agrees on {agreed}")
            )
            values["judge"] = shown(run_name(entry, found["judges"]), "")
            values["agreed"] = shown(
                percent(entry["agreement"]["value"]),
                f"disagreement.judges.{best}.agreement.value",
            )
        yield Sentence("finding", fill(words + ".", **values))
