"""Results as sentences use them, from report.json, and one writer for each phrase about a test.

The first screen, chapters, methods, the card and pages of extras say with these that something
holds, that we cannot tell, and that something is not shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Text,
    Unit,
    Words,
    capitalised,
    clause,
    joined,
    say,
)
from analysis.report.report_json import ReportJson
from analysis.report.rules import TOO_SMALL
from analysis.report.sentences import holds, level_of
from analysis.report.words import listed
from studies.prompts import BANDS

NOTHING = Words("")


class Finding(StrEnum):
    """What a test says after its correction."""

    ABOVE = "above"
    BELOW = "below"
    OPEN = "cannot tell"


@dataclass(frozen=True)
class TestResult:
    """A number with its interval, and whether the test that it is not 0 `holds` when corrected.

    `p` is adjusted over `tests` runs, and an equally precise study finds `detectable`. Some tests
    by permutation have no interval, because nothing is permuted at another value than 0.
    """

    __test__ = False  # no class of tests, although its name begins like one

    value: Quantity
    holds: bool
    p: Quantity | None = None
    tests: Quantity | None = None
    detectable: Quantity | None = None
    is_without_interval: bool = False

    @classmethod
    def of_difference(
        cls, entry: ReportJson, path: str, of: Population, *, holds: bool
    ) -> "TestResult":
        """A difference in report.json whose interval allows for choosing the best of several."""
        value = Quantity("points", of, entry["value"], f"{path}.value")
        return cls(
            replace(value, interval=QuantityInterval.at(entry, "ci_as_best", path)),
            holds,
            _optional(entry, "p_holm", path, "p", of),
            Quantity("count", None, entry["tests"], f"{path}.tests"),
            _optional(entry, "detectable", path, "size", of),
        )

    @classmethod
    def of_rater(
        cls, report: ReportJson, kind: str, who: str, value: Quantity
    ) -> "TestResult | None":
        """The permutation test of a kind of claims for people or a run; None if there is none.

        `value` is its number, of which report.json has the interval next to the test, if any.
        """
        for place, test in enumerate(report.get("claims_tested", {}).get("members", ())):
            if (test["kind"], test["who"]) == (kind, who) and test["p_max"] is not None:
                return cls(
                    value,
                    holds(test, level_of(report, kind)),
                    Quantity("p", value.of, test["p_max"], f"claims_tested.members.{place}.p_max"),
                    is_without_interval=value.interval.ends is None,
                )
        return None

    @property
    def adjusted_p(self) -> Text | Words:
        """The p value of a permutation test, which is adjusted over people, runs and groups."""
        return NOTHING if self.p is None else clause(", adjusted p {p}", p=self.p)

    @property
    def finding(self) -> Finding:
        """A claim that the number and the interval next to it do not bear is none."""
        none = (self.value.value,) * 2 if self.is_without_interval else (0.0, 0.0)
        low, high = self.value.interval.ends or none
        if self.holds and 0 < low <= high and self.value.value > 0:
            return Finding.ABOVE
        if self.holds and low <= high < 0 and self.value.value < 0:
            return Finding.BELOW
        return Finding.OPEN

    def claim(self, claims: Mapping[Finding, Text], *, whether: Text, number: Text) -> Text:
        """The sentence on what the test says, with the number after a colon."""
        if self.finding is not Finding.OPEN:
            return say("{claim}: {number}.", claim=claims[self.finding], number=number)
        return say(
            "{open}: {number}.{chance}{finds}",
            open=cannot_tell(whether),
            number=number,
            chance=by_chance(self.value.interval),
            finds=finds_after(self.detectable),
        )


def _optional(
    entry: ReportJson, key: str, path: str, unit: Unit, of: Population
) -> Quantity | None:
    value = entry.get(key)
    return None if value is None else Quantity(unit, of, value, f"{path}.{key}")


def cannot_tell(whether: Text) -> Text:
    return clause("we cannot tell whether {whether}", whether=whether)


def not_settled(whether: Text) -> Text:
    return clause("it is not settled whether {whether}", whether=whether)


def not_shown(who: Sequence[Name | Words], what: Words) -> Text:
    """That one side is not shown to be something, or neither of two."""
    if len(who) == 1:
        return clause("{who} is not shown to be {what}", who=who[0], what=what)
    return clause("neither is shown to be {what}", what=what)


def by_chance(interval: QuantityInterval) -> Text | Words:
    """Why nothing is claimed although the interval that is shown does not include 0."""
    if not interval.excludes_zero:
        return NOTHING
    return clause(" After correction for all claims of the report, this can be chance.")


def adjusted(p: Quantity | None, tests: Quantity | None, form: str = "; {holm}") -> Text | Words:
    """The adjusted p value, if several runs have a test."""
    if p is None or tests is None or tests.value < 2:
        return NOTHING
    holm = clause("Holm-adjusted p {p} over {tests} runs", p=p, tests=tests)
    return clause(form, holm=holm)


def finds(detectable: Quantity) -> Text:
    """What an equally precise study would find."""
    form = "an equally precise study finds a true difference of {x} points four times out of five"
    return clause(form, x=detectable)


def finds_after(detectable: Quantity | None) -> Text | Words:
    """The same as a sentence after another; empty if unknown."""
    if detectable is None:
        return NOTHING
    return clause(" {sentence}.", sentence=capitalised(finds(detectable)))


def items(report: ReportJson, rule: str, n: int, path: str = "") -> Population:
    """Some of the study's items; `path` is the place of `n` in report.json."""
    return Population("item", rule, n, report["inputs"]["items"], path, "inputs.items")


