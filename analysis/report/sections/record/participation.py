"""Participants, answers, payments, annotators' work, and all items."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from itertools import repeat

import numpy as np

from analysis.data.arrays import CHOICES, Dataset
from analysis.data.verdicts import Verdicts, people_votes
from analysis.report.quantities import Population, Quantity, Text, clause, say
from analysis.report.report_json import Json, cell, put, undefined
from analysis.report.section import NumberSource, ReportJson, Section
from analysis.report.study import ReportedStudy, on_side, tally
from analysis.report.tables import CellKind, Table, TableColumn, in_general, table_of_entries
from analysis.report.words import run_names
from analysis.stats.accuracy.bands import individual_accuracy, majority_accuracy
from analysis.stats.agreement.annotators import AnnotatorQuality, annotator_quality
from analysis.stats.core.aggregation import majority_vote
from analysis.stats.core.results import Estimate
from analysis.stats.core.votes import Votes
from studies.money import major_units

# Measured again with the excluded annotators, and without those who have signs of a program.
BEFORE = ("majority", "individual")


def _before_exclusions(study: ReportedStudy) -> Json:
    """Accuracy including the annotators whom researchers excluded."""
    data = study.data
    out: Json = {"annotators": len(data.raters) + len(data.set_aside_raters)}
    if data.set_aside is None:
        return out | {"answers": len(data.answers)} | undefined("no_exclusions", *BEFORE)
    return out | _accuracy(study, people_votes(data, with_excluded=True))


def _accuracy(study: ReportedStudy, votes: Votes) -> Json:
    """The number of answers and the accuracy of people with these votes."""
    majority = majority_accuracy(majority_vote(votes), study.truth, threshold=study.threshold)
    individual = individual_accuracy(votes, study.truth, threshold=study.threshold)
    shares = zip(BEFORE, (majority.overall, individual.overall), strict=True)
    return {"answers": votes.n} | {name: cell(share) for name, share in shares}


def _without_flagged(study: ReportedStudy) -> Json:
    """Accuracy without the annotators who have signs of a program."""
    data = study.data
    out: Json = {"flagged": sum(data.flagged), "annotators": len(data.raters) - sum(data.flagged)}
    if not data.flagged:
        return out | {"answers": len(data.answers)} | undefined("nobody_flagged", *BEFORE)
    votes = people_votes(data)
    stays = ~np.array(data.flagged)[votes.annotator]
    fields = ("item", "annotator", "choice", "certainty")
    kept = replace(votes, **{name: getattr(votes, name)[stays] for name in fields})
    return out | _accuracy(study, kept)


def _checks(data: Dataset) -> dict[str, int]:
    """Attention checks shown to counted annotators, and the number failed."""
    seen = [n for n, _ in data.attention]
    return {
        "people": sum(n > 0 for n in seen),
        "seen": sum(seen),
        "failed": sum(failed for _, failed in data.attention),
    }


def _pay(data: Dataset, correct: int) -> Json:
    """Rewards of people who finished, before platform fees, and the cost of a right answer.

    Everyone counts with the promised reward. Rewards in several currencies have no total.
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
    currencies = {promise["currency"] for promise in promised} or {data.study.currency}
    out: Json = {
        "currency": min(currencies),
        "finished": data.people.get("completed", 0),
        "promised": promised,
    }
    total = math.fsum(promise["rewards"] for promise in promised) if promised else None
    reason = "no_payments"
    if len(currencies) > 1:
        total, reason = None, "several_currencies"
    put(out, "rewards", total, reason)
    if total is not None and (data.is_part or data.imported.intersection(data.raters)):
        # Of a part of the answers, and of those from a file, it is not known what they cost.
        total, reason = None, "not_reported"
    put(out, "per_correct", total / correct if total is not None and correct else None, reason)
    return out


def people(report: ReportJson) -> Table:
    """Counted participants and answers, and the reasons for the others."""
    human = report["human"]
    left_out = human["not_counted"]
    # People in several pooled studies finished each of them, and were paid for each.
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
    columns = (TableColumn("What"), TableColumn("Number", "count"))
    title = "Participation, and answers that do not count"
    return Table("people", title, columns, rows, is_record=True)


