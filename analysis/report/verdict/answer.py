"""The answer in plain words (yes, no or not yet known), with or without right labels.

Without them, the pooled test asks whether people agree with each other better than the judge agrees
with them, by `epsilon` or more, over all answers and with labels weighted equally. Agreement is not
accuracy: people can agree and be wrong.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Text,
    Words,
    capitalised,
    clause,
    joined,
    say,
    sentences,
    unbroken,
)
from analysis.report.report_json import ReportJson
from analysis.report.results import (
    AgainstPeople,
    accuracy_of,
    clusters_of,
    decided_by_judge,
    decided_by_people,
    items,
    no_people,
    no_truth,
    not_settled,
    not_shown,
)
from analysis.report.rules import FULL_SHARE, LEVEL, MIN_COMPARED
from analysis.report.study import (
    closest_to_people,
    competitors,
    one_label,
    replacement_tests,
    standing,
)
from analysis.report.words import people_words, run_name
from analysis.stats.comparison.replacement import FEWEST_OF_A_LABEL
from analysis.stats.core.results import Trust, t_quantile

POWER = 0.8
# Copies by so many of the people could decide a comparison.
MANY_COPY = 0.1
# What an answer says of a judge that always follows the majority of people, or is always right.
COPIED = "its answers may be made from theirs"
SEEN = "it may have seen the known answers"
MADE = "the known answers may be made from theirs"
SCALES = ("raw", "balanced")

ReplacementState = Literal["replaceable", "not_replaceable", "cannot_tell"]


@dataclass(frozen=True)
class ReplacementVerdict:
    """The judge closest to an annotator, among the `family` of candidates.

    `found` is its pooled test in report.json, on the scale where the judge is worse. `why` says
    what keeps the answer open regardless of agreement: ``one_label`` (the judge gives nothing
    else), ``copied`` (its answers are the majority's), ``rare_label``, ``clusters`` (people,
    personas or questions are too few), ``order`` (its own labels in random order agree as well).
    `holds_from` and `holds_below` are the ends of epsilon from which the judge can, and below which
    it cannot, replace a person. `of` are the items of the test.
    """

    name: str
    index: int
    state: ReplacementState
    why: str
    found: Mapping[str, Any]
    family: int
    of: Population
    holds_from: float | None = None
    holds_below: float | None = None

    @property
    def advantage(self) -> float:
        return float(self.found["advantage_of_people"] or 0.0)

    @property
    def epsilon(self) -> float:
        return float(self.found["epsilon"])

    @property
    def gap(self) -> Quantity:
        """The judge's agreement with a person minus that of another person."""
        ends = self.found["ci"] and (-self.found["ci"][1], -self.found["ci"][0])
        return Quantity("points", self.of, -self.advantage, interval=QuantityInterval(ends))

    def times_more(self) -> float:
        """How many times as much data would settle it if the observed advantage is true."""
        quantile = NormalDist().inv_cdf
        gap, se = self.epsilon - self.advantage, self.found["se"]
        if not gap or not se:
            return math.inf
        level = LEVEL / self.family if gap > 0 else LEVEL / 2
        return ((quantile(1 - level) + quantile(POWER)) * se / gap) ** 2


def copied(report: ReportJson, run: str) -> Text | None:
    """Why a run may be made from people's own answers, if anything says so."""
    for entry in report.get("cautions", {}).get("followed", ()):
        index = int(entry["who"].removeprefix("judges."))
        if report["judges"][index]["run"] == run:
            return clause(
                "{name} gives the majority’s answer to all {of.full}, so {copied}",
                name=Name(judge_name(report, index)),
                copied=Words(COPIED),
                of=items(report, "that both decided", entry["n"]),
            )
    if entry := pasted_by_many(report, run):
        return clause(
            "{people} give the same answer as {name} every time, so {copied}",
            people=Population("person", n=entry["people"], among=entry["among"]),
            name=Name(judge_name(report, int(entry["who"].removeprefix("judges.")))),
            copied=Words(COPIED),
        )
    return None


def pasted_by_many(report: ReportJson, run: str) -> ReportJson | None:
    """The caution about people who always answer as a run does, if they could decide the answer."""
    for entry in report.get("cautions", {}).get("pasted", ()):
        judge = report["judges"][int(entry["who"].removeprefix("judges."))]
        if judge["run"] == run and entry["people"] >= max(2, MANY_COPY * entry["among"]):
            return entry
    return None


def known_from_people(report: ReportJson) -> Text | None:
    """Why the known answers may be made from people's own, if anything says so."""
    for entry in report.get("cautions", {}).get("known", ()):
        return clause(
            "{people} is right on all {of.full}, so {made}",
            people=Words(people_words(report)),
            made=Words(MADE),
            of=items(report, "with a known answer", entry["n"]),
        )
    return None