def decided_by_people(report: ReportJson) -> Population:
    """The items on which the majority of people, or the only person, is right or wrong."""
    side = report["human"]["majority"]
    needed = [known_answer(report, side["no_truth"])] if side["no_truth"] else []
    if side["ties"] or side["no_votes"]:
        needed.append("an answer" if report["human"]["annotators"] == 1 else "a majority")
    rule = f"with {' and '.join(needed)}" if needed else ""
    return items(report, rule, side["n"], "human.majority.n")


def decided_by_judge(report: ReportJson, index: int) -> Population:
    """The items on which a judge is right or wrong."""
    judge = report["judges"][index]
    undecided = {reason: n for reason, n in judge["excluded"].items() if n}
    no_truth = undecided.pop("no_truth", 0)
    both = judge.get("position", {}).get("both_orders", {"n": 0})
    if both["n"] and undecided == {"tie": both["n"] - both["consistent"]}:
        rule = "on which both orders agree"
    else:
        rule = "that it decided" if no_truth else "it decided"
    known = f"with {known_answer(report, no_truth)} " if no_truth else ""
    return items(report, known + rule, judge["n"], f"judges.{index}.n")


def decided_by_both(report: ReportJson, index: int) -> Population:
    """The items of the difference between a judge and the majority."""
    difference = report["comparison"][index]["difference_general"]
    path = f"comparison.{index}.difference_general.n"
    rule = "that both decided"
    if "asked_of_all" in difference:
        rule = "that every competing judge was asked and both decided"
    return items(report, known(report, index) + rule, difference["n"], path)


def known(report: ReportJson, index: int) -> str:
    """The beginning of a rule about scored items, if a judge decided others without an answer."""
    n = report["judges"][index]["excluded"]["no_truth"]
    return f"with {known_answer(report, n)} " if n else ""


def known_answer(report: ReportJson, without: int) -> str:
    """What scored items have, if `without` others are not scored: a tie may be no option."""
    is_offered = without <= report["inputs"]["truth"]["unknown"]
    return "a known answer" if is_offered else "a right answer on offer"


def certainty_limit(threshold: Quantity) -> Text:
    """What counts as high, with a caveat if the threshold is inside a band, as 80 is."""
    band = next((one for one in BANDS if one.low < threshold.value <= one.high), None)
    if band is None:
        return say("A certainty of {t} or more counts as high.", t=threshold)
    return say(
        "A certainty of {t} or more counts as high; a certainty of exactly {t} is high but still "
        "in the band “{band}”.",
        t=threshold,
        band=Name(band.name),
    )


def clusters_of(
    result: ReportJson, kind: str, path: str = "", report: ReportJson | None = None
) -> Population:
    """The people, personas or questions that a result in report.json rests on.

    With the `report`, of how many, of whom others answered or have other items.
    """
    one, n = "person" if kind == "people" else kind.removesuffix("s"), result["clusters"][kind]
    place = path and f"{path}.clusters.{kind}"
    if report is None:
        return Population(one, n=n, path=place)
    among_path = "human.annotators" if kind == "people" else f"inputs.{kind}"
    among = report["human"]["annotators"] if kind == "people" else report["inputs"][kind]
    # An item without a persona or a question is a cluster of its own.
    return Population(one, "behind the comparison", n, max(n, among), place, among_path)


