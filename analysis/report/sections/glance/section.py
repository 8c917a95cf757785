"""The chapter “At a glance”: how many annotators a judge is worth, costs, and limits."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analysis.data.verdicts import Verdicts
from analysis.report.report_json import Json, number, put, put_interval, undefined
from analysis.report.section import Report, Section, Sentence
from analysis.report.sections.glance.accuracies import Accuracies
from analysis.report.sections.glance.headline import Headline
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.words import (
    CHOSEN_ELSEWHERE,
    INDIVIDUALS,
    OPT_IN,
    STEREOTYPES,
    language_limit,
    listed,
    named_comparisons,
    number_of,
    reason,
    run_names,
)
from analysis.stats.comparison.cost_accuracy import price_mixes
from analysis.stats.comparison.crowd_equivalence import crowd_equivalence
from analysis.stats.core.votes import Votes


def _equivalence(
    votes: Votes, judge: Verdicts, truth: np.ndarray, *, seed: int, draws: int
) -> Json:
    found = crowd_equivalence(
        votes, judge.answer, truth, rng=np.random.default_rng(seed), n_draws=draws
    )
    out: Json = {"n": found.n_items}
    put(out, "people", number(found.people), found.reason)
    put(out, "place", found.place, found.reason)
    # One end can be open: worth less than one annotator, or more than a hundred.
    put(out, "low", number(found.low), found.reason or "below_one")
    put(out, "high", number(found.high), found.reason or "above_any")
    put(out, "judge_accuracy", number(found.judge_accuracy), found.reason)
    put(out, "ceiling", number(found.ceiling), found.reason)
    out["curve"] = [
        {"people": point.k, "accuracy": point.accuracy, "predicted": point.n_items == 0}
        for point in found.curve
    ]
    return out


def equivalence_table(report: Report) -> Table:
    rows = []
    for name, versus in named_comparisons(report):
        found = versus["worth"]
        if found["judge_accuracy"] is not None:
            rows.append(
                [
                    name,
                    found["n"],
                    found["judge_accuracy"],
                    _people(found),
                    _range(found),
                    found["ceiling"],
                ]
            )
    columns = (
        TableColumn("Run"),
        TableColumn("Items", "count"),
        TableColumn("Accuracy", "percent"),
        TableColumn("Worth people"),
        TableColumn("95 % interval"),
        TableColumn("Majority of very many", "percent"),
    )
    return Table(
        "worth",
        "How many people a judge is worth",
        columns,
        rows,
        "The number of people whose majority is as accurate on the same items: counted as far as "
        "items have answers, beyond that from a beta distribution of the items' difficulty. "
        "Intervals resample items: they are about these people, personas and questions.",
    )


def _people(found: Report) -> str:
    if found["people"] is None:
        return {"below one": "less than one", "above any": "more than any number"}.get(
            found["place"], reason(found["people_reason"])
        )
    return f"{found['people']:.1f}"


def _range(found: Report) -> str:
    low = "less than one" if found["low"] is None else f"{found['low']:.1f}"
    high = "any number" if found["high"] is None else f"{found['high']:.1f}"
    return f"{low} to {high}"


class CrowdEquivalenceSection(Section):
    """The number of annotators whose majority is as accurate as each run."""

    name = "crowd_equivalence"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"comparison": [{"worth": self._of_run(study, judge)} for judge in study.judges]}

    def tables(self, report: Report) -> Iterator[Table]:
        yield equivalence_table(report)

    def _of_run(self, study: ReportedStudy, judge: Verdicts) -> Json:
        if not study.is_binary(judge):
            unknown = undefined("not_offered", "people", "place", "ceiling", "judge_accuracy")
            return unknown | {"n": 0, "curve": []}
        return _equivalence(
            study.votes, judge, study.binary_truth, seed=study.seed, draws=study.draws
        )


def _frontier(
    votes: Votes, judge: Verdicts, truth: np.ndarray, *, seed: int, draws: int
) -> list[Json]:
    """The mixes that no cheaper mix reaches; the price is annotators' answers per item."""
    mixes = price_mixes(
        votes,
        judge.answer,
        judge.certainty,
        truth,
        price_person=1.0,
        price_judge=0.0,
        rng=np.random.default_rng(seed),
        n_draws=draws,
    )
    out = []
    for mix in mixes:
        if mix.best:
            entry: Json = {"policy": mix.policy, "people": mix.people}
            put(entry, "threshold", mix.threshold, "no_threshold")
            entry |= {"answers_per_item": mix.price, "accuracy": mix.accuracy}
            put_interval(entry, "ci", mix.interval, "no_variation")
            put(entry, "often_best", number(mix.often_best), "too_few_items")
            out.append(entry)
    return out


