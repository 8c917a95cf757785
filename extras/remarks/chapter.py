"""The chapter on what annotators said besides their choice."""

from collections.abc import Iterator, Mapping, Sequence

from analysis.report.quantities import Name, Population, Quantity, Text, clause, say
from analysis.report.report_json import Json
from analysis.report.results import items
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import claim_p
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries
from analysis.report.tested import ReportedTest
from analysis.report.words import listed, run_name
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
        (flag["item"], flag | {"kinds": listed([ItemFlag(kind).label for kind in flag["kinds"]])})
        for flag in flags["most"]
    ]
    return table_of_entries(
        "remarks_flags",
        "Items that several people flagged",
        rows,
        [("People", "count", "people"), ("What is wrong", "text", "kinds")],
        f"Items that at least two people flagged, at most {MOST_FLAGGED}. The export “remarks” has "
        "all flags.",
        first="Item",
    )


def sets_table(report: ReportJson) -> Table:
    either = report["remarks"]["either"]
    judges = either["judges"]
    rows = [("People", either["people"])]
    rows += [(run_name(judge, judges), judge) for judge in judges]
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
        remarks.flags.asked | count | Answers at which somebody could flag the item.
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
        entry, claims = report.get("remarks", {}), {}
        if "either" in entry:
            claims[WRONG] = [claim_p(entry["either"]["people"]["when_wrong"], "p")]
        if "others" in entry:
            people = entry["others"]["people"]
            for kind, key in ((GUESSES, "above"), (POPULAR, "popular")):
                claims[kind] = [claim_p(people[key], "p")]
            claims[JUDGED] = [claim_p(judge["above"]) for judge in entry["others"]["judges"]]
        return claims

    def tables(self, report: ReportJson) -> Iterator[Table]:
        entry = report.get("remarks", {})
        if entry.get("flags", {}).get("most"):
            yield flags_table(report)
        if "either" in entry:
            yield sets_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        entry = report.get("remarks", {})
        for words in (
            *(_of_flags(report) if "flags" in entry else ()),
            *(_of_either(report, entry["either"]["people"]) if "either" in entry else ()),
            *(_of_others(report, entry["others"]) if "others" in entry else ()),
        ):
            yield Sentence("finding", words)


def _answers(report: ReportJson, rule: str, n: int, path: str) -> Population:
    return Population("answer", rule, n, report["remarks"]["answers"], path, "remarks.answers")


def _of_flags(report: ReportJson) -> Iterator[Text]:
    flags, path = report["remarks"]["flags"], "remarks.flags"
    answers = _answers(report, "that could", flags["asked"], f"{path}.asked")
    if not answers.n:
        return
    if not flags["items"]:
        yield say("Nobody flagged an item in {answers}.", answers=answers)
        return
    flagged = Population("item", n=flags["items"], path=f"{path}.items")
    yield say(
        "Items flagged in {n} of {n.of}: {items}, {two} of these by at least two people.",
        n=Quantity("count", answers, flags["answers"], f"{path}.answers"),
        items=flagged,
        two=Quantity("count", flagged, flags["by_two"], f"{path}.by_two"),
    )


def _of_either(report: ReportJson, people: ReportJson) -> Iterator[Text]:
    path, either = "remarks.either.people", people["either"]
    if either["value"] is not None:
        asked = _answers(report, "that were asked", either["n"], f"{path}.either.n")
        share = Quantity("share", asked, either["value"], f"{path}.either.value")
        form = "In {x} of {x.of}, annotators said that the other response would do as well."
        yield say(form, x=share)
    same, meet = people["pairs"]["same"], people["pairs"]["meet"]
    if same["value"] is not None:
        rule = "with two answers that were asked"
        both = items(report, rule, same["n"], f"{path}.pairs.same.n")
        same_share, common = (
            Quantity("rate", both, pairs["value"], f"{path}.pairs.{name}.value")
            for name, pairs in (("same", same), ("meet", meet))
        )
        yield say(
            "Two answers to an item are the same choice in {same} of pairs, and accept a response "
            "in common in {common}, as a mean over {same.of}.",
            same=same_share,
            common=common,
        )
    test = people["when_wrong"]
    rule, place = "with right and wrong answers", f"{path}.when_wrong"
    of = items(report, rule, test["n"], f"{place}.n")
    yield ReportedTest.at(report, WRONG, test, place, of, p="p").sentence(
        clause("wrong choices accept the other response more often than right ones"),
        clause("wrong choices accept the other response less often than right ones"),
        whether=clause("wrong choices accept the other response more or less often"),
    )


def _of_others(report: ReportJson, others: ReportJson) -> Iterator[Text]:
    people, path = others["people"], "remarks.others.people"
    of = items(report, "with guesses and other answers", people["above"]["n"], f"{path}.above.n")
    test = ReportedTest.at(report, GUESSES, people["above"], f"{path}.above", of, p="p")
    yield test.sentence(
        clause("annotators guess that more others choose as they do than in fact do"),
        clause("annotators guess that fewer others choose as they do than in fact do"),
        whether=clause("annotators guess too high or too low how many choose as they do"),
    )
    popular, at = people["popular"], f"{path}.popular"
    of = items(report, "with a right answer and two guesses", popular["n"], f"{at}.n")
    test = ReportedTest.at(report, POPULAR, popular, at, of, p="p")
    whose = "often than the majority of the same people"
    above, below = (
        clause(f"surprisingly popular responses are right {more} {whose}")
        for more in ("more", "less")
    )
    whether = clause(f"surprisingly popular responses are right more or less {whose}")
    if test.result is None:
        yield test.sentence(above, below, whether=whether)
    else:
        form = "{popular} against {majority}, {x} points"
        sides = {
            name: Quantity("rate", of, people[f"{name}_right"], f"{path}.{name}_right")
            for name in ("popular", "majority")
        }
        yield test.sentence(above, below, whether=whether, number=form, **sides)
    for place, judge in enumerate(others["judges"]):
        at, name = f"remarks.others.judges.{place}", Name(run_name(judge, others["judges"]))
        of = items(report, "with a guess and answers of people", judge["n"], f"{at}.n")
        yield ReportedTest.at(report, JUDGED, judge["above"], f"{at}.above", of).sentence(
            clause("{name} guesses that more people choose as it does than in fact do", name=name),
            clause("{name} guesses that fewer people choose as it does than in fact do", name=name),
            whether=clause(
                "{name} guesses too high or too low how many people choose as it does", name=name
            ),
        )


CHAPTER = RemarksSection()