def quotas(report: ReportJson) -> Table:
    return table_of_entries(
        "quotas",
        "Target and finished people by group",
        [(cell["group"], cell) for cell in report["human"]["quotas"]],
        [("Target", "count", "wanted"), ("Finished", "count", "finished")],
        first="Group",
        is_record=True,
    )


def excluded_people(report: ReportJson) -> Table:
    """People excluded by researchers; empty without exclusions."""
    return _left_out(
        ("excluded_people", "People excluded by the researchers, and why", "Person"),
        [(entry["rater"], entry) for entry in report["human"].get("exclusions", ())],
        "First report: whether the exclusion came before or after the first request for a report "
        "of the study, which could reveal the result.",
    )


def items_left_out(report: ReportJson) -> Table:
    """Items that the researchers took out; empty without any."""
    return _left_out(
        ("items_left_out", "Items taken out by the researchers, and why", "Item"),
        [(entry["item"], entry) for entry in report.get("items_left_out", ())],
        "Answers: those given to the item. They are kept, and nothing counts them.",
    )


def _left_out(
    names: tuple[str, str, str], entries: Sequence[tuple[str, ReportJson]], note: str
) -> Table:
    """Who or what was left out; `names` are those of the table and of its first column."""
    name, title, first = names
    rows = [
        [
            who or "not shown here",
            entry["reason"] or "not shown here",
            entry["on"] or "before the import",
            entry["by"] or "a command",
            "after it" if entry["after_report"] else "before it",
            entry["answers"],
        ]
        for who, entry in entries
    ]
    columns = (
        TableColumn(first),
        TableColumn("Reason"),
        TableColumn("Day"),
        TableColumn("By"),
        TableColumn("First report"),
        TableColumn("Answers", "count"),
    )
    return Table(name, title, columns, rows, note, is_record=True)


def exclusions(report: ReportJson) -> Table:
    """Accuracy before and after exclusions by researchers; empty without exclusions."""
    human, before = report["human"], report["human"]["before_exclusions"]
    sides = (("People, majority", "majority"), ("People, single", "individual"))
    rows = [
        [who, before[key], in_general(human[key])] for who, key in sides if before[key] is not None
    ]
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
        say(
            "Before: {before}. After: {after}. Only exclusions by researchers; withdrawn answers "
            "are in neither.",
            before=_answers_of(before, "human.before_exclusions"),
            after=_answers_of(human, "human"),
        ),
    )


def without_flagged(report: ReportJson) -> Table:
    """Accuracy with and without annotators who have signs of a program; empty without any."""
    human, without = report["human"], report["human"]["without_flagged"]
    sides = (("People, majority", "majority"), ("People, single", "individual"))
    rows = [
        [who, in_general(human[key]), without[key]]
        for who, key in sides
        if without[key] is not None
    ]
    columns = (
        TableColumn("Who"),
        TableColumn("of everybody", "share", "Accuracy"),
        TableColumn("without them", "share", "Accuracy"),
    )
    return Table(
        "without_flagged",
        "Accuracy without annotators who have signs of a program",
        columns,
        rows,
        say(
            "Of everybody: {all}. Without the {flagged} flagged: {rest}. A description: flags can "
            "be wrong, and nobody is excluded because of them.",
            all=_answers_of(human, "human"),
            flagged=Quantity(
                "count",
                Population("person", n=human["annotators"], path="human.annotators"),
                without["flagged"],
                "human.without_flagged.flagged",
            ),
            rest=_answers_of(without, "human.without_flagged"),
        ),
    )


