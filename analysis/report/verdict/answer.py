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

from analysis.report.rules import FULL_SHARE, LEVEL, TOO_SMALL
from analysis.report.sentences import no_truth_words, where_words
from analysis.report.study import (
    closest_to_people,
    competitors,
    one_label,
    replacement_tests,
    standing,
)
from analysis.report.words import listed, number_of, percent, points, points_range, run_name
from analysis.stats.comparison.replacement import FEWEST_OF_A_LABEL
from analysis.stats.core.results import Trust, t_quantile

POWER = 0.8
# What an answer says of a judge that always follows the majority of people.
COPIED = "its answers may be made from theirs"
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
    it cannot, replace a person.
    """

    name: str
    index: int
    state: ReplacementState
    why: str
    found: Mapping[str, Any]
    family: int
    holds_from: float | None = None
    holds_below: float | None = None

    @property
    def advantage(self) -> float:
        return float(self.found["advantage_of_people"] or 0.0)

    @property
    def epsilon(self) -> float:
        return float(self.found["epsilon"])

    def times_more(self) -> float:
        """How many times as much data would settle it if the observed advantage is true."""
        quantile = NormalDist().inv_cdf
        gap, se = self.epsilon - self.advantage, self.found["se"]
        if not gap or not se:
            return math.inf
        level = LEVEL / self.family if gap > 0 else LEVEL / 2
        return ((quantile(1 - level) + quantile(POWER)) * se / gap) ** 2


def copied(report: Mapping[str, Any], run: str) -> str:
    """Why a run may be made from people's own answers; empty if nothing says so."""
    for each in report.get("cautions", {}).get("followed", ()):
        index = int(each["who"].removeprefix("judges."))
        if report["judges"][index]["run"] == run:
            name, items = judge_name(report, index), number_of(each["n"], "item")
            same = f"{name} gives the majority’s answer to all {items} that both decided"
            return f"{same}, so {COPIED}"
    return ""


def replacement_of(report: Mapping[str, Any]) -> ReplacementVerdict | None:
    """The best judge's standing; None if no judge is comparable with people or truth is known.

    The test of the best of several judges is adjusted for their number (Bonferroni).
    """
    if report["headline"]["state"] != "no_truth":
        return None
    judges, tests = report["judges"], replacement_tests(report)
    if not tests:
        return None
    found, index = closest_to_people(tests)
    state, why = _decided(found, len(tests))
    if state == "replaceable" and copied(report, judges[index]["run"]):
        state, why = "cannot_tell", "copied"
    ends = _ends(found, len(tests)) if found["ci"] is not None and why != "rare_label" else None
    return ReplacementVerdict(
        name=run_name(judges[index], [judges[place] for _, place in tests]),
        index=index,
        state=state,
        why=why,
        found=found,
        family=len(tests),
        holds_from=ends[0] if ends and not why else None,
        holds_below=ends[1] if ends else None,
    )


