"""The headline: the main finding in one sentence, chosen by rule."""

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Text,
    Words,
    clause,
    joined,
    say,
)
from analysis.report.report_json import Json
from analysis.report.results import (
    AgainstPeople,
    accuracy_of,
    clusters_of,
    decided_by_judge,
    decided_by_people,
    is_lopsided,
    items,
    no_people,
    no_truth,
    people_agree,
    scope_of,
    uneven,
)
from analysis.report.rules import FULL_SHARE, TOO_SMALL
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import THRESHOLD, state_with, texts, who_of
from analysis.report.study import (
    ReportedStudy,
    best_run,
    certain_items_differ,
    standing,
    tied_with,
)
from analysis.report.words import listed, people_words, run_name

MAJORITY = "human.majority"


def headline(report: ReportJson) -> Json:
    """The study's finding: a state and a few sentences.

    The state compares the best run (`best_run`) with the majority on common items, for items,
    annotators, personas and questions in general (``difference_general``): ``better`` or ``worse``
    if Holm's p over the competing runs is at most .05; ``equivalent`` if that of the two one-sided
    tests is; ``too_few`` below 30 common items; otherwise ``cannot_tell``. If there is nothing to
    compare, the sentences state what is missing.
    """
    people, judges = report["human"], report["judges"]
    majority = people["majority"]
    if not people["answers"] and not judges:
        nothing = say("{none}, and no judge was run.", none=no_people(report))
        return state_with("no_answers", nothing)
    if majority["accuracy"] is None and all(judge["accuracy"] is None for judge in judges):
        return state_with("no_truth", *_without_truth(report))
    index = best_run(judges)
    if index is None:
        none = [say("No judge has an answer that counts.")] if judges else []
        return state_with("people_only", _people(report), *none)
    judge, difference = judges[index], report["comparison"][index]["difference_general"]
    of_judge = _judge(report, index)
    if majority["accuracy"] is None:
        return state_with("judges_only", of_judge, _no_people(report)) | who_of(judge)

    state, name = standing(difference), run_name(judge, judges)
    many = people_words(report)
    sentences = [
        _people(report),
        of_judge,
        AgainstPeople.of_run(report, index, state=state, judge=name, people=many).sentence(),
        *_when_certain(report, index, name),
        *_estimand(report, index, name, many),
    ]
    return state_with(state, *sentences) | who_of(judge)


def _people(report: ReportJson) -> Text:
    return say(
        "{who}: correct on {x} of {x.of} ({x.interval}).",
        who=Words(people_words(report).removeprefix("the ")),
        x=accuracy_of(report["human"]["majority"], MAJORITY, decided_by_people(report)),
    )


def _judge(report: ReportJson, index: int) -> Text:
    """The accuracy of the best run, and of those that tie with it."""
    judges, path = report["judges"], f"comparison.{index}.difference_general.family"
    family = report["comparison"][index]["difference_general"]["family"]
    tied = [run_name(judges[place], judges) for place in tied_with(judges, index)]
    of = decided_by_judge(report, index)
    form = "{names}: correct"
    if len(tied) > 1:
        form = "Tied for the first place of {runs} runs: {names}, each correct"
    elif family > 1:
        compete = " that compete" if family < len(judges) else ""
        form = f"Best judge of {{runs}} runs{compete}: {{names}}, correct"
    return say(
        f"{form} on {{x}} of the {{x.full}} ({{x.interval}}).",
        names=joined([clause("{name}", name=Name(name)) for name in tied]),
        runs=Quantity("count", None, family, path),
        x=accuracy_of(judges[index], f"judges.{index}", of, "ci_as_best"),
    )


def _estimand(report: ReportJson, index: int, name: str, many: str) -> Iterator[Text]:
    """The population of the verdict, and clusters too few to generalise."""
    path = f"comparison.{index}.difference_general"
    difference = report["comparison"][index]["difference_general"]
    if difference["value"] is None:
        return
    kinds, only = scope_of(report, difference)
    if difference["ci"] is not None:
        yield say(
            "The comparison is about one number: how often {name} is correct minus how often "
            "{many} is correct. It and all intervals are for {kinds} like those of this "
            "study{only}.",
            name=Name(name),
            many=Words(many),
            kinds=Words(listed(["items", *kinds])),
            only=Words(f" and its only {listed(only)}" if only else ""),
        )
    for key, form in (
        ("too_few", "The comparison rests on {of.some}: too few to generalise to others."),
        ("few", "The comparison rests on only {of.some}, so intervals are wide and rough."),
    ):
        for kind in difference[key]:
            if kind == "people" and (cause := uneven(report, difference, path)):
                yield say("{cause}: too uneven to generalise to others.", cause=cause)
            elif is_lopsided(difference, kind):
                few = clusters_of(difference, kind, path)
                yield say("Of the {of}, one or a few have most of the items.", of=few)
            else:
                yield say(form, of=clusters_of(difference, kind, path, report))
    effective = difference.get("people_effective")
    if effective is not None and effective < FULL_SHARE * difference["clusters"]["people"]:
        of = clusters_of(difference, "people", path)
        yield say(
            "Some of the {x.of} gave many more answers than others, so they count as {x}.",
            x=Quantity("number", of, effective, f"{path}.people_effective"),
        )


