"""The chapter on certainty, and its main findings as sentences chosen by rule."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
from analysis.report.rater_tests import is_one
from analysis.report.report_json import Json
from analysis.report.results import Finding, TestResult, adjusted, certainty_limit, items, known
from analysis.report.rules import TOO_SMALL
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sections.certainty.calibration import CalibrationSection
from analysis.report.sections.certainty.comparison import CertaintyComparison, HighSetsSection
from analysis.report.sections.certainty.distribution import DistributionSection
from analysis.report.sentences import (
    CERTAIN,
    THRESHOLD,
    TOGETHER,
    holds,
    level_of,
    members,
    single_words,
    state_with,
    texts,
    who_of,
)
from analysis.report.study import ReportedStudy, asked_about
from analysis.report.words import run_name, run_names, whole_runs


def certainty_headline(report: ReportJson) -> Json:
    """The findings on certainty, for the same run as the headline.

    Three findings by rule: whether its certainty rises with the annotators' (interval of Spearman's
    correlation in general), mean certainty of single answers, and whether the judge, where certain,
    is right more often than annotators where they are (interval of the difference, both sets
    resampled).
    """
    entries = [versus["certainty"] for versus in report["comparison"]]
    stated = [index for index, entry in enumerate(entries) if entry["spearman"] is not None]
    if not stated:
        return state_with("not_comparable", *_not_comparable(entries))
    asked = asked_about(report)
    index = stated[0] if asked is None else asked
    judge, versus, path = report["judges"][index], entries[index], f"comparison.{index}.certainty"
    name = run_name(judge, report["judges"])
    if index not in stated:
        return state_with("not_comparable", _not_stated(Name(name), len(stated))) | who_of(judge)
    test = dict(members(report, TOGETHER)).get(name, {})
    differs = holds(test, level_of(report, TOGETHER))
    sentences = [
        _together(report, Name(name), versus, path, holds=differs),
        _more_certain(report, Name(name), versus, path),
    ]
    if report["inputs"]["truth"]["unknown"] == report["inputs"]["items"]:
        unknown = "No right answers are known, so accuracy where certain cannot be compared."
        return state_with("no_truth", *sentences, unknown) | who_of(judge)
    certain = WhereCertain.of_run(report, index, Name(name))
    return state_with(certain.state, *sentences, certain.sentence()) | who_of(judge)


def _not_comparable(entries: Sequence[ReportJson]) -> Iterator[Text]:
    """Why certainties are not compared; the top of the page says so of a study without a judge."""
    if "no_variation" in {entry["spearman_reason"] for entry in entries}:
        yield say(
            "One or both sides always state the same certainty, so it is undefined whether the "
            "certainties of judges and people rise together."
        )
    elif entries:
        yield say("No run states a certainty on enough items on which people state one.")


def _not_stated(name: Name, others: int) -> Text:
    """The judge of the headline states no certainty that can be compared, but others do."""
    do = clause("{n} other judges do", n=Quantity("count", None, others))
    return say(
        "{name} states no certainty on enough items on which people state one, so theirs and its "
        "own cannot be compared; {do}, in the tables.",
        name=name,
        do=clause("another judge does") if others == 1 else do,
    )


def _together(
    report: ReportJson, name: Name, versus: ReportJson, path: str, *, holds: bool
) -> Text:
    of = items(report, "on which both state a certainty", versus["items"], f"{path}.items")
    interval = QuantityInterval.at(versus, "spearman_general_ci", path)
    rho = Quantity("coefficient", of, versus["spearman"], f"{path}.spearman", interval)
    people = Words(single_words(report))
    moves = {
        finding: clause(
            f"the certainty of {{name}} {verb} that of {{people}}", name=name, people=people
        )
        for finding, verb in ((Finding.ABOVE, "rises with"), (Finding.BELOW, "falls with"))
    }
    return TestResult(rho, holds).claim(
        moves,
        whether=moves[Finding.ABOVE],
        number=clause("Spearman's correlation over {x.of} is {x} ({x.interval})", x=rho),
    )


def _more_certain(report: ReportJson, name: Name, versus: ReportJson, path: str) -> Text:
    if versus["model_mean"] is None:
        return say("Too few certainties were stated for a comparison of means.")
    # A jury has a verdict of each of its judges.
    is_jury = report["judges"][int(path.split(".")[1])]["record"]["backend"] == "jury"
    replies = Population(
        "verdict" if is_jury else "reply",
        f"by {name} with a certainty",
        versus["judgments"],
        versus["closed"],
        f"{path}.judgments",
        f"{path}.closed",
    )
    answers = Population(
        "answer",
        "by people with a certainty",
        versus["answers"],
        report["human"]["answers"],
        f"{path}.answers",
        "human.answers",
    )
    return say(
        "Mean certainty: {model} in {model.some} by {by}{name}, {human} in {human.some} by "
        "{people}.",
        by=Words("the judges of " if is_jury else ""),
        name=name,
        people=Words(single_words(report)),
        model=Quantity("certainty", replies, versus["model_mean"], f"{path}.model_mean"),
        human=Quantity("certainty", answers, versus["human_mean"], f"{path}.human_mean"),
    )


@dataclass(frozen=True)
class WhereCertain:
    """Right answers of a judge and of people, each on its own items of high certainty."""

    name: Name
    level: Quantity
    judge: Population
    people: Population
    who: Words
    shares: tuple[Quantity, Quantity] | None = None
    result: TestResult | None = None

    @classmethod
    def of_run(cls, report: ReportJson, index: int, name: Name) -> "WhereCertain":
        path = f"comparison.{index}.certainty.high_sets"
        sets = report["comparison"][index]["certainty"]["high_sets"]
        both = _decided_with_certainty(report, index, sets["n"], f"{path}.n")
        judge, people = (
            Population("item", rule, sets[key]["n"], both.n, f"{path}.{key}.n", f"{path}.n")
            for rule, key in (
                ("that it is certain of", "judge_on_own"),
                ("that people are certain of", "people_on_own"),
            )
        )
        level = Quantity("level", None, report["parameters"]["threshold"], THRESHOLD)
        certain = cls(name, level, judge, people, Words(single_words(report)))
        entry = sets["difference_general"]
        if min(judge.n, people.n) < TOO_SMALL or entry["value"] is None:
            return certain
        ours, theirs = (
            Quantity("share", of, sets[key]["accuracy"], f"{path}.{key}.accuracy")
            for of, key in ((judge, "judge_on_own"), (people, "people_on_own"))
        )
        differs = holds(entry, level_of(report, CERTAIN), "p_holm")
        result = TestResult.of_difference(entry, f"{path}.difference_general", both, holds=differs)
        return replace(certain, shares=(ours, theirs), result=result)

    @property
    def state(self) -> str:
        if self.result is None:
            return "too_few"
        states = {Finding.ABOVE: "better", Finding.BELOW: "worse", Finding.OPEN: "cannot_tell"}
        return states[self.result.finding]

    def sentence(self) -> Text:
        if self.result is None or self.shares is None:
            return say(
                "Too few items have a high certainty (≥ {level}) for a comparison there: "
                "{own.some} for {name}, {theirs.some} for {who}.",
                who=self.who,
                level=self.level,
                name=self.name,
                own=self.judge,
                theirs=self.people,
            )
        ours, theirs = self.shares
        claims = {
            finding: clause(
                f"{{name}} is correct {often} often on its items of high certainty (≥ {{level}}) "
                "than {who} on theirs",
                name=self.name,
                who=self.who,
                level=self.level,
            )
            for finding, often in ((Finding.ABOVE, "more"), (Finding.BELOW, "less"))
        }
        gap = self.result.value
        return self.result.claim(
            claims,
            whether=claims[Finding.ABOVE],
            number=clause(
                "{ours} of {ours.some} and {theirs} of {theirs.some}, a difference of {gap} points "
                "({gap.interval}{p}) on the {gap.full}",
                ours=ours,
                theirs=theirs,
                gap=gap,
                p=adjusted(self.result.p, self.result.tests),
            ),
        )


def _decided_with_certainty(report: ReportJson, index: int, n: int, path: str) -> Population:
    """The items that both decided, without those where one of them states no certainty."""
    compared = report["comparison"][index]["difference_general"]
    rule = f"{known(report, index)}that both decided"
    if n != compared["n"] or "asked_of_all" in compared:
        rule += " with a certainty"
    return items(report, rule, n, path)


class CertaintyHeadline(Section):
    """The finding on certainty, for the run of the headline."""

    name = "certainty_headline"
    needs = (
        "headline",
        "accuracies",
        "certainty_comparison",
        "high_sets",
        "claims",
        "replacement",
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"certainty_headline": certainty_headline(earlier)}

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for text in texts(report["certainty_headline"]):
            yield Sentence("finding", text)


def _of_certainty(report: ReportJson) -> Iterator[Text]:
    level = Quantity("level", None, report["parameters"]["threshold"], THRESHOLD)
    sides: list[tuple[Name | Words, ReportJson]] = []
    if report["human"]["answers"]:
        sides.append((Words(single_words(report)), report["human"]["individual"]))
    names = run_names(report)
    sides += [(Name(names[index]), report["judges"][index]) for index in whole_runs(report)]
    scored = [(who, side) for who, side in sides if side["n"]]
    stating = [(who, side) for who, side in scored if side["high"]["n"] + side["low"]["n"]]
    never = [who for who, side in stating if not side["high"]["n"]]
    always = [who for who, side in stating if not side["low"]["n"]]
    if scored and not stating:
        yield say("No scorable answer has a certainty, so none is high or low.")
    if never:
        yield say(
            "{who} never {state} {level} or more, so the cells of high certainty are empty, not "
            "zero.",
            who=joined([clause("{who}", who=who) for who in never]),
            state=_states(never),
            level=level,
        )
    if always:
        yield say(
            "{who} {state} {level} or more every time, so this threshold cannot separate right "
            "from wrong answers.",
            who=joined([clause("{who}", who=who) for who in always]),
            state=_states(always),
            level=level,
        )


def _states(names: Sequence[Name | Words]) -> Words:
    return Words("states" if is_one(names) else "state")


def _certainty(report: ReportJson) -> Text:
    level = Quantity("level", None, report["parameters"]["threshold"], THRESHOLD)
    single, path = report["human"]["individual"], "human.individual"
    exactly: Text | Words = Words("")
    if single["at_threshold"]:
        scored = Population(
            "answer of people",
            "with a certainty that are right or wrong",
            single["high"]["n"] + single["low"]["n"],
            report["human"]["answers"],
            among_path="human.answers",
        )
        exactly = clause(
            "Of {at.of}, {at} {is} exactly there. ",
            at=Quantity("count", scored, single["at_threshold"], f"{path}.at_threshold"),
            **{"is": Words("is" if single["at_threshold"] == 1 else "are")},
        )
    return say(
        "{limit} {exactly}High and low depend on each side's own certainty, so the cells of two "
        "sides may have different items and must not be subtracted.",
        limit=certainty_limit(level),
        exactly=exactly,
    )


class CertaintySection(Section):
    """Each side's use of certainty, its accuracy, and the gain from thresholds."""

    name = "certainty"
    title = "Certainty"
    inside = "Histograms, calibration, thresholds, and use of the scale"
    has_threshold = True
    parts: Sequence[Section] = (
        CertaintyHeadline(),
        DistributionSection(),
        CalibrationSection(),
        CertaintyComparison(),
        HighSetsSection(),
    )

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for text in _of_certainty(report):
            yield Sentence("missing", text)
        if report["study"]["ask_certainty"]:
            yield Sentence("limit", _certainty(report), "certainty")
