"""The chapter on what annotators said besides their choice."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.report.report_json import Json
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import holds, level_of
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import listed, number_of, percent, points, points_range, reason, run_name
from extras.remarks.measures import MOST_FLAGGED, remarks
from extras.remarks.models import ItemFlag

# Kinds of claims.
WRONG, GUESSES, POPULAR, JUDGED = (
    "second choices of wrong answers",
    "guesses about others",
    "surprisingly popular answers",
    "guesses of judges",
)


def flags_table(report: ReportJson) -> Table:
    flags = report["remarks"]["flags"]
    rows = [
        (each["item"], each | {"kinds": listed([ItemFlag(kind).label for kind in each["kinds"]])})
        for each in flags["most"]
    ]
    return table_of_entries(
        "remarks_flags",
        "Items that several people flagged",
        rows,
        [("People", "count", "people"), ("What is wrong", "text", "kinds")],
        f"The {MOST_FLAGGED} items that most people flagged. The export “remarks” has all flags.",
        first="Item",
    )


def sets_table(report: ReportJson) -> Table:
    found = report["remarks"]["either"]
    judges = found["judges"]
    rows = [("People", found["people"])]
    rows += [(run_name(each, judges), each) for each in judges]
    return table_of_entries(
        "remarks_either",
        "Answers that accept the other response too",
        rows,
        [
            ("Answers", "count", "either.n", "Both would do"),
            ("Share", "percent", "either.value", "Both would do"),
            ("95 % interval", "percent_range", "either.ci", "Both would do"),
            ("Scored", "count", "right.n", "Right answer"),
            ("Chosen", "percent", "right.value", "Right answer"),
            ("Chosen or accepted", "percent", "accepted.value", "Right answer"),
        ],
        "Accepting more can only make more answers right, so compare shares of “chosen or "
        "accepted” only where as many accept both. Intervals hold for items, people, personas and "
        "questions in general.",
        first="Who",
    )


class RemarksSection(Section):
    """Flags, second choices, and guesses about what others choose."""

    name = "remarks"
    title = "Remarks at items"
    inside = "Flags, second choices, guesses about others"
    has_claims = True
    keys = """
        # Remarks at items
        remarks | object | What annotators remarked next to their choices.
        remarks.answers | count | Answers that count.
        remarks.flags | object | Items that annotators flagged.
        remarks.flags.answers | count | Answers with a flag.
        remarks.flags.items | count | Items with a flag.
        remarks.flags.by_two | count | Items that at least two people flagged.
        remarks.flags.kinds | object | Flags by what is wrong.
        remarks.sense | count | It does not make sense.
        remarks.same | count | Both responses are the same.
        remarks.offensive | count | It is offensive.
        remarks.known | count | The annotator knows the person.
        remarks.other | count | Something else.
        remarks.flags.most | list | Items with the most flags of at least two people.
        most.item | text | The item's id.
        most.people | count | People who flagged the item.
        most.kinds | object | Their flags by what is wrong.
        remarks.either | object | Answers for which the other response would do as well.
        either.people | object | Of people.
        either.judges | list | Of judges that were asked.
        remarks.either.either | object | Answers that accept both responses.
        people.either | object | Answers that accept both responses.
        judges.either | object | Judgments that accept both responses.
        remarks.right | object | Answers whose choice is the right one.
        remarks.accepted | object | Answers that accept the right one.
        remarks.count | count | Answers for which the statement holds.
        either.people.pairs | object | Shares of pairs of answers to one item, as a mean over items.
        pairs.same | object | Pairs with the same choice.
        pairs.meet | object | Pairs that accept a response in common.
        when_wrong | object | Share of wrong answers that accept both, minus that of right ones.
        remarks.others | object | Guesses how many others choose the same.
        others.people | object | Guesses of people.
        others.people.n | count | Answers with a guess.
        others.people.mean | share | Mean guess.
        others.people.above | object | Guesses minus the shares of the others, as a mean over items.
        others.people.popular_items | count | Items with a right answer and two guesses.
        others.people.popular | object | Accuracy of surprisingly popular answers minus majority's.
        popular_right | share | Accuracy of surprisingly popular answers.
        majority_right | share | Accuracy of the majority of the same people.
        others.judges | list | Guesses of judges.
        others.judges.n | count | Items with a guess.
        others.judges.above | object | Guesses minus people's shares, as a mean over items.
    """

    def is_needed(self, report: ReportJson) -> bool:
        return "remarks" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return remarks(study)

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        found, claims = report.get("remarks", {}), {}
        if "either" in found:
            claims[WRONG] = [found["either"]["people"]["when_wrong"]["p"]]
        if "others" in found:
            people = found["others"]["people"]
            claims |= {GUESSES: [people["above"]["p"]], POPULAR: [people["popular"]["p"]]}
            claims[JUDGED] = [each["above"]["p_holm"] for each in found["others"]["judges"]]
        return claims

    def tables(self, report: ReportJson) -> Iterator[Table]:
        found = report.get("remarks", {})
        if found.get("flags", {}).get("most"):
            yield flags_table(report)
        if "either" in found:
            yield sets_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        found = report.get("remarks", {})
        for words in (
            *(_of_flags(found) if "flags" in found else ()),
            *(_of_either(report, found["either"]) if "either" in found else ()),
            *(_of_others(report, found["others"]) if "others" in found else ()),
        ):
            yield Sentence.of("finding", words)


def _of_flags(found: Mapping[str, Any]) -> Iterator[str]:
    flags = found["flags"]
    if not flags["items"]:
        yield f"Nobody flagged an item in {number_of(found['answers'], 'answer')}."
        return
    yield (
        f"{number_of(flags['answers'], 'answer')} of {found['answers']:,} flag "
        f"{number_of(flags['items'], 'item')}, {flags['by_two']:,} of these by at least two people."
    )


def _gap(test: Mapping[str, Any]) -> str:
    size = f"{points(test['value'])} points"
    if test["ci"] is None:
        return f"{size} (no interval: {reason(test['ci_reason'])})"
    return f"{size} (95\u00a0% CI {points_range(test['ci'])})"


def _of_either(report: ReportJson, either: Mapping[str, Any]) -> Iterator[str]:
    people = either["people"]
    if people["either"]["value"] is not None:
        yield (
            f"For {percent(people['either']['value'])} of {people['either']['n']:,} choices, "
            "annotators said that the other response would do as well."
        )
    same, meet = people["pairs"]["same"], people["pairs"]["meet"]
    if same["value"] is not None:
        yield (
            f"Two answers to an item are the same choice in {percent(same['value'])} of pairs, and "
            f"accept a response in common in {percent(meet['value'])}."
        )
    test = people["when_wrong"]
    if test["value"] is None:
        return
    if holds(test, level_of(report, WRONG), "p"):
        way = "more" if test["value"] > 0 else "less"
        yield (
            f"At the same item, wrong choices accept the other response {way} often than right "
            f"ones: {_gap(test)}."
        )
    else:
        yield (
            "Wrong minus right choices of the same item that accept the other response: "
            f"{_gap(test)}."
        )


def _of_others(report: ReportJson, others: Mapping[str, Any]) -> Iterator[str]:
    people = others["people"]
    test = people["above"]
    if test["value"] is not None:
        size = f"{_gap(test)}, as a mean over items"
        if holds(test, level_of(report, GUESSES), "p"):
            way = "more" if test["value"] > 0 else "fewer"
            yield f"Annotators guess that {way} others choose as they do than in fact do: {size}."
        else:
            yield f"Annotators’ guesses minus the shares of others who chose the same: {size}."
    test, n = people["popular"], people["popular_items"]
    if test["value"] is not None:
        sizes = (
            f"{percent(people['popular_right'])} against {percent(people['majority_right'])} of "
            f"{number_of(n, 'item')}, {_gap(test)}"
        )
        if holds(test, level_of(report, POPULAR), "p"):
            way = "more" if test["value"] > 0 else "less"
            yield (
                f"Surprisingly popular responses are right {way} often than the majority of the "
                f"same people: {sizes}."
            )
        else:
            yield (
                "Surprisingly popular responses next to the majority of the same people, how often "
                f"each is right: {sizes}."
            )
    for each in others["judges"]:
        test = each["above"]
        if test["value"] is None:
            continue
        name = run_name(each, others["judges"])
        size = f"{_gap(test)}, as a mean over {number_of(each['n'], 'item')}"
        if holds(test, level_of(report, JUDGED), "p_holm"):
            way = "more" if test["value"] > 0 else "fewer"
            yield f"{name} guesses that {way} people choose as it does than in fact do: {size}."
        else:
            yield f"Guesses of {name} minus the shares of people who chose the same: {size}."


CHAPTER = RemarksSection()