def scope_of(report: ReportJson, result: ReportJson) -> tuple[list[str], list[str]]:
    """The kinds of which a result speaks in general, and those of which the study has only one.

    Neither has a kind that no item names, such as questions of a table without such a column.
    """
    named = [k for k in ("people", "personas", "questions") if report["inputs"].get(k, 1)]
    only = [kind.removesuffix("s") for kind in named if kind in result["one"]]
    return [kind for kind in named if kind not in result["one"]], only


def sampled(report: ReportJson) -> Words:
    """What intervals are about others of: items, and the kinds of which the study has several."""
    differences = [entry["difference_general"] for entry in report["comparison"]]
    is_fixed = any("people" in difference["one"] for difference in differences)
    numbers = {"people": 1 if is_fixed else report["human"]["annotators"], **report["inputs"]}
    several = [kind for kind in ("people", "personas", "questions") if numbers[kind] > 1]
    return Words(listed(["items", *several]))


def about(inputs: ReportJson, *kinds: str) -> Text | Words:
    """The numbers of personas and questions, of those kinds that items name."""
    units = {"personas": "persona", "questions": "distinct question"}
    numbers = [
        clause("{of}", of=Population(units[kind], n=inputs[kind], path=f"inputs.{kind}"))
        for kind in kinds
        if inputs[kind]
    ]
    return clause(" about {numbers}", numbers=joined(numbers)) if numbers else NOTHING


def uneven(report: ReportJson, result: ReportJson, path: str = "") -> Text | None:
    """One person's share of the answers, if people would otherwise be enough."""
    if not result.get("people_uneven"):
        return None
    of = clusters_of(result, "people", path)
    part = Quantity("part", of, result["people_largest"], path and f"{path}.people_largest")
    is_part = result["n"] < report["inputs"]["items"]
    behind = Words(" behind the comparison" if is_part else "")
    return clause("one of the {x.of} gave {x} of the answers{behind}", x=part, behind=behind)


def is_lopsided(result: ReportJson, kind: str) -> bool:
    """Whether there are enough personas or questions, but a few have most of the items."""
    # Here, because a card of a bundle uses this module and loads no statistics.
    from analysis.stats.core.shared_variance import FEW_CLUSTERS

    return kind != "people" and result["clusters"][kind] >= FEW_CLUSTERS


def is_about_themselves(report: ReportJson) -> bool:
    """Whether people answered for themselves: nobody sees a persona, and nothing is right."""
    return bool(report["study"].get("perspective") == "own")


def no_truth(report: ReportJson) -> Text:
    """Why no answer counts as right or wrong."""
    if is_about_themselves(report):
        return say("People answered for themselves, so no answer is right or wrong.")
    known = report["inputs"]["items"] - report["inputs"]["truth"]["unknown"]
    if not known:
        return say("No item has a known right answer, so no answer can be correct or wrong.")
    return say(
        "{items} {items.has} a known right answer, but no answer that counts decides {any}, so "
        "nothing can be correct or wrong.",
        items=items(report, "", known),
        any=Words("it" if known == 1 else "any of them"),
    )


def excluded_people(report: ReportJson) -> Text | None:
    """How many people are excluded, and how many of them by somebody who could know the result."""
    human, path = report["human"], "human.not_counted.excluded_people"
    n = human["not_counted"].get("excluded_people", 0)
    if not n:
        return None
    people = Population("person", n=n, path=path)
    late: Text | Words = NOTHING
    known = sum(one["after_report"] for one in human.get("exclusions", ()))
    if known:
        after = Quantity("count", people, known)
        form = ", {n} of them after the first report, which could show the result"
        if known == n:
            form = " after the first report, which could show the result"
        late = clause(form, n=after)
    return clause("{people} {people.is} excluded{late}", people=people, late=late)


def no_people(report: ReportJson) -> Text:
    """That there is no answer of people: nobody has answered, or nothing of it counts."""
    out = report["human"].get("not_counted", {})
    if any(out.get(why) for why in ("surplus", "released", "withdrawn", "excluded")):
        return clause("no answer of people counts")
    return clause("no person has answered")