def _scales(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [found[scale] for scale in SCALES]


def _decided(found: Mapping[str, Any], family: int) -> tuple[ReplacementState, str]:
    if found.get("rarest", FEWEST_OF_A_LABEL) < FEWEST_OF_A_LABEL:
        return "cannot_tell", "one_label" if one_label(found) else "rare_label"
    why = "one_label" if one_label(found) else ""
    if found["ci"] is None:
        return "cannot_tell", why or "clusters"
    scales = _scales(found)
    if any(scale["ci"][0] > found["epsilon"] for scale in scales):
        return "not_replaceable", why
    if why or max(scale["p"] for scale in scales) * family > LEVEL:
        return "cannot_tell", why
    low = found["gain"]["low"] if "gain" in found else None
    if low is not None and low <= 0:
        return "cannot_tell", "order"
    return "replaceable", ""


def _ends(found: Mapping[str, Any], family: int) -> tuple[float, float]:
    """The epsilon from which the test passes, and below which the judge is ruled out."""
    highs = []
    for scale in _scales(found):
        high = scale["ci"][1]
        if "df" in scale and scale.get("ci_made", {}).get("method") == "general t":
            # The middle of the interval, which is unbiased for balanced agreement.
            middle = sum(scale["ci"]) / 2
            high = middle + t_quantile(scale["df"], 1 - LEVEL / family) * scale["se"]
        highs.append(high)
    return max(highs), max(scale["ci"][0] for scale in _scales(found))


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


def answer_of(report: Mapping[str, Any]) -> VerdictAnswer:
    state = report["headline"]["state"]
    if state in {"better", "worse", "equivalent", "cannot_tell", "too_few"}:
        word, sentence = ANSWERS.get(state, UNKNOWN), _compared(report, state)
        test = report["comparison"][headline_run(report)].get("pooled_replacement", {})
        if word == YES and one_label(test):
            name = judge_name(report, headline_run(report))
            same = f"{name} gives the same label to {_same(test)}, so it decides nothing"
            return VerdictAnswer(UNKNOWN, f"{same}, though {sentence}")
        if word == YES and (copy := copied(report, report["headline"]["run"])):
            return VerdictAnswer(UNKNOWN, f"{copy}, though {sentence}")
        if word == YES and (guessing := no_better_than_guessing(report)):
            # “Not useful” is about the judge; people who may guess leave the answer open.
            is_judge = judge_name(report, headline_run(report)) in guessing
            words = f"{guessing_words(guessing)} {sentence[:1].upper()}{sentence[1:]}"
            return VerdictAnswer(USELESS if is_judge else UNKNOWN, words)
        return VerdictAnswer(word, sentence)
    if found := replacement_of(report):
        return VerdictAnswer(REPLACES.get(found.state, UNKNOWN), _replaced(found))
    return VerdictAnswer(UNKNOWN if report["judges"] else "", _not_compared(report, state))


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
    judges, found = report["judges"], []
    if report["headline"]["state"] == "no_truth":
        tests = replacement_tests(report)
        for test, index in tests:
            word = REPLACES.get(_decided(test, len(tests))[0], UNKNOWN)
            if word == YES and copied(report, judges[index]["run"]):
                word = UNKNOWN
            ends = test["ci"] and [-end for end in reversed(test["ci"])]
            value = -test["advantage_of_people"]
            found.append(JudgeStanding(run_name(judges[index], judges), word, value, ends))
    elif "run" in report["headline"]:
        for judge, entry in zip(judges, report["comparison"], strict=True):
            difference = entry["difference_general"]
            headline = {"run": judge["run"], "state": standing(difference)}
            word = answer_of({**report, "headline": report["headline"] | headline}).word
            ends = difference.get("ci_as_best") or difference["ci"]
            found.append(JudgeStanding(run_name(judge, judges), word, difference["value"], ends))
    return found


def _compared(report: Mapping[str, Any], state: str) -> str:
    index = headline_run(report)
    difference = report["comparison"][index]["difference_general"]
    name = judge_name(report, index)
    people = people_words(report)
    gap, margin = f"{abs(difference['value'] or 0) * 100:.1f}", f"{difference['margin'] * 100:g}"
    n = f"{difference['n']:,}"
    where = f", {where_words(difference).format(n=n)}"
    if state == "better":
        return f"{name} was right more often than {people}, by {gap} percentage points{where}."
    if state == "worse":
        return f"{name} was right less often than {people}, by {gap} percentage points{where}."
    if state == "equivalent":
        alike = f"{name} was right as often as {people}, within {margin} percentage points"
        return f"{alike}{where}."
    if state == "too_few":
        n = difference["n"]
        return (
            f"{name} and {people} both decided only {n:,} item{'' if n == 1 else 's'}, too few "
            "for a comparison."
        )
    ends = difference["ci_as_best"] or difference["ci"]
    seen = _seen(report, index, f"{name} was right", people)
    if ends is None:
        return f"{seen}, and there are too few data to say whether this holds in general."
    if ends[0] <= 0 <= ends[1]:
        return f"{seen}, and a difference of this size can be chance{_found_from(difference)}."
    unclear = f"{seen}, and it is unclear whether there is a difference"
    return f"{unclear}{_found_from(difference)}."


def _seen(report: Mapping[str, Any], index: int, who: str, people: str) -> str:
    """How often both were right on the same items."""
    difference = report["comparison"][index]["difference_general"]
    ours, theirs = (
        percent(difference[key]).replace(" %", "\u00a0%")
        for key in ("judge_accuracy", "people_accuracy")
    )
    where = where_words(difference).format(n=f"{difference['n']:,}")
    return f"{where[:1].upper()}{where[1:]}, {who} on {ours}, {people} on {theirs}"


def no_better_than_guessing(report: Mapping[str, Any]) -> list[str]:
    """The sides, of judge and people, that are not shown to beat chance and a constant answer."""
    index = headline_run(report)
    truth, study = report["inputs"]["truth"], report["study"]
    known = {key: n for key, n in truth.items() if key != "unknown"}
    chance = 1 / 3 if study["allow_tie"] else 1 / 2
    floor = max(chance, max(known.values()) / max(1, sum(known.values())))
    ends = {
        judge_name(report, index): report["judges"][index]["clusters"].get("ci_as_best"),
        people_words(report): report["human"]["majority"]["clusters"]["ci"],
    }
    return [name for name, found in ends.items() if found is not None and found[0] <= floor]


def guessing_words(low: Sequence[str]) -> str:
    if len(low) > 1:
        return "Neither is shown to be better than guessing."
    who = low[0].replace("the ", "The ", 1) if low[0].startswith("the ") else low[0]
    return f"{who} is not shown to be better than guessing."


def _found_from(difference: Mapping[str, Any]) -> str:
    """The difference that such a study would find; empty if unknown."""
    gap = difference["detectable"]
    if not gap:
        return ""
    size = f"{gap * 100:.0f} points"
    return f" (a study like this one finds {size} four times out of five)"


def _replaced(found: ReplacementVerdict) -> str:
    name, test = found.name, found.found
    if found.why == "one_label":
        same = f"{name} gives the same label to {_same(test)}, so it decides nothing"
        if found.state == "not_replaceable":
            return f"{same} and could not replace an annotator: {_lost(found)}."
        return (
            f"{same}, and it is not settled whether it could replace an annotator: {_lost(found)}."
        )
    open_ = f"It is not settled whether {name} could replace an annotator"
    if found.why == "rare_label":
        n = test["rarest"]
        return (
            f"{open_}: the rarer label is too rare ({number_of(n, 'answer')}; at least "
            f"{FEWEST_OF_A_LABEL} are needed)."
        )
    if found.why == "clusters":
        kinds = [_few_words(test, kind) for kind in test.get("too_few", ())]
        return (
            f"{open_}: {listed(kinds)} are too few."
            if kinds
            else f"{open_}: there are too few data."
        )
    if found.why == "copied":
        return (
            f"{open_}: it gives the majority’s answer to every item that both decided, so {COPIED}."
        )
    if found.why == "order":
        gain = test["gain"]
        return (
            f"{open_}: its own labels in random order agree with people about as often (gain "
            f"{points(gain['value'])} points, 95\u00a0% CI {points_range(gain['ci'])})."
        )
    could = {
        "replaceable": f"{name} could replace an annotator, although the right answers are unknown",
        "not_replaceable": f"{name} could not replace an annotator",
        "cannot_tell": open_,
    }[found.state]
    return f"{could}: {_lost(found)}."


def _lost(found: ReplacementVerdict) -> str:
    """The judge's agreement minus a person's, on the scale where the judge is worse."""
    test, gap = found.found, -found.advantage
    alike = ", with all labels weighted equally," if test.get("scale") == "balanced" else ""
    size = f"{abs(gap) * 100:.1f}"
    on = f" on {number_of(test['n'], 'item')}"
    than = f"{size} points {'higher' if gap > 0 else 'lower'} than a person’s{on}"
    if size == "0.0":
        than = f"equal to a person’s{on}"
    ends = ""
    if test["ci"] is not None:
        low, high = test["ci"]
        ends = f"95\u00a0% CI {points_range((-high, -low))}; "
    allowed = f"ε allows {found.epsilon * 100:g} lower"
    return f"its agreement with the other people{alike} is {than} ({ends}{allowed})"


def _same(test: Mapping[str, Any]) -> str:
    n, share = test["decided"], test["same_label"]
    return f"{round(share * n):,} of {number_of(n, 'item')}"


def _few_words(test: Mapping[str, Any], kind: str) -> str:
    if kind == "people":
        return counted_people(test)
    return number_of(test["clusters"][kind], kind.removesuffix("s"))


def counted_people(found: Mapping[str, Any]) -> str:
    """The number of people, with their effective number if some gave many more answers."""
    people, effective = found["clusters"]["people"], found.get("people_effective")
    shown = number_of(people, "person")
    if effective is None or effective >= FULL_SHARE * people:
        return shown
    return f"{shown} (who count as {effective:.1f}, because some gave many more answers)"


def _not_compared(report: Mapping[str, Any], state: str) -> str:
    people = report["human"]
    if state == "no_answers":
        return "There are no answers from people or judges yet."
    if state == "no_truth":
        nobody = "" if people["answers"] else " No person has answered."
        return f"{no_truth_words(report)}{nobody}"
    if state == "judges_only":
        if not people["answers"]:
            return "No person’s answer counts, so there is no comparison."
        return "No decision of people can be scored, so there is no comparison."
    who = people_words(report)
    seen = f"{who[:1].upper()}{who[1:]} was right on {_share(people['majority'])}"
    return f"{seen}; no judge has an answer that counts."


def _share(side: Mapping[str, Any]) -> str:
    if side["n"] < TOO_SMALL:
        return f"{side['correct']} of {side['n']} items"
    share = percent(side["accuracy"]).replace(" %", "\u00a0%")
    return f"{share} of {number_of(side['n'], 'item')}"


def people_words(report: Mapping[str, Any]) -> str:
    return "the only person" if report["human"]["annotators"] == 1 else "the majority of people"


def judge_name(report: Mapping[str, Any], index: int) -> str:
    """The shortest name that is unique among the competing runs."""
    judges = report["judges"]
    return run_name(judges[index], [judges[place] for place in competitors(judges)])


def headline_run(report: Mapping[str, Any]) -> int:
    """The position of the run that the headline is about."""
    run = report["headline"]["run"]
    return next(index for index, judge in enumerate(report["judges"]) if judge["run"] == run)