def _answers_of(entry: ReportJson, path: str) -> Text:
    return clause(
        "{answers} of {people}",
        answers=Population("answer", n=entry["answers"], path=f"{path}.answers"),
        people=Population("person", n=entry["annotators"], path=f"{path}.annotators"),
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

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        data = study.data
        quotas_ = [
            {"group": group, "wanted": wanted, "finished": finished}
            for group, wanted, finished in data.quotas
        ]
        left_out = [asdict(entry) for entry in data.left_out]
        return {
            **({"items_left_out": left_out} if left_out else {}),
            "human": {
                "coverage": tally(study.people.majority.n_votes),
                "people": dict(data.people),
                "imported": sum(rater in data.imported for rater in data.raters),
                **({"recruiting": asdict(data.recruiting)} if data.recruiting else {}),
                "not_counted": dict(data.not_counted),
                "exclusions": [asdict(entry) for entry in data.exclusions],
                "before_exclusions": _before_exclusions(study),
                "without_flagged": _without_flagged(study),
                "quotas": quotas_,
                "checks": _checks(data),
                "pay": _pay(data, earlier["human"]["individual"]["correct"]),
            },
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield people(report)
        yield quotas(report)
        yield excluded_people(report)
        yield items_left_out(report)
        yield exclusions(report)
        yield without_flagged(report)


MIN_EACH = 10  # with fewer right or wrong answers, an area under the curve is mostly chance


MEASURES = (
    "pair_agreement",
    "certainty_mean",
    "certainty_sd",
    "favourite_share",
    "median_seconds",
)


def raters(study: ReportedStudy) -> list[Json]:
    """One row per annotator."""
    data, votes, truth = study.data, study.votes, study.truth
    known = (truth >= 0)[votes.item]
    right = votes.choice == truth[votes.item]
    stated = known & ~np.isnan(votes.certainty)
    side = on_side(votes.choice, data.answers.shown_first)
    counted = {
        name: np.bincount(votes.annotator[rows], minlength=len(data.raters))
        for name, rows in (
            ("right", stated & right),
            ("wrong", stated & ~right),
            ("sided", side >= 0),
            ("a", side == 0),
        )
    }
    qualities = annotator_quality(
        votes, truth, side=side, position=data.answers.position, seconds=data.answers.seconds
    )
    rows = []
    for index, (pseudonym, quality) in enumerate(zip(data.raters, qualities, strict=True)):
        own = {name: int(counts[index]) for name, counts in counted.items()}
        row: Json = {"rater": pseudonym} | _row(quality, own)
        seen, failed = data.attention[index] if data.attention else (0, 0)
        row["checks"] = {"seen": seen, "failed": failed}
        rows.append(row)
    return sorted(rows, key=lambda row: row["rater"])


def _row(quality: AnnotatorQuality, own: Mapping[str, int]) -> Json:
    row = {"answers": quality.n} | cell(quality.accuracy)
    others = quality.majority_agreement
    put(row, "with_others", others.value, others.reason)
    row["with_others_n"], row["others_tied"] = others.n, quality.others_tied
    for key in MEASURES:
        measure = getattr(quality, key)
        put(row, key, measure.value, measure.reason)
    enough = min(own["right"], own["wrong"]) >= MIN_EACH
    area = quality.certainty_auroc if enough else Estimate(None, "too_few_items")
    put(row, "auroc", area.value, area.reason)
    put(row, "share_a", own["a"] / own["sided"] if own["sided"] else None)
    put(row, "longest_run", quality.longest_run if own["sided"] else None)
    return row


def raters_table(report: ReportJson) -> Table:
    listed = report["human"]["raters"]
    has_bits = any("bits" in row for row in listed)
    bits: tuple[tuple[str, CellKind, str], ...] = (("Bits per answer", "decimal", "bits"),)
    fields: tuple[tuple[str, CellKind, str], ...] = (
        ("Answers", "count", "answers"),
        ("As the majority of others", "percent", "with_others"),
        ("As another person", "percent", "pair_agreement"),
        ("Mean certainty", "number", "certainty_mean"),
        ("SD", "number", "certainty_sd"),
        ("AUROC", "decimal", "auroc"),
        ("Favourite option", "percent", "favourite_share"),
        ("Share A", "percent", "share_a"),
        ("Longest run on a side", "count", "longest_run"),
        *(bits if has_bits else ()),
        ("Median seconds", "number", "median_seconds"),
    )
    columns = (
        TableColumn("Person"),
        TableColumn("Accuracy", "share"),
        *(TableColumn(heading, kind) for heading, kind, _ in fields),
        TableColumn("seen", "count", "Attention checks"),
        TableColumn("failed", "count", "Attention checks"),
    )
    rows = [
        [row["rater"], row, *(row[key] for _, _, key in fields), *row["checks"].values()]
        for row in listed
    ]
    about_bits = ""
    if has_bits:
        about_bits = (
            " Bits: the information of an answer about the right one (Dawid and Skene's model), 0 "
            "for somebody who ignores the items; rough with a few dozen answers."
        )
    return Table(
        "raters",
        "How each person worked, by pseudonym",
        columns,
        rows,
        "Signs to look at, never grounds for rejection: people who disagree with others may "
        "know better. AUROC needs ten right and ten wrong answers with a certainty. The longest "
        "run counts answers on one side of the screen, in the order in which the person saw the "
        f"items.{about_bits}",
        is_record=True,
    )


class Annotators(Section):
    """One row per annotator."""

    name = "annotators"
    sources = (NumberSource("human.checks", "raters"),)

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"human": {"raters": raters(study)}}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield raters_table(report)


def _items(study: ReportedStudy) -> list[Json]:
    """One row per item: truth, annotators' votes, and each run's verdict."""
    counts = study.people.majority.counts
    names = CHOICES[: counts.shape[1]]
    # Few different votes and verdicts occur, so rows share them.
    tally = cache(lambda row: dict(zip(names, row, strict=True)))
    votes = map(tally, map(tuple, counts.tolist()))
    judges = zip(*map(_verdicts, study.judges), strict=True)
    rows = []
    for item, own, people, runs in zip(
        study.data.items,
        votes,
        _verdicts(study.people),
        judges if study.judges else repeat(()),
        strict=bool(study.judges),
    ):
        row: Json = {"item": item.key, "topic": item.topic, "persona": item.persona}
        row["question"] = item.question
        put(row, "truth", item.truth or None, "no_truth")
        row |= {"votes": own, "people": people, "judges": list(runs)}
        rows.append(row)
    return rows


def _verdicts(side: Verdicts) -> Iterator[Json]:
    """A side's verdict on each item; equal ones share one object."""
    verdict = cache(_verdict)
    certainties = side.certainty.astype(object)
    certainties[np.isnan(side.certainty)] = None
    return map(
        verdict,
        side.answer.tolist(),
        certainties.tolist(),
        side.correct.tolist(),
        side.majority.undecided.tolist(),
    )


def _verdict(answer: int, certainty: float | None, correct: int, undecided: bool) -> Json:
    out: Json = {"choice": CHOICES[answer] if answer >= 0 else None}
    if answer < 0:
        out["choice_reason"] = "tie" if undecided else "no_votes"
    out["certainty"] = certainty
    if certainty is None:
        out["certainty_reason"] = "not_stated"
    out["correct"] = None if correct < 0 else correct == 1
    if correct < 0:
        out["correct_reason"] = "not_scored"
    return out


def items(report: ReportJson) -> Table:
    rows = []
    for row in report["items"]:
        votes = " ".join(f"{key}:{count}" for key, count in row["votes"].items())
        line = [row["item"], row["topic"], row["question"], row["truth"], votes]
        for side in (row["people"], *row["judges"]):
            line += [side["choice"], side["certainty"]]
        rows.append(line)
    columns = [
        TableColumn("Item"),
        TableColumn("Topic"),
        TableColumn("Question"),
        TableColumn("Truth"),
        TableColumn("Votes"),
    ]
    for who in ("People", *run_names(report)):
        columns += [TableColumn("choice", "text", who), TableColumn("certainty", "number", who)]
    return Table("items", "Every item", tuple(columns), rows, is_record=True)


class ItemsSection(Section):
    """All items, one by one."""

    name = "items_one_by_one"
    sources = (NumberSource("inputs", "items"),)

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"items": _items(study)}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield items(report)