def people_agree(report: ReportJson) -> Quantity:
    """How often two people of the same item agree, each item counting once."""
    agreement, path = report["human"]["agreement"], "human.agreement"
    n, rule = agreement["unanimous"]["n"], "that two or more people answered"
    of = items(report, rule, n, f"{path}.unanimous.n")
    interval = QuantityInterval.at(agreement, "percent_general_ci", path)
    return Quantity("rate", of, agreement["percent"], f"{path}.percent", interval)


def accuracy_of(side: ReportJson, path: str, of: Population, key: str = "ci") -> Quantity:
    """A share of right answers, with the interval `key` that allows for what answers share."""
    # Of few items, the sentence has the number of right ones.
    place = "correct" if of.n < TOO_SMALL else "accuracy"
    interval = QuantityInterval.at(side["clusters"], key, f"{path}.clusters")
    return Quantity("share", of, side["accuracy"], f"{path}.{place}", interval)


@dataclass(frozen=True)
class AgainstPeople:
    """A judge and the majority of people on the items that both decided.

    `state` is the headline's. `shares` are the right answers of the judge and of people. `narrow`
    has the 90 % interval, and `p_equivalence` the p value, of the tests of equivalence within
    `margin`.
    """

    state: str
    judge: Name
    people: Words
    of: Population
    margin: Quantity
    result: TestResult | None = None
    shares: tuple[Quantity, Quantity] | None = None
    narrow: Quantity | None = None
    p_equivalence: Quantity | None = None

    @classmethod
    def of_run(
        cls, report: ReportJson, index: int, *, state: str, judge: str, people: str
    ) -> "AgainstPeople":
        """The comparison of a run in report.json; `judge` and `people` are the words for them."""
        entry = report["comparison"][index]["difference_general"]
        path = f"comparison.{index}.difference_general"
        of = decided_by_both(report, index)
        margin = Quantity("margin", None, entry["margin"], f"{path}.margin")
        comparison = cls(state, Name(judge), Words(people), of, margin)
        if entry["value"] is None:
            return comparison
        ours, theirs = (
            Quantity("share", of, entry[key], f"{path}.{key}")
            for key in ("judge_accuracy", "people_accuracy")
        )
        narrow = Quantity("points", of, entry["value"], f"{path}.value")
        return replace(
            comparison,
            result=TestResult.of_difference(entry, path, of, holds=state in ("better", "worse")),
            shares=(ours, theirs),
            narrow=replace(narrow, interval=QuantityInterval.at(entry, "equivalence_ci", path)),
            p_equivalence=_optional(entry, "equivalence_p_holm", path, "p", of),
        )

    def sentence(self) -> Text:
        """The finding, as the headline has it."""
        if self.result is None or self.narrow is None or self.state == "too_few":
            return say("They have {of.some} in common: too few for a comparison.", of=self.of)
        x, p = self.result.value, adjusted(self.result.p, self.result.tests)
        open_ = cannot_tell(clause("{k} is as good as {p}", k=self.judge, p=self.people))
        gap = clause("on the {x.full}, the difference is {x} points", x=x)
        if x.interval.ends is None:
            return say("{open}: {gap}, without an interval ({x.why}).", open=open_, gap=gap, x=x)
        if self.state in ("better", "worse"):
            # The interval can be the stricter one: it allows for choosing the best of all runs.
            stricter = clause(" This interval, which allows for choosing the best run, includes 0.")
            return say(
                "{judge} did {state} than {people}: {gap} ({x.interval}{p}).{stricter}",
                judge=self.judge,
                state=Words(self.state),
                people=self.people,
                gap=gap,
                x=x,
                p=p,
                stricter=NOTHING if x.interval.excludes_zero else stricter,
            )
        if self.state == "equivalent":
            return say(
                "{judge} and {people} are equivalent within {margin} points: {gap} ({x.interval}), "
                "and its 90 % CI is inside the margin ({narrow.ends}{p}).",
                judge=self.judge,
                people=self.people,
                margin=self.margin,
                gap=gap,
                x=x,
                narrow=self.narrow,
                p=adjusted(self.p_equivalence, self.result.tests),
            )
        return say(
            "{open}: {gap} ({x.interval}). {why}.{finds}",
            open=open_,
            gap=gap,
            x=x,
            why=capitalised(self._why_open(self.result, self.narrow)),
            finds=finds_after(self.result.detectable),
        )

    def _why_open(self, result: TestResult, narrow: Quantity) -> Text:
        """What keeps it open: chance, or a difference that may be outside of the margin."""
        if result.value.interval.excludes_zero:
            return self._best_by_chance(result.p)
        inside, margin = narrow.interval.ends, self.margin.value
        if inside and -margin < inside[0] and inside[1] < margin:
            return clause(
                "the 90 % CI ({narrow.ends}) is inside the margin of ±{margin} points for "
                "equivalence, but {chance}",
                narrow=narrow,
                margin=self.margin,
                chance=self._best_by_chance(self.p_equivalence),
            )
        return clause(
            "the interval includes 0, and the 90 % CI ({narrow.ends}) goes beyond the margin of "
            "±{margin} points for equivalence",
            narrow=narrow,
            margin=self.margin,
        )

    def _best_by_chance(self, p: Quantity | None) -> Text:
        tests = self.result.tests if self.result else None
        holm = adjusted(p, tests, " ({holm})")
        return clause("the best of several runs can reach this by chance{holm}", holm=holm)

    def answer(self) -> Text:
        """The finding as a part of a sentence, as the first screen has it."""
        words: dict[str, Name | Words] = {"judge": self.judge, "people": self.people}
        if self.result is None or self.shares is None or self.state == "too_few":
            form = "{judge} and {people} both decided only {of.some}, too few for a comparison"
            return clause(form, of=self.of, **words)
        size = replace(self.result.value, unit="size")
        forms = {
            "better": "{judge} was right more often than {people}, by {size} percentage points",
            "worse": "{judge} was right less often than {people}, by {size} percentage points",
            "equivalent": "{judge} was right as often as {people}, within {margin} percentage "
            "points",
        }
        if self.state in forms:
            form = f"{forms[self.state]}, on the {{size.full}}"
            return clause(form, size=size, margin=self.margin, **words)
        ours, theirs = self.shares
        return clause(
            "on the {ours.full}, {judge} was right on {ours}, {people} on {theirs}, and {why}",
            ours=ours,
            theirs=theirs,
            why=self._why_unknown(self.result),
            **words,
        )

    def _why_unknown(self, result: TestResult) -> Text:
        interval, detectable = result.value.interval, result.detectable
        if interval.ends is None:
            return clause("there are too few data to say whether this holds in general")
        why = clause("a difference of this size can be chance")
        if not result.value.value:
            form = "this does not show that both are right equally often within {margin} points"
            why = clause(form, margin=self.margin)
        if interval.excludes_zero:
            why = self._best_by_chance(result.p)
        return clause(
            "{why}{finds}",
            why=why,
            finds=clause("; {finds}", finds=finds(detectable)) if detectable else NOTHING,
        )