def saw_answers(report: ReportJson, index: int) -> Text | None:
    """That a judge is right on all its items, where one as good as people would hardly be."""
    judge, majority = report["judges"][index], report["human"]["majority"]["accuracy"]
    if judge["accuracy"] != 1 or majority is None or judge["n"] < MIN_COMPARED:
        return None
    if majority ** judge["n"] > LEVEL / len(report["judges"]):
        return None
    return clause(
        "{name} is right on all {of.full}, so {seen}",
        name=Name(run_name(judge, report["judges"])),
        seen=Words(SEEN),
        of=decided_by_judge(report, index),
    )


def replacement_of(report: Mapping[str, Any]) -> ReplacementVerdict | None:
    """The best judge's standing; None if no judge is comparable with people or truth is known.

    The test of the best of several judges is adjusted for their number (Bonferroni).
    """
    if report["headline"]["state"] != "no_truth":
        return None
    judges, tests = report["judges"], replacement_tests(report)
    if not tests:
        return None
    test, index = closest_to_people(tests)
    state, why = _decided(test, len(tests))
    if state == "replaceable" and copied(report, judges[index]["run"]):
        state, why = "cannot_tell", "copied"
    ends = _ends(test, len(tests)) if test["ci"] is not None and why != "rare_label" else None
    if ends and state == "replaceable":
        # The test is one-sided, and may hold at an epsilon inside of the 95 % interval.
        ends = min(ends[0], test["epsilon"]), ends[1]
    return ReplacementVerdict(
        name=run_name(judges[index], [judges[place] for _, place in tests]),
        index=index,
        state=state,
        why=why,
        found=test,
        family=len(tests),
        of=items(report, "that it and two or more people decided", test["n"]),
        holds_from=ends[0] if ends and not why else None,
        holds_below=ends[1] if ends else None,
    )


