"""The first chapters: what another view changes, and “What was found” with limits of the study."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    Text,
    clause,
    fixed,
    joined,
    say,
)
from analysis.report.results import is_about_themselves, items, sampled
from analysis.report.section import ReportJson, ReportPage, Section, Sentence
from analysis.report.sections.glance.accuracies import Accuracies
from analysis.report.sections.glance.cautions import Cautions
from analysis.report.sections.glance.headline import Headline
from analysis.report.tables import Table, TableColumn
from analysis.report.words import (
    CHOSEN_ELSEWHERE,
    CHOSEN_PARTLY,
    INDIVIDUALS,
    STEREOTYPES,
    language_limit,
    named_entries,
    opt_in,
)


def limits_of_study(report: ReportJson) -> Iterator[tuple[str, Text]]:
    study, human = report["study"], report["human"]
    if study["simulated"]:
        words = "Simulated data: the numbers say nothing about people or models."
        yield "simulated", say(words)
    if report["inputs"]["personas"]:
        yield "stereotypes", fixed(STEREOTYPES)
    yield "individuals", fixed(INDIVIDUALS)
    if human["answers"]:
        promised, from_files = human["pay"]["promised"], human.get("imported", 0)
        words = opt_in(is_paid=not promised or any(promise["reward"] for promise in promised))
        if from_files:
            words = CHOSEN_ELSEWHERE if from_files == human["annotators"] else CHOSEN_PARTLY
        yield "opt_in", fixed(words)
    if languages := _languages(report):
        yield "language", fixed(languages)
    unknown = unknown_truth(report)
    if unknown.n and not is_about_themselves(report):
        yield (
            "truth",
            say(
                "The person's own answer is unknown for {unknown.some}, which {unknown.is} not "
                "scored.",
                unknown=unknown,
            ),
        )
    yield from _shared_items(report)
    if human["answers"]:
        yield (
            "generality",
            say(
                "Intervals are about {kinds} like these; where a table says so, about these "
                "annotators only. No interval is about people unlike those who took part.",
                kinds=sampled(report),
            ),
        )


def _languages(report: ReportJson) -> str:
    """In which languages people and judges were asked; empty if nobody was."""
    study, human = report["study"], report["human"]
    records = [judge["record"] for judge in report["judges"]]
    # A jury asks nothing itself.
    asked_in = [_asked_in(one["parameters"]) for one in records if one["backend"] != "jury"]
    from_files = {
        "people": (human.get("imported", 0), human["annotators"]),
        "judges": (asked_in.count(""), len(asked_in)),
    }
    return language_limit(
        study["language"],
        {*asked_in} - {""},
        study.get("item_languages", ()),
        [who if n == of else f"some {who}" for who, (n, of) in from_files.items() if n],
        people=bool(human["answers"]),
    )


def _asked_in(parameters: Mapping[str, Any]) -> str:
    """The language of a run's prompts; empty for imported judgments."""
    asked = "prompts" in parameters
    return str(parameters.get("prompt_language", "en")) if asked else ""


def _shared_items(report: ReportJson) -> Iterator[tuple[str, Text]]:
    inputs = report["inputs"]
    shared = [
        clause("{of}", of=Population(kind, n=inputs[f"{kind}s"], path=f"inputs.{kind}s"))
        for kind in ("persona", "question")
        # Of the only one, no interval is about others.
        if 1 < inputs[f"{kind}s"] < inputs["items"]
    ]
    if shared:
        yield (
            "shared",
            say(
                "The {items} share {shared}, so some answers may be alike. The intervals on the "
                "first screen, in “What was found”, in Tables A and B, of differences from people "
                "and of groups allow for that; those under accuracies in other tables do not.",
                items=items(report, "", inputs["items"], "inputs.items"),
                shared=joined(shared),
            ),
        )


def _of_waves(report: ReportJson) -> Iterator[Text]:
    waves = report["study"]["source"].get("pooled_from")
    if waves:
        yield say(
            "This report pools {waves}: it counts all their people together, and shared items "
            "once. For differences between them, see their own reports.",
            waves=joined([clause("{name}", name=Name(wave)) for wave in waves]),
        )


def _of_runs(report: ReportJson) -> Iterator[Text]:
    if n := report["inputs"].get("runs_left_out"):
        runs = Population("run", n=n, path="inputs.runs_left_out")
        yield say("{runs} {runs.is} marked as not for the report and left out.", runs=runs)
    asked = [judge["items"] - judge["excluded"]["open"] for judge in report["judges"]]
    for (name, judge), n in zip(named_entries(report, "judges"), asked, strict=True):
        if not judge.get("competes", True):
            yield say(
                "{name} has answered {items}, others up to {most}, so the answer of the first "
                "screen leaves it out.",
                name=Name(name),
                items=items(report, "", n),
                most=Quantity("count", None, max(asked)),
            )


def unknown_truth(report: ReportJson) -> Population:
    """The items without a known own answer of the persona."""
    rule = "without a known own answer of the persona"
    return items(report, rule, report["inputs"]["truth"]["unknown"], "inputs.truth.unknown")


def _of_truth(report: ReportJson) -> Iterator[Text]:
    unknown, truth = unknown_truth(report), report["inputs"]["truth"]
    if unknown.n and unknown.is_whole:
        yield say(
            "Accuracy, calibration and all comparisons of accuracy are undefined; agreement and "
            "certainty are not."
        )
    elif unknown.n:
        yield say(
            "{unknown.some} {unknown.has} no known answer and {unknown.is} not scored.",
            unknown=unknown,
        )
    if truth["tie"] and not report["study"]["allow_tie"]:
        ties = items(report, "that are true ties", truth["tie"], "inputs.truth.tie")
        yield say(
            "{ties.some} {ties.is} scored only for raters offered a tie, the true answer.",
            ties=ties,
        )


def _of_people(report: ReportJson) -> Iterator[Text]:
    people = report["human"]
    answers, agreement = people["answers"], people["agreement"]
    if not answers:
        if report["headline"]["state"] != "judges_only":
            yield say("No answer of people counts, so the report says nothing about people.")
        return
    if people["annotators"] == 1:
        yield say(
            "One person gave all answers that count. Agreement among people is unknown, the "
            "majority is this person, and no interval is about people in general."
        )
    elif agreement["percent"] is None:
        yield say("No two people answered the same item, so their agreement is unknown.")
    if agreement["krippendorff_alpha"].get("value_reason") == "no_variation":
        yield say(
            "All answers to items that several people answered are the same. People agree "
            "completely, but agreement beyond chance (alpha, kappa) is undefined: nothing shows "
            "that they distinguish the items."
        )
    if n := people.get("coverage", {}).get("0"):
        none = items(report, "", n, "human.coverage.0")
        yield say("{none} {none.has} no answer from people.", none=none)
    if n := people["majority"]["ties"]:
        ties = items(report, "", n, "human.majority.ties")
        yield say("{ties} {ties.has} no majority, because votes tie.", ties=ties)


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
        for part in (_of_waves, _of_runs, _of_truth, _of_people):
            yield from (Sentence("missing", text) for text in part(report))
        for code, text in limits_of_study(report):
            yield Sentence("limit", text, code)


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