def unplanned(report: ReportJson) -> Text:
    """That nothing was planned before the data, of a report without a plan."""
    because = Name(report["registration"]["because"].removesuffix("."))
    return say("{because}, so everything is exploratory.", because=because)


def late_changes(report: ReportJson) -> list[Text]:
    """Changes to threshold, margin and extras after the first answer."""
    sentences = []
    for place, change in enumerate(report["registration"]["late_changes"]):
        unit: Unit = "margin" if change["setting"] == "margin" else "level"
        before, after = (
            Quantity(unit, None, change[key], f"registration.late_changes.{place}.{key}")
            for key in ("before", "after")
        )
        form = "{what} was changed from {before}{points} to {after}{points} on {day}, after the "
        form += "first data had arrived. Whatever depends on it was chosen post hoc."
        is_margin = unit == "margin"
        sentences.append(
            say(
                form,
                what=Words(
                    "The equivalence margin" if is_margin else "The start of high certainty"
                ),
                before=before,
                after=after,
                points=Words(" points" if is_margin else ""),
                day=Name(change["on"]),
            )
        )
    at_once: dict[tuple[str, bool], list[Text]] = {}
    for extra in report["registration"].get("late_extras", ()):
        same = at_once.setdefault((extra["on"], extra["after_report"]), [])
        same.append(clause("“{extra}”", extra=Name(extra["title"])))
    for (day, is_after_report), titles in at_once.items():
        is_one = len(titles) == 1
        sentences.append(
            say(
                "{extras} {verb} turned on after {when}, on {day}. What {they} was decided after "
                "the data.",
                extras=joined(titles),
                verb=Words("was" if is_one else "were"),
                day=Name(day),
                when=Words("a report" if is_after_report else "the first answer"),
                they=Words("it adds" if is_one else "they add"),
            )
        )
    return sentences