def _scales(test: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [test[scale] for scale in SCALES]


def _decided(test: Mapping[str, Any], family: int) -> tuple[ReplacementState, str]:
    if test.get("rarest", FEWEST_OF_A_LABEL) < FEWEST_OF_A_LABEL:
        return "cannot_tell", "one_label" if one_label(test) else "rare_label"
    why = "one_label" if one_label(test) else ""
    if test["ci"] is None:
        return "cannot_tell", why or "clusters"
    scales = _scales(test)
    if any(scale["ci"][0] > test["epsilon"] for scale in scales):
        return "not_replaceable", why
    if why or max(scale["p"] for scale in scales) * family > LEVEL:
        return "cannot_tell", why
    low = test["gain"]["low"] if "gain" in test else None
    if low is not None and low <= 0:
        return "cannot_tell", "order"
    return "replaceable", ""


def _ends(test: Mapping[str, Any], family: int) -> tuple[float, float]:
    """The epsilon from which the test passes, and below which the judge is ruled out."""
    highs = []
    for scale in _scales(test):
        high = scale["ci"][1]
        if "df" in scale and scale.get("ci_made", {}).get("method") == "general t":
            # The middle of the interval, which is unbiased for balanced agreement.
            middle = sum(scale["ci"]) / 2
            high = middle + t_quantile(scale["df"], 1 - LEVEL / family) * scale["se"]
        highs.append(high)
    return max(highs), max(scale["ci"][0] for scale in _scales(test))


YES, NO, UNKNOWN, USELESS = "Yes", "No", "Not yet known", "Not useful"
ANSWERS = {"better": YES, "equivalent": YES, "worse": NO}
REPLACES = {"replaceable": YES, "not_replaceable": NO}
_TRUST = {YES: Trust.TRUSTED, NO: Trust.NOT_TRUSTED}


def trust_of(word: str) -> Trust:
    """The verdict of `thirdperson check` that an answer is."""
    return _TRUST.get(word, Trust.INCONCLUSIVE)


@dataclass(frozen=True)
class VerdictAnswer:
    """`word` answers the title's question; empty if it is not a yes-no question."""

    word: str
    sentence: str

    @property
    def trust(self) -> str:
        """As `thirdperson check` says it; empty if there is no judge to trust."""
        return trust_of(self.word).value if self.word else ""

    @property
    def kind(self) -> str:
        return {YES: "yes", NO: "no", USELESS: "no", UNKNOWN: "unknown"}.get(self.word, "none")


def answer_of(report: ReportJson) -> VerdictAnswer:
    word, text = _answer(report)
    return VerdictAnswer(word, unbroken(text))


def _answer(report: ReportJson) -> tuple[str, Text]:
    state = report["headline"]["state"]
    if state in {"better", "worse", "equivalent", "cannot_tell", "too_few"}:
        word, finding = ANSWERS.get(state, UNKNOWN), _compared(report, state)
        if word != UNKNOWN and (made := known_from_people(report)):
            return UNKNOWN, say("{made}, though {finding}.", made=made, finding=finding)
        if word != YES:
            return word, say("{finding}.", finding=finding)
        index = headline_run(report)
        test = report["comparison"][index].get("pooled_replacement", {})
        if one_label(test):
            same = _same_label(report, judge_name(report, index), test)
            return UNKNOWN, say("{same}, though {finding}.", same=same, finding=finding)
        copy = copied(report, report["headline"]["run"]) or saw_answers(report, index)
        if copy:
            return UNKNOWN, say("{copy}, though {finding}.", copy=copy, finding=finding)
        if guessing := no_better_than_guessing(report):
            # “Not useful” is about the judge; people who may guess leave the answer open.
            word = USELESS if judge_name(report, index) in guessing else UNKNOWN
            low, form = may_guess(guessing), "{low}. {finding}."
            return word, say(form, low=low, finding=capitalised(finding))
        return word, say("{finding}.", finding=finding)
    if verdict := replacement_of(report):
        return REPLACES.get(verdict.state, UNKNOWN), _replaced(report, verdict)
    return UNKNOWN if report["judges"] else "", _not_compared(report, state)


@dataclass(frozen=True)
class JudgeStanding:
    """The answer about one of several judges, and how it differs from people.

    `value` is its accuracy minus the majority's or, without right labels, how much more it agrees
    with people than another person does, on the scale where it is worse.
    """

    judge: str
    word: str
    value: float | None
    interval: Sequence[float] | None


def standings_of(report: Mapping[str, Any]) -> list[JudgeStanding]:
    """The answer about each judge that is compared; its test allows for the number of judges."""
    judges, standings = report["judges"], []
    if report["headline"]["state"] == "no_truth":
        tests = replacement_tests(report)
        for test, index in tests:
            word = REPLACES.get(_decided(test, len(tests))[0], UNKNOWN)
            if word == YES and copied(report, judges[index]["run"]):
                word = UNKNOWN
            ends = test["ci"] and [-end for end in reversed(test["ci"])]
            value = -test["advantage_of_people"]
            standings.append(JudgeStanding(run_name(judges[index], judges), word, value, ends))
    elif "run" in report["headline"]:
        for judge, entry in zip(judges, report["comparison"], strict=True):
            difference = entry["difference_general"]
            headline = {"run": judge["run"], "state": standing(difference)}
            word = answer_of({**report, "headline": report["headline"] | headline}).word
            ends = difference.get("ci_as_best") or difference["ci"]
            standings.append(
                JudgeStanding(run_name(judge, judges), word, difference["value"], ends)
            )
    return standings


def _compared(report: ReportJson, state: str) -> Text:
    index = headline_run(report)
    judge, people = judge_name(report, index), people_words(report)
    return AgainstPeople.of_run(report, index, state=state, judge=judge, people=people).answer()


def no_better_than_guessing(report: ReportJson) -> list[Name | Words]:
    """The sides, of judge and people, that are not shown to beat chance and a constant answer."""
    index = headline_run(report)
    truth, study = report["inputs"]["truth"], report["study"]
    known = {key: n for key, n in truth.items() if key != "unknown"}
    chance = 1 / 3 if study["allow_tie"] else 1 / 2
    floor = max(chance, max(known.values()) / max(1, sum(known.values())))
    sides: dict[Name | Words, Sequence[float] | None] = {
        Name(judge_name(report, index)): report["judges"][index]["clusters"].get("ci_as_best"),
        Words(people_words(report)): report["human"]["majority"]["clusters"]["ci"],
    }
    return [who for who, ends in sides.items() if ends is not None and ends[0] <= floor]


def may_guess(low: Sequence[Name | Words]) -> Text:
    return not_shown(low, Words("better than guessing"))


def _replaced(report: ReportJson, verdict: ReplacementVerdict) -> Text:
    """Whether the judge could replace an annotator, or what keeps it open."""
    name = Name(verdict.name)
    if verdict.why == "one_label":
        result = not_settled(clause("it could replace an annotator"))
        if verdict.state == "not_replaceable":
            result = clause("it could not replace an annotator")
        return say(
            "{same}, and {result}: {lost}.",
            same=_same_label(report, verdict.name, verdict.found),
            result=result,
            lost=_lost(verdict),
        )
    could = clause("{name} could replace an annotator", name=name)
    if verdict.state == "replaceable":
        form = "{could}, although the right answers are unknown: {lost}."
        return say(form, could=could, lost=_lost(verdict))
    if verdict.state == "not_replaceable":
        form = "{name} could not replace an annotator: {lost}."
        return say(form, name=name, lost=_lost(verdict))
    return say("{open}: {why}.", open=not_settled(could), why=_why_open(report, verdict))


def _why_open(report: ReportJson, verdict: ReplacementVerdict) -> Text:
    test = verdict.found
    match verdict.why:
        case "rare_label":
            return clause(
                "the rarer label is too rare ({answers}; at least {fewest} are needed)",
                answers=Population("answer", n=test["rarest"]),
                fewest=Quantity("level", None, FEWEST_OF_A_LABEL),
            )
        case "clusters":
            kinds = [_few(test, kind) for kind in test.get("too_few", ())]
            if not kinds:
                return clause("there are too few data")
            return clause("{kinds} are too few", kinds=joined(kinds))
        case "copied":
            return copied(report, report["judges"][verdict.index]["run"]) or Text(())
        case "order":
            gain = QuantityInterval.at(test["gain"], "ci", "")
            return clause(
                "its agreement with people is not shown to exceed that of its own labels in random "
                "order (gain {x} points on {x.of}, {x.interval})",
                x=Quantity("points", verdict.of, test["gain"]["value"], interval=gain),
            )
    return _lost(verdict)


def _lost(verdict: ReplacementVerdict) -> Text:
    """The judge's agreement minus a person's, on the scale where the judge is worse."""
    gap = verdict.gap
    size = Quantity("size", verdict.of, gap.value)
    than = clause("{size} points {more} than a person’s on {size.of}", size=size, more=_higher(gap))
    if str(size) == "0.0":
        than = clause("equal to a person’s on {size.of}", size=size)
    alike = (
        ", with all labels weighted equally," if verdict.found.get("scale") == "balanced" else ""
    )
    return clause(
        "its agreement with the other people{alike} is {than} ({ends}ε allows {epsilon} lower{p})",
        p=_one_sided(verdict),
        alike=Words(alike),
        than=than,
        ends=clause("{gap.interval}; ", gap=gap) if gap.interval.ends else Words(""),
        epsilon=Quantity("margin", None, verdict.epsilon),
    )


def _one_sided(verdict: ReplacementVerdict) -> Text | Words:
    """The p value of the one-sided test, if it holds although the interval goes beyond epsilon."""
    ends = verdict.found["ci"]
    if verdict.state != "replaceable" or ends[1] <= verdict.epsilon:
        return Words("")
    p = max(scale["p"] for scale in _scales(verdict.found)) * verdict.family
    return clause(", one-sided p {p}", p=Quantity("p", verdict.of, p))


def _higher(gap: Quantity) -> Words:
    return Words("higher" if gap.value > 0 else "lower")


def _same_label(report: ReportJson, name: str, test: ReportJson) -> Text:
    of = items(report, "that it decided", test["decided"])
    same = Quantity("count", of, round(test["same_label"] * of.n))
    form = "{name} gives the same label to {same} of {same.of}, so it decides nothing"
    return clause(form, name=Name(name), same=same)


def _few(test: ReportJson, kind: str) -> Text:
    if kind == "people":
        return counted_people(test)
    return clause("{of}", of=clusters_of(test, kind))


def counted_people(result: ReportJson) -> Text:
    """The number of people, with their effective number if some gave many more answers."""
    of = clusters_of(result, "people")
    if who := effective_people(result):
        return clause("{of} ({who})", of=of, who=who)
    return clause("{of}", of=of)


def effective_people(result: ReportJson) -> Text | None:
    """How many people some count as who gave many more answers, if that is far fewer."""
    of, effective = clusters_of(result, "people"), result.get("people_effective")
    if effective is None or effective >= FULL_SHARE * of.n:
        return None
    x = Quantity("number", of, effective)
    return clause("who count as {x}, because some gave many more answers", x=x)


def _not_compared(report: ReportJson, state: str) -> Text:
    people = report["human"]
    if state == "no_answers":
        return say("{none}, and no judge was run.", none=no_people(report))
    if state == "no_truth":
        if people["answers"]:
            return no_truth(report)
        return sentences(no_truth(report), say("{none}.", none=no_people(report)))
    if state == "judges_only":
        if not people["answers"]:
            return say("No person’s answer counts, so there is no comparison.")
        return say("No decision of people can be scored, so there is no comparison.")
    return say(
        "{who} was right on {x} of {x.of}; {none}.",
        none=Words(
            "no judge has an answer that counts" if report["judges"] else "no judge was run"
        ),
        who=Words(people_words(report)),
        x=accuracy_of(people["majority"], "human.majority", decided_by_people(report)),
    )


def judge_name(report: Mapping[str, Any], index: int) -> str:
    """The shortest name that is unique among the competing runs."""
    judges = report["judges"]
    return run_name(judges[index], [judges[place] for place in competitors(judges)])


def headline_run(report: Mapping[str, Any]) -> int:
    """The position of the run that the headline is about."""
    run = report["headline"]["run"]
    return next(index for index, judge in enumerate(report["judges"]) if judge["run"] == run)