def _when_certain(report: ReportJson, index: int, name: str) -> Iterator[Text]:
    """The accuracy of both, each on its own high-certainty items, so not a comparison."""
    people = Words(people_words(report))
    sides = [
        _CertainSide(Name(name), report["judges"][index], f"judges.{index}", "ci_as_best"),
        _CertainSide(people, report["human"]["majority"], MAJORITY, "ci"),
    ]
    # A side without certainty is left out.
    sides = [side for side in sides if side.states_certainty]
    level = Quantity("level", None, report["parameters"]["threshold"], THRESHOLD)
    if len(sides) == 2 and all(side.is_rare for side in sides):
        judge, majority = sides
        yield say(
            "Neither {judge} nor {people} is certain (≥ {level}) often enough to state an "
            "accuracy: {judge} on {own.some}, and {people} on {theirs.some}.",
            judge=judge.who,
            people=people,
            level=level,
            own=judge.items,
            theirs=majority.items,
        )
    elif sides:
        parts = [side.words() for side in sides]
        form = "At high certainty (≥ {level}), {first}, and {second}."
        if len(sides) == 1:
            form = "At high certainty (≥ {level}), {first}."
        elif not any(side.is_rare for side in sides) and certain_items_differ(
            report["human"], report["judges"][index], report["comparison"][index]
        ):
            form += " These are different items."
        yield say(form, level=level, first=parts[0], second=parts[-1])


@dataclass(frozen=True)
class _CertainSide:
    """A side of report.json, with the key of its interval."""

    who: Name | Words
    entry: ReportJson
    path: str
    interval: str

    @property
    def items(self) -> Population:
        """Its own items of high certainty, which differ from those of others."""
        n, rule = self.entry["high"]["n"], f"of high certainty of {self.who}"
        among = self.entry["n"]
        return Population("item", rule, n, among, f"{self.path}.high.n", f"{self.path}.n")

    @property
    def states_certainty(self) -> bool:
        return bool(self.entry["high"]["n"] + self.entry["low"]["n"])

    @property
    def is_rare(self) -> bool:
        return self.items.n < TOO_SMALL

    def words(self) -> Text:
        if self.is_rare:
            form = "{who} is that certain on only {of.some}, too few to state an accuracy"
            return clause(form, who=self.who, of=self.items)
        accuracy = accuracy_of(self.entry["high"], f"{self.path}.high", self.items, self.interval)
        return clause(
            "{who} is correct on {x} ({x.interval}) of {x.some}", who=self.who, x=accuracy
        )


def _without_truth(report: ReportJson) -> Iterator[Text]:
    yield no_truth(report)
    if not report["human"]["answers"]:
        yield say("{none}, so judges cannot be compared with people.", none=no_people(report))
    if report["human"]["agreement"]["percent"] is not None:
        yield say(
            "Two annotators of the same item agree on {x} of {x.of} ({x.interval}).",
            x=people_agree(report),
        )
    agreeing = [
        (entry["agreement_with_majority"], index)
        for index, entry in enumerate(report["comparison"])
        if entry["agreement_with_majority"] is not None
    ]
    if agreeing:
        best, index = max(agreeing)
        entry, path = report["comparison"][index], f"comparison.{index}"
        of = items(report, "that both decided", entry["common_items"], f"{path}.common_items")
        interval = QuantityInterval.at(entry, "agreement_as_best_ci", path)
        yield say(
            "{name} agrees with the majority of annotators on {x} of {x.of} ({x.interval}).",
            name=Name(run_name(entry, report["comparison"])),
            x=Quantity("share", of, best, f"{path}.agreement_with_majority", interval),
        )


def _no_people(report: ReportJson) -> Text:
    majority = report["human"]["majority"]
    if majority["ties"]:
        return say(
            "Annotators decided no item: their votes tie on {of}.",
            of=items(report, "", majority["ties"], f"{MAJORITY}.ties"),
        )
    if majority["no_truth"]:
        return say(
            "Annotators decided {of}, but none has a right answer that annotators could choose, so "
            "there is no accuracy to compare with.",
            of=items(report, "", majority["no_truth"], f"{MAJORITY}.no_truth"),
        )
    return say("No annotator's answer counts, so judges cannot be compared with annotators.")


class Headline(Section):
    """The headline over all items, for the best run."""

    name = "headline"
    needs = (
        "accuracies",
        "agreement_coefficients",
        "paired_difference",
        "agreement_with_judges",
        "high_sets",
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"headline": headline(earlier)}

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for text in texts(report["headline"]):
            yield Sentence("headline", text)
