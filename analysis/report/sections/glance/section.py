"""The first chapters: what another view changes, and “What was found” with limits of the study."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.report.section import ReportJson, ReportPage, Section, Sentence
from analysis.report.sections.glance.accuracies import Accuracies
from analysis.report.sections.glance.cautions import Cautions
from analysis.report.sections.glance.headline import Headline
from analysis.report.tables import Table, TableColumn
from analysis.report.words import (
    CHOSEN_ELSEWHERE,
    INDIVIDUALS,
    STEREOTYPES,
    language_limit,
    listed,
    number_of,
    opt_in,
    run_names,
)


def limits_of_study(report: ReportJson) -> Iterator[tuple[str, str]]:
    study, inputs, human = report["study"], report["inputs"], report["human"]
    if study["simulated"]:
        yield "simulated", "Simulated data: the numbers say nothing about people or models."
    yield "stereotypes", STEREOTYPES
    yield "individuals", INDIVIDUALS
    if human["answers"]:
        # Participants are counted by state, without imported annotators.
        promised = human["pay"]["promised"]
        words = opt_in(is_paid=not promised or any(each["reward"] for each in promised))
        yield "opt_in", words if human["people"] else CHOSEN_ELSEWHERE
    asked_in = {_asked_in(judge["record"]["parameters"]) for judge in report["judges"]} - {""}
    yield "language", language_limit(study["language"], asked_in, study.get("item_languages", ()))
    if inputs["truth"]["unknown"]:
        unknown = inputs["truth"]["unknown"]
        which = "all" if unknown == inputs["items"] else f"{unknown:,} of the"
        yield (
            "truth",
            f"The person's own answer is unknown for {which} {number_of(inputs['items'], 'item')}, "
            "which are not scored.",
        )
    yield from _shared_items(report)
    if human["answers"]:
        yield (
            "generality",
            "Intervals are about items, people, personas and questions like these; where a table "
            "says so, about these annotators only. No interval is about people unlike those who "
            "took part.",
        )


def _asked_in(parameters: Mapping[str, Any]) -> str:
    """The language of a run's prompts; empty for juries and imported judgments."""
    asked = "prompts" in parameters
    return str(parameters.get("prompt_language", "en")) if asked else ""


def _shared_items(report: ReportJson) -> Iterator[tuple[str, str]]:
    inputs = report["inputs"]
    kinds = [(inputs["personas"], "persona"), (inputs["questions"], "question")]
    shared = [number_of(n, kind) for n, kind in kinds if n < inputs["items"]]
    if shared:
        yield (
            "shared",
            f"The {number_of(inputs['items'], 'item')} share {listed(shared)}; items with the same "
            "are correlated. The intervals on the first screen, in “What was found”, in Tables A "
            "and B, of differences from people and of groups allow for that; those under "
            "accuracies in other tables do not.",
        )


def _of_waves(report: ReportJson) -> Iterator[str]:
    waves = report["study"]["source"].get("pooled_from")
    if waves:
        yield (
            f"This report pools {listed(waves)}: it counts all their people together, and shared "
            "items once. For differences between them, see their own reports."
        )


def _of_runs(report: ReportJson) -> Iterator[str]:
    if n := report["inputs"].get("runs_left_out"):
        are = "run is" if n == 1 else "runs are"
        yield f"{n:,} {are} marked as not for the report and left out."
    judges = report["judges"]
    most = max((judge["items"] - judge["excluded"]["open"] for judge in judges), default=0)
    for name, judge in zip(run_names(report), judges, strict=True):
        if not judge.get("competes", True):
            n = judge["items"] - judge["excluded"]["open"]
            yield (
                f"{name} has answered {_items(n)}, others up to {most:,}, so the first screen "
                "leaves it out."
            )


def _of_truth(report: ReportJson) -> Iterator[str]:
    truth, n = report["inputs"]["truth"], report["inputs"]["items"]
    if n and truth["unknown"] == n:
        yield (
            "No item has a known own answer of its persona. Accuracy, calibration and all "
            "comparisons of accuracy are undefined; agreement and certainty are not."
        )
    elif truth["unknown"]:
        yield f"{_items(truth['unknown'])} of {n} have no known answer and are not scored."
    if truth["tie"] and not report["study"]["allow_tie"]:
        yield f"{_items(truth['tie'])} of {n} are true ties, scored only for raters offered one."


def _of_people(report: ReportJson) -> Iterator[str]:
    people = report["human"]
    answers, agreement = people["answers"], people["agreement"]
    if not answers:
        yield "No answer of people counts, so the report says nothing about people."
        return
    if people["annotators"] == 1:
        yield (
            "One person gave all answers. Agreement among people is unknown, the majority is "
            "this person, and no interval is about people in general."
        )
    elif agreement["percent"] is None:
        yield "No two people answered the same item, so their agreement is unknown."
    if agreement["krippendorff_alpha"].get("value_reason") == "no_variation":
        yield (
            "All of people's answers are the same. They agree completely, but agreement beyond "
            "chance (alpha, kappa) is undefined: nothing shows that they distinguish the items."
        )
    majority = people["majority"]
    if majority["ties"]:
        yield f"{_items(majority['ties'])} have no majority, because their answers tie."


def _items(n: int) -> str:
    return f"{n:,} item" if n == 1 else f"{n:,} items"


# States of a headline that compares a judge with people.
COMPARED = {"better", "worse", "equivalent", "cannot_tell"}


class Glance(Section):
    """Headline, claims and accuracies of the judges."""

    name = "glance"
    title = "What was found"
    is_open = True
    parts = (Headline(), Accuracies(), Cautions())

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        # Without a comparison, the headline's sentences say what is missing for one.
        return {"is_compared": page.report["headline"]["state"] in COMPARED}

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for text in (
            *_of_waves(report),
            *_of_runs(report),
            *_of_truth(report),
            *_of_people(report),
        ):
            yield Sentence.of("missing", text)
        for code, text in limits_of_study(report):
            yield Sentence.of("limit", text, code)


def what_changes(report: ReportJson) -> Table:
    """The main numbers of the study's own report beside those of the view."""
    rows = [
        [row["what"], row["registered"], row["view"], "yes" if row["changes"] else "no"]
        for row in report["view"]["what_changes"]
    ]
    columns = (
        TableColumn("What"),
        TableColumn("Own report"),
        TableColumn("This view"),
        TableColumn("Changes"),
    )
    note = (
        "Own report: the same study read as it is registered, with its own threshold, from the "
        "data at the time when this view was computed."
    )
    return Table("what_changes", "What changes", columns, rows, note)


class ViewSection(Section):
    """What another view changes; absent from a study's own report."""

    name = "view"
    title = "What this view changes"
    is_open = True

    def is_needed(self, report: ReportJson) -> bool:
        return "view" in report

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "view" in report:
            yield what_changes(report)
