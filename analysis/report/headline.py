"""The one sentence that everybody will quote, chosen by rule and never by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report.encode import Json
from analysis.report.words import (
    TOO_SMALL,
    decimal,
    p_value,
    percent,
    percent_range,
    points,
    points_range,
    run_name,
)

LEVEL = 0.05
MIN_COMPARED = 30  # items in common below which no comparison is made
WEAK, STRONG = 0.2, 0.5  # correlations
POINTS = 5  # of certainty


def headline(report: Mapping[str, Any]) -> Json:
    """What the study found, in one state and a few sentences.

    The state is that of the best run (`best_run`) against the majority on common items:
    ``better`` or ``worse`` where the interval of the paired difference excludes 0 and, among
    several runs, Holm's p is at most .05; ``equivalent`` where the 90 % interval lies inside the
    margin; ``too_few`` below 30 common items; otherwise ``cannot_tell``. Without anything to
    compare it says what is missing.
    """
    people, judges = report["human"], report["judges"]
    majority = people["majority"]
    if not people["answers"] and not judges:
        return _state("no_answers", "Nobody has answered yet, neither people nor judges.")
    if majority["accuracy"] is None and all(judge["accuracy"] is None for judge in judges):
        return _state("no_truth", *_without_truth(report))
    index = best_run(judges)
    if index is None:
        return _state("people_only", _people(people), "No judge has an answer that counts.")
    judge, comparison = judges[index], report["comparison"][index]
    name = run_name(judge, judges)
    if majority["accuracy"] is None:
        return _state("judges_only", _judge(name, judge, judges), _no_people(majority)) | _who(
            judge
        )

    difference = comparison["difference"]
    state = _decide(difference, comparison["mcnemar"], several=comparison["mcnemar"]["family"] > 1)
    sentences = [
        _people(people),
        _judge(name, judge, judges),
        _verdict(state, name, _many(people), difference, comparison["mcnemar"]),
        *_when_certain(report["parameters"]["threshold"], name, majority, judge),
    ]
    return _state(state, *sentences) | _who(judge)


def certainty_headline(report: Mapping[str, Any]) -> Json:
    """What the certainty chapter found, for the same run as the headline.

    Three findings by rule: whether its certainty rises and falls with people's (Spearman's
    correlation), who is more certain (single answers; 5 points count), and whether the judge,
    where it is certain, is right more often than people where they are (interval of the
    difference, both sets drawn anew in every resample).
    """
    who = report["headline"]
    pairs = list(zip(report["judges"], report["comparison"], strict=True))
    stated = [pair for pair in pairs if pair[1]["certainty"]["spearman"] is not None]
    if not stated:
        return _state("not_comparable", _not_comparable(pairs))
    chosen = [pair for pair in stated if pair[0]["run"] == who.get("run")] or stated
    judge, versus = chosen[0]
    name, found = run_name(judge, report["judges"]), versus["certainty"]
    sentences = [_together(name, found), _more_certain(name, found)]
    if report["inputs"]["truth"]["unknown"] == report["inputs"]["items"]:
        told = "Whether either is right more often where it is certain, nobody can know."
        return _state("no_truth", *sentences, told) | _who(judge)
    state, sentence = _on_own_ground(name, found["high_sets"], report["parameters"]["threshold"])
    return _state(state, *sentences, sentence) | _who(judge)


def _not_comparable(pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    reasons = {versus["certainty"]["spearman_reason"] for _, versus in pairs}
    if "no_variation" in reasons:
        return (
            "Certainty never varies on one side or on both: whether that of judges and that of "
            "people move together is undefined."
        )
    return "No run states a certainty on enough of the items that people do."


def _together(name: str, found: Mapping[str, Any]) -> str:
    rho = found["spearman"]
    where = "together" if rho >= 0 else "in opposite directions"
    moves = f"moves {'loosely' if abs(rho) < STRONG else 'closely'} {where}"
    if abs(rho) < WEAK:
        moves = "hardly moves together"
    return (
        f"The certainty of {name} and of people {moves}: over {found['items']} "
        f"items Spearman's correlation is {decimal(rho, 2)}."
    )


def _more_certain(name: str, found: Mapping[str, Any]) -> str:
    if found["model_mean"] is None:
        return "Too few certainties were stated to compare their means."
    gap = found["model_mean"] - found["human_mean"]
    side = "about as certain as" if abs(gap) < POINTS else "more certain than"
    side = "less certain than" if gap <= -POINTS else side
    return (
        f"A reply of {name} is {side} a person's answer: {found['model_mean']:.0f} against "
        f"{found['human_mean']:.0f} on average (distance of the distributions "
        f"{found['wasserstein']:.1f} points, KS {found['ks']:.2f})."
    )


def _on_own_ground(name: str, sets: Mapping[str, Any], threshold: float) -> tuple[str, str]:
    difference, judge, people = sets["difference"], sets["judge_on_own"], sets["people_on_own"]
    if min(judge["n"], people["n"]) < TOO_SMALL or difference["ci"] is None:
        return "too_few", (
            f"Too few items are highly certain (≥ {threshold:g}) to compare the two there "
            f"({judge['n']} of {name}, {people['n']} of people)."
        )
    low, high = difference["ci"]
    state = "better" if low > 0 else "worse" if high < 0 else "cannot_tell"
    words = {
        "better": "is right more often than people where they are",
        "worse": "is right less often than people where they are",
        "cannot_tell": "cannot be told apart from people where they are",
    }[state]
    return state, (
        f"Where it is certain (≥ {threshold:g}), {name} {words}: {percent(judge['accuracy'])} of "
        f"{judge['n']} against {percent(people['accuracy'])} of {people['n']}, a difference of "
        f"{points(difference['value'])} points (95 % interval {points_range(difference['ci'])}) "
        "on items that both decided, with both sets drawn anew in every resample."
    )


def best_run(judges: Sequence[Mapping[str, Any]]) -> int | None:
    """The run that was right on the largest share of what it was asked and can be scored.

    Among the runs that saw the whole persona, if there are any. What a run left undecided counts
    against it here: deciding only the easy items is no merit.
    """
    scored = [(index, judge) for index, judge in enumerate(judges) if judge["accuracy"] is not None]
    whole = [pair for pair in scored if pair[1]["features"] == "all"] or scored
    if not whole:
        return None

    def right_share(pair: tuple[int, Mapping[str, Any]]) -> tuple[float, int]:
        index, judge = pair
        return judge["correct"] / (judge["items"] - judge["excluded"]["no_truth"]), -index

    return max(whole, key=right_share)[0]


def _decide(difference: Mapping[str, Any], test: Mapping[str, Any], *, several: bool) -> str:
    if difference["value"] is None or difference["n"] < MIN_COMPARED:
        return "too_few"
    state = difference["state"]
    survives = not several or (test["p_holm"] is not None and test["p_holm"] <= LEVEL)
    if state.startswith("different") and survives:
        return "better" if difference["value"] > 0 else "worse"
    return "equivalent" if state in {"equivalent", "different_within_margin"} else "cannot_tell"


def _many(people: Mapping[str, Any]) -> str:
    """Who stands for people: of one person there is no majority."""
    return "the only person" if people["annotators"] == 1 else "the majority"


def _people(people: Mapping[str, Any]) -> str:
    majority = people["majority"]
    who = "The only person" if people["annotators"] == 1 else "The majority of people"
    return (
        f"{who} was right on {percent(majority['accuracy'])} of "
        f"{majority['n']} items (95 % interval {percent_range(majority['ci'])})."
    )


def _judge(name: str, judge: Mapping[str, Any], judges: Sequence[Mapping[str, Any]]) -> str:
    who = f"The best of {len(judges)} runs, {name}," if len(judges) > 1 else name
    return (
        f"{who} was right on {percent(judge['accuracy'])} of the {judge['n']} that it decided "
        f"({percent_range(judge['ci'])})."
    )


def _verdict(
    state: str, name: str, people: str, difference: Mapping[str, Any], test: Mapping[str, Any]
) -> str:
    n = difference["n"]
    if state == "too_few":
        return f"They have {n} items in common: too few to compare them."
    gap = (
        f"on the {n} items that both decided the difference is {points(difference['value'])} "
        f"points (95 % interval {points_range(difference['ci'])})"
    )
    margin = f"{difference['margin'] * 100:g} points"
    if state == "better":
        return f"{name} did better than {people}: {gap}."
    if state == "worse":
        return f"{name} did worse than {people}: {gap}."
    if state == "equivalent":
        return (
            f"{name} and {people} are equivalent within {margin}: {gap}, and its 90 % "
            f"interval lies inside the margin ({points_range(difference['equivalence_ci'])})."
        )
    if difference["state"].startswith("different"):
        return (
            f"We cannot tell whether {name} is as good as {people}: {gap}, which is what the "
            f"best of several runs may show by luck (Holm-adjusted p {p_value(test['p_holm'])})."
        )
    return (
        f"We cannot tell whether {name} is as good as {people}: {gap}. That includes 0, and "
        f"the 90 % interval ({points_range(difference['equivalence_ci'])}) reaches beyond the "
        f"{margin} within which the two would count as equivalent."
    )


def _when_certain(
    threshold: float, name: str, majority: Mapping[str, Any], judge: Mapping[str, Any]
) -> list[str]:
    """How both did on what they were certain of; different items, so no comparison."""
    few = [side["high"]["n"] for side in (judge, majority)]
    asked = all(side["high"]["n"] + side["low"]["n"] for side in (judge, majority))
    if asked and max(few) < TOO_SMALL:
        return [
            f"Neither {name} nor people were certain (≥ {threshold:g}) often enough to say how "
            f"often they were right then (n = {few[0]} and n = {few[1]})."
        ]
    parts = []
    for who, side in ((name, judge), ("people", majority)):
        high = side["high"]
        if high["n"] < TOO_SMALL:
            verb = "was" if side is judge else "were"
            parts.append(f"{who} {verb} certain too rarely to say (n = {high['n']})")
        else:
            parts.append(
                f"{who} {'was' if side is judge else 'were'} right on {percent(high['accuracy'])} "
                f"of {high['n']} ({percent_range(high['ci'])})"
            )
    if judge["high"]["n"] + judge["low"]["n"] == 0:
        parts = parts[1:]
    if majority["high"]["n"] + majority["low"]["n"] == 0:
        parts = parts[:-1]
    return [f"When certain (≥ {threshold:g}), {', and '.join(parts)}."] if parts else []


def _without_truth(report: Mapping[str, Any]) -> list[str]:
    people = report["human"]
    agreement = people["agreement"]
    sentences = ["Nobody knows the right answers of this study, so nobody can be right or wrong."]
    if agreement["percent"] is not None:
        sentences.append(
            f"Two people gave the same answer to an item in {percent(agreement['percent'])} of "
            f"the pairs (95 % interval {percent_range(agreement['percent_ci'])})."
        )
    agreeing = [
        (entry["agreement_with_majority"], index)
        for index, entry in enumerate(report["comparison"])
        if entry["agreement_with_majority"] is not None
    ]
    if agreeing:
        best, index = max(agreeing)
        entry = report["comparison"][index]
        sentences.append(
            f"{run_name(entry, report['comparison'])} agreed with their majority on "
            f"{percent(best)} of {entry['common_items']} items "
            f"({percent_range(entry['agreement_ci'])})."
        )
    return sentences


def _no_people(majority: Mapping[str, Any]) -> str:
    if majority["ties"]:
        return f"People decided no item: their answers tie on {majority['ties']}."
    return "No answer of people counts, so there is nobody to compare with."


def _state(state: str, *sentences: str) -> Json:
    return {"state": state, "sentences": list(sentences)}


def _who(judge: Mapping[str, Any]) -> Json:
    return {key: judge[key] for key in ("judge", "run", "setting", "features")}