def frontier_table(report: Report) -> Table:
    rows = [
        [
            name,
            mix["policy"],
            mix["people"],
            mix["threshold"],
            mix["answers_per_item"],
            mix["accuracy"],
            mix["ci"],
            mix["often_best"],
        ]
        for name, versus in named_comparisons(report)
        for mix in versus["mixes"]
    ]
    columns = (
        TableColumn("Run"),
        TableColumn("Who labels"),
        TableColumn("People asked", "count"),
        TableColumn("below certainty", "number"),
        TableColumn("Answers of people per item", "decimal"),
        TableColumn("Accuracy", "percent"),
        TableColumn("95 % interval", "percent_range"),
        TableColumn("Best in", "percent"),
    )
    return Table(
        "mixes",
        "Best mixtures of people and judge at each price",
        columns,
        rows,
        "Mixtures that no cheaper one reaches, a tie counting one half. The price is people's "
        "answers per item; the judge's own cost is in its table. Intervals resample items: they "
        "are about these people, personas and questions. "
        "The best of many is partly luck: “best in” is the share of resamples in which the mixture "
        "is still one that no cheaper one reaches.",
    )


class CostFrontier(Section):
    """The mixes of annotators and judge that no cheaper one reaches."""

    name = "cost_frontier"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"comparison": [{"mixes": self._of_run(study, judge)} for judge in study.judges]}

    def tables(self, report: Report) -> Iterator[Table]:
        yield frontier_table(report)

    def _of_run(self, study: ReportedStudy, judge: Verdicts) -> list[Json]:
        if not study.is_binary(judge):
            return []
        return _frontier(study.votes, judge, study.binary_truth, seed=study.seed, draws=study.draws)


def limits_of_study(report: Report) -> Iterator[tuple[str, str]]:
    study, inputs, human = report["study"], report["inputs"], report["human"]
    if study["simulated"]:
        yield "simulated", "Simulated data: nothing here is about real people or real models."
    yield "stereotypes", STEREOTYPES
    yield "individuals", INDIVIDUALS
    if human["answers"]:
        # Participants are counted by state; imported annotators are not among them.
        yield "opt_in", OPT_IN if human["people"] else CHOSEN_ELSEWHERE
    asked_in = {_asked_in(judge["record"]["parameters"]) for judge in report["judges"]} - {""}
    yield "language", language_limit(study["language"], asked_in, study.get("item_languages", ()))
    if inputs["truth"]["unknown"]:
        unknown = inputs["truth"]["unknown"]
        which = "any" if unknown == inputs["items"] else f"{unknown:,}"
        yield (
            "truth",
            f"The person's own answer is unknown for {which} of the {inputs['items']:,} items; "
            "these items score nobody.",
        )
    yield from _shared_items(report)
    if human["answers"]:
        yield (
            "generality",
            "The intervals of the headline, of “At a glance” and of the comparison with people are "
            "about items, people, personas and questions like these. Those under accuracies in "
            "other tables are about items like these, with these personas and questions. Where a "
            "table says so, an interval is about these annotators only. None is about people of "
            "another kind than those who took part.",
        )


