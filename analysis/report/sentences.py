"""What a report must say in words: what it cannot tell and why, and whether the side mattered."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.report.text.numbers import (
    SMALL,
    p_value,
    percent,
    run_name,
    run_names,
    share_of,
    whole_runs,
)

Report = Mapping[str, Any]

LEVEL = 0.05
# A difference from the share of right answers on side A that is worth a warning.
NOTICEABLE = 0.05


def gaps(report: Report) -> list[str]:
    """What was pooled, and why some of the report is empty; nothing where all is there."""
    return [
        *_of_waves(report),
        *_of_truth(report),
        *_of_people(report),
        *_of_certainty(report),
        *_of_judges(report),
    ]


def late_changes(report: Report) -> list[str]:
    """What was changed about the reading of answers after the first of them had come in."""
    said = {
        "threshold": ("High certainty", 1, "from {:g}"),
        "margin": ("The margin of equivalence", 100, "{:g} points"),
    }
    sentences = []
    for change in report["registration"]["late_changes"]:
        what, unit, form = said[change["setting"]]
        before, after = (form.format(change[key] * unit) for key in ("before", "after"))
        sentences.append(
            f"{what} was changed on {change['on']}, after the first data had arrived: it was "
            f"{before} and became {after}. What rests on it was chosen post hoc."
        )
    return sentences


def _of_waves(report: Report) -> Iterator[str]:
    waves = report["study"]["source"].get("pooled_from")
    if waves:
        yield (
            f"This report pools {_list(waves)}: it counts all their people together, and an item "
            "of several once. What differs between them is in the report of each."
        )


def _of_truth(report: Report) -> Iterator[str]:
    truth, n = report["inputs"]["truth"], report["inputs"]["items"]
    if n and truth["unknown"] == n:
        yield (
            "No item has a known answer of the person it is about. Accuracy, calibration and every "
            "comparison of accuracies are undefined; agreement and certainty are not."
        )
    elif truth["unknown"]:
        yield f"{_items(truth['unknown'])} of {n} have no known answer and score nobody."
    if truth["tie"] and not report["study"]["allow_tie"]:
        yield f"{_items(truth['tie'])} of {n} are true ties and score nobody who was offered none."


def _of_people(report: Report) -> Iterator[str]:
    people = report["human"]
    answers, agreement = people["answers"], people["agreement"]
    if not answers:
        yield "No answer of people counts, so nothing is said about people or beside them."
        return
    if people["annotators"] == 1:
        yield (
            "One person gave every answer. Nobody's agreement with anybody is known, the majority "
            "is that person, and no interval speaks about people in general."
        )
    elif agreement["percent"] is None:
        yield "No item was answered by two people, so their agreement is unknown."
    if agreement["krippendorff_alpha"].get("value_reason") == "no_variation":
        yield (
            "All answers of people are the same. They agree completely, but agreement beyond "
            "chance (alpha, kappa) is undefined: nothing shows that they tell the items apart."
        )
    majority = people["majority"]
    if majority["ties"]:
        yield f"{_items(majority['ties'])} have no majority, because their answers tie."


def _of_certainty(report: Report) -> Iterator[str]:
    threshold = report["parameters"]["threshold"]
    people = report["human"]["majority"]
    sides = [("people", people)] if report["human"]["answers"] else []
    names = run_names(report)
    sides += [(names[index], report["judges"][index]) for index in whole_runs(report)]
    scored = [(name, side) for name, side in sides if side["n"]]
    stating = [(name, side) for name, side in scored if side["high"]["n"] + side["low"]["n"]]
    never = [name for name, side in stating if not side["high"]["n"]]
    always = [name for name, side in stating if not side["low"]["n"]]
    if scored and not stating:
        yield "Nobody whose answers can be scored stated a certainty: nothing is high or low."
    if never:
        yield (
            f"No certainty of {_list(never)} reaches {threshold}: "
            "the cells of high certainty are empty, not zero."
        )
    if always:
        yield (
            f"{_list(always)} always {'states' if len(always) == 1 else 'state'} {threshold} or "
            f"more, so this threshold separates none of {'its' if len(always) == 1 else 'their'} "
            "answers. Whether higher certainty goes with right answers is another question: see "
            "AUROC."
        )


def _of_judges(report: Report) -> Iterator[str]:
    if not report["judges"]:
        yield "No judge was run, so people stand alone."
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        left = {
            key: n for key, n in judge["excluded"].items() if n and key not in {"tie", "no_truth"}
        }
        if judge["judgments"]["done"] == 0:
            words = ", ".join(f"{n} {WHY[key]}" for key, n in left.items())
            yield (
                f"{name} has no readable answer to any of {_items(judge['items'])} ({words}). It "
                "has no accuracy; that is not an accuracy of 0."
            )
        elif judge["items"] < report["inputs"]["items"]:
            yield (
                f"{name} was asked about {judge['items']} of {report['inputs']['items']} items; "
                "comparisons are on the items that both sides decided."
            )


WHY = {
    "unparseable": "unreadable",
    "refused": "refused",
    "skipped": "skipped",
    "error": "failed",
    "open": "not yet asked",
}


def _items(n: int) -> str:
    return f"{n:,} item" if n == 1 else f"{n:,} items"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def position(report: Report) -> list[dict[str, str]]:
    """One sentence per side on whether the place of a response mattered, with its light."""
    sides = [("People", report["human"]["position"])]
    sides += [(run_name(j, report["judges"]), j["position"]) for j in report["judges"]]
    return [_light(name, found) for name, found in sides if found["share_a"] is not None]


def _light(name: str, found: Report) -> dict[str, str]:
    share, truth, p, n = found["share_a"], found["truth_share_a"], found["p"], found["n"]
    chose = f"chose side A in {share_of(share, n, 'answer')}"
    if n < SMALL:
        told = f"{name} {chose}: too few to say whether the side mattered."
        return {"light": "unknown", "text": told}
    if truth is None or p is None:
        return {"light": "unknown", "text": f"{name} {chose}; how often A was right is unknown."}
    test = f"it was right in {percent(truth)} (McNemar p {p_value(p)})"
    if p > LEVEL:
        return {"light": "green", "text": f"No sign of a side for {name}: {chose}, and {test}."}
    if abs(share - truth) < NOTICEABLE:
        return {"light": "amber", "text": f"{name} leans a little: {chose}, and {test}."}
    side = "A" if share > truth else "B"
    return {"light": "red", "text": f"{name} leans to side {side}: {chose}, and {test}."}
