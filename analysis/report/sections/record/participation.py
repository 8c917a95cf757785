"""Participants, answers that count, and payments."""

import math
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from analysis.data.arrays import Dataset
from analysis.data.verdicts import Verdicts, people_votes
from analysis.report.encode import Json, cell, put, undefined
from analysis.report.section import NumberSource, Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.stats.accuracy.bands import individual_accuracy, majority_accuracy
from analysis.stats.labels.aggregation import majority_vote
from studies.money import major_units

# Measured a second time with the excluded annotators.
BEFORE = ("majority", "individual")


def _coverage(verdicts: Verdicts) -> dict[str, int]:
    """The number of items by their number of answers."""
    n, items = np.unique(verdicts.majority.n_votes, return_counts=True)
    return {str(votes): int(count) for votes, count in zip(n, items, strict=True)}


def _before_exclusions(study: ReportedStudy) -> Json:
    """Accuracy including the annotators whom researchers excluded by hand."""
    data, truth, threshold = study.data, study.truth, study.threshold
    out: Json = {"annotators": len(data.raters) + len(data.set_aside_raters)}
    if data.set_aside is None:
        return out | {"answers": len(data.answers)} | undefined("no_exclusions", *BEFORE)
    votes = people_votes(data, with_excluded=True)
    majority = majority_accuracy(majority_vote(votes), truth, threshold=threshold)
    individual = individual_accuracy(votes, truth, threshold=threshold)
    found = zip(BEFORE, (majority.overall, individual.overall), strict=True)
    return out | {"answers": votes.n} | {name: cell(share) for name, share in found}


def _checks(data: Dataset) -> dict[str, int]:
    """Attention checks shown to the annotators who count, and the number that they failed."""
    seen = [shown for shown, _ in data.attention]
    return {
        "people": sum(shown > 0 for shown in seen),
        "seen": sum(seen),
        "failed": sum(failed for _, failed in data.attention),
    }


def _pay(data: Dataset, correct: int) -> Json:
    """Rewards of those who finished, before platform fees, and the cost of a right answer.

    Each counts with the reward that they were promised. Rewards in several currencies have no sum.
    """
    promised: list[Json] = [
        {
            "currency": currency,
            "reward": float(major_units(reward, currency)),
            "minutes": minutes,
            "people": n,
            "rewards": float(major_units(n * reward, currency)),
        }
        for (currency, reward, minutes), n in sorted(data.promised.items())
    ]
    currencies = {each["currency"] for each in promised} or {data.study.currency}
    out: Json = {
        "currency": min(currencies),
        "finished": data.people.get("completed", 0),
        "promised": promised,
    }
    total = math.fsum(each["rewards"] for each in promised) if promised else None
    reason = "no_payments"
    if len(currencies) > 1:
        total, reason = None, "several_currencies"
    put(out, "rewards", total, reason)
    put(out, "per_correct", total / correct if total is not None and correct else None, reason)
    return out


def people(report: Report) -> Table:
    """Participants and answers that count, and the reasons for the others."""
    human = report["human"]
    left_out = human["not_counted"]
    # Somebody who took part in several pooled studies ended in each of them, and was paid for each.
    who = "Participations" if "pooled_from" in report["study"]["source"] else "People"
    rows = [[f"{who}: {state.replace('_', ' ')}", n] for state, n in human["people"].items()]
    rows += [
        ["People who count", human["annotators"]],
        ["Answers that count", human["answers"]],
        ["Surplus answers (the item had enough)", left_out["surplus"]],
        ["Answers of people who left", left_out["released"]],
        ["Withdrawn answers", left_out["withdrawn"]],
        ["People excluded by the researchers", left_out["excluded_people"]],
        ["Answers excluded by the researchers", left_out["excluded"]],
    ]
    rows += [
        [f"Items with {votes} {'answer' if votes == '1' else 'answers'}", n]
        for votes, n in human["coverage"].items()
    ]
    columns = (TableColumn("What"), TableColumn("How many", "count"))
    title = "Who came, and which answers do not count"
    return Table("people", title, columns, rows, is_record=True)


def quotas(report: Report) -> Table:
    rows = [[cell["group"], cell["wanted"], cell["finished"]] for cell in report["human"]["quotas"]]
    columns = (
        TableColumn("Group"),
        TableColumn("Target", "count"),
        TableColumn("Finished", "count"),
    )
    return Table(
        "quotas", "Target and finished people of each group", columns, rows, is_record=True
    )


def excluded_people(report: Report) -> Table:
    """Everybody whom researchers excluded; no rows without exclusions."""
    rows = [
        [
            each["rater"] or "not shown here",
            each["reason"] or "not shown here",
            each["on"],
            each["by"] or "a command",
            "after it" if each["after_report"] else "before it",
            each["answers"],
        ]
        for each in report["human"].get("exclusions", ())
    ]
    columns = (
        TableColumn("Person"),
        TableColumn("Reason"),
        TableColumn("Day"),
        TableColumn("By"),
        TableColumn("First report"),
        TableColumn("Answers", "count"),
    )
    title = "Whom the researchers excluded, and why"
    return Table(
        "excluded_people",
        title,
        columns,
        rows,
        "First report: whether the exclusion came before or after a report of the study was asked "
        "for, from which its result could be known.",
        is_record=True,
    )


def exclusions(report: Report) -> Table:
    """Accuracy before and after exclusions by researchers; no rows without exclusions."""
    human, before = report["human"], report["human"]["before_exclusions"]
    sides = (("People, majority", "majority"), ("People, single", "individual"))
    rows = [[who, before[key], human[key]] for who, key in sides if before[key] is not None]
    columns = (
        TableColumn("Who"),
        TableColumn("before", "share", "Accuracy"),
        TableColumn("after", "share", "Accuracy"),
    )
    return Table(
        "exclusions",
        "Accuracy before and after exclusions",
        columns,
        rows,
        f"Before: {before['answers']:,} answers of {before['annotators']:,} people. After: "
        f"{human['answers']:,} answers of {human['annotators']:,} people. Only exclusions by the "
        "researchers; withdrawn answers are gone from both.",
    )


class Participation(Section):
    """Annotators and answers by their state."""

    name = "participation"
    needs = ("accuracies",)
    sources = (
        NumberSource("human.annotators", "people", "People who count"),
        NumberSource("human.answers", "people", "Answers that count"),
        NumberSource("human.people", "people"),
        NumberSource("human.not_counted", "people"),
        NumberSource("human.coverage", "people"),
    )

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        data = study.data
        quotas_ = [
            {"group": group, "wanted": wanted, "finished": finished}
            for group, wanted, finished in data.quotas
        ]
        return {
            "human": {
                "coverage": _coverage(study.people),
                "people": dict(data.people),
                "not_counted": dict(data.not_counted),
                "exclusions": [asdict(each) for each in data.exclusions],
                "before_exclusions": _before_exclusions(study),
                "quotas": quotas_,
                "checks": _checks(data),
                "pay": _pay(data, earlier["human"]["individual"]["correct"]),
            }
        }

    def tables(self, report: Report) -> Iterator[Table]:
        yield people(report)
        yield quotas(report)
        yield excluded_people(report)
        yield exclusions(report)