def _asked_in(parameters: Mapping[str, Any]) -> str:
    """The language of a run's prompts; empty for juries and imported judgments."""
    asked = "prompts" in parameters
    return str(parameters.get("prompt_language", "en")) if asked else ""


def _shared_items(report: Report) -> Iterator[tuple[str, str]]:
    inputs = report["inputs"]
    if min(inputs["questions"], inputs["personas"]) < inputs["items"]:
        yield (
            "shared",
            f"The {number_of(inputs['items'], 'item')} share "
            f"{number_of(inputs['personas'], 'persona')} and "
            f"{number_of(inputs['questions'], 'question')}; items that share them are "
            "alike. The intervals of the headline, of “At a glance”, of differences from people "
            "and of groups count that; those under accuracies in other tables do not.",
        )


def _of_waves(report: Report) -> Iterator[str]:
    waves = report["study"]["source"].get("pooled_from")
    if waves:
        yield (
            f"This report pools {listed(waves)}: it counts all their people together, and an item "
            "of several once. What differs between them is in the report of each."
        )


def _of_runs(report: Report) -> Iterator[str]:
    if n := report["inputs"].get("runs_left_out"):
        are = "run is" if n == 1 else "runs are"
        yield f"{n:,} {are} marked as not for the report and left out."
    judges = report["judges"]
    most = max((judge["items"] - judge["excluded"]["open"] for judge in judges), default=0)
    for name, judge in zip(run_names(report), judges, strict=True):
        if not judge.get("competes", True):
            n = judge["items"] - judge["excluded"]["open"]
            yield (
                f"{name} has answered {_items(n)}, others up to {most:,}, so it does not count for "
                "the first screen."
            )


def _of_truth(report: Report) -> Iterator[str]:
    truth, n = report["inputs"]["truth"], report["inputs"]["items"]
    if n and truth["unknown"] == n:
        yield (
            "No item has a known answer of the person it is about. Accuracy, calibration and every "
            "comparison of accuracies are undefined; agreement and certainty are not."
        )
    elif truth["unknown"]:
        yield f"{_items(truth['unknown'])} of {n} have no known answer and score nobody."
    if truth["tie"] and not report["study"]["allow_tie"]:
        yield f"{_items(truth['tie'])} of {n} are true ties and score nobody who was offered none."


def _of_people(report: Report) -> Iterator[str]:
    people = report["human"]
    answers, agreement = people["answers"], people["agreement"]
    if not answers:
        yield "No answer of people counts, so the report says nothing about people."
        return
    if people["annotators"] == 1:
        yield (
            "One person gave every answer. Agreement among people is unknown, the majority is that "
            "person, and no interval is about people in general."
        )
    elif agreement["percent"] is None:
        yield "No item was answered by two people, so their agreement is unknown."
    if agreement["krippendorff_alpha"].get("value_reason") == "no_variation":
        yield (
            "All answers of people are the same. They agree completely, but agreement beyond "
            "chance (alpha, kappa) is undefined: nothing shows that they distinguish the items."
        )
    majority = people["majority"]
    if majority["ties"]:
        yield f"{_items(majority['ties'])} have no majority, because their answers tie."


def _items(n: int) -> str:
    return f"{n:,} item" if n == 1 else f"{n:,} items"


class Glance(Section):
    """Headline, accuracies, and crowd equivalence of the judges."""

    name = "glance"
    title = "At a glance"
    is_open = True
    parts = (Headline(), Accuracies(), CrowdEquivalenceSection(), CostFrontier())

    def sentences(self, report: Report) -> Iterator[Sentence]:
        for text in (
            *_of_waves(report),
            *_of_runs(report),
            *_of_truth(report),
            *_of_people(report),
        ):
            yield Sentence.of("missing", text)
        for code, text in limits_of_study(report):
            yield Sentence.of("limit", text, code)
