"""Numbers as people read them: rounded here, and nowhere before."""

from collections.abc import Mapping, Sequence
from typing import Any

SMALL = 30
TOO_SMALL = 10

REASONS = {
    "no_votes": "nobody answered",
    "tie": "the maximum is shared",
    "no_variation": "all values are the same",
    "too_few_items": "too few items",
    "too_few_annotators": "too few people",
    "too_few_clusters": "too few personas or questions",
    "no_pairs": "no item has two answers",
    "empty_group": "nothing to count",
    "no_discordant": "both are right and wrong on the same items",
    "not_certified": "no threshold could be certified",
    "dependent_items": "items share a persona or a question",
    "no_truth": "nobody knows the right answer",
    "not_stated": "no certainty was given",
    "not_scored": "no answer, or no truth to score it by",
    "one_sample": "every item was asked once",
    "not_offered": "not offered in this setting",
    "not_reported": "not reported",
    "no_exclusions": "nobody was excluded",
    "no_payments": "nobody was paid through this study",
    "not_identified": "the data do not identify it",
    "one_judge": "fewer than two runs saw the whole persona",
    "biased": "chance alone pushes the estimate one way, and no interval allows for that",
    "below_one": "may be worth less than one person",
    "above_any": "may be worth more than any number of people",
    "not_settled": "the model did not settle",
    "too_large": "the study is too large for it",
    "nothing_compared": "the headline compares nothing",
    "too_few": "too few items",
    "no_plan": "no analysis plan was frozen",
    "no_threshold": "this way of labelling has no threshold",
}


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["items"]), listed(["items", "people", "personas"])
    ('items', 'items, people and personas')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def figure(value: float | None, form: str) -> str:
    """A number in one of Python's formats; a minus is a minus sign, and nothing is a dash.

    >>> figure(-0.0321, ".3f"), figure(-0.0001, "+.1f"), figure(None, ".3f")
    ('−0.032', '0.0', '–')
    """
    if value is None:
        return "–"
    text = f"{value:{form}}".replace("-", "−")
    # What rounds to nothing has no direction.
    return text if text.strip("+−0.") else text.lstrip("+−")


def percent(value: float | None) -> str:
    return "–" if value is None else f"{figure(value * 100, '.1f')} %"


def decimal(value: float | None, digits: int = 3) -> str:
    return figure(value, f".{digits}f")


def number(value: float | None) -> str:
    """A quantity with a unit of its own, such as points of certainty."""
    return figure(value, ".1f")


def share_of(share: float, n: int, what: str) -> str:
    """A share of `n` things in a sentence; of fewer than ten a count, as in every table.

    >>> share_of(1.0, 1, "item"), share_of(0.4, 5, "item"), share_of(0.65, 1300, "item")
    ('1 of 1 item', '2 of 5 items', '65.0 % of 1,300 items')
    """
    shown = percent(share) if n >= TOO_SMALL else f"{share * n:.0f}"
    return f"{shown} of {n:,} {what}{'' if n == 1 else 's'}"


def points(value: float | None) -> str:
    """A difference of two shares, in percentage points with its sign."""
    return "–" if value is None else figure(value * 100, "+.1f")


def percent_range(ends: Sequence[float] | None) -> str:
    return "–" if ends is None else f"{ends[0] * 100:.1f}–{ends[1] * 100:.1f}"


def points_range(ends: Sequence[float] | None) -> str:
    return "–" if ends is None else f"{points(ends[0])} to {points(ends[1])}"


def decimal_range(ends: Sequence[float] | None, digits: int = 3) -> str:
    return "–" if ends is None else f"{decimal(ends[0], digits)} to {decimal(ends[1], digits)}"


def p_cell(p: float | None) -> str:
    """A p value where the heading says that it is one."""
    if p is None:
        return "–"
    return "< .001" if p < 0.001 else f"{p:.3f}".replace("0.", ".", 1)


def p_value(p: float) -> str:
    """A p value within a sentence: “< .001” or “= .034”."""
    return p_cell(p) if p < 0.001 else f"= {p_cell(p)}"


def reason(code: str | None) -> str:
    return REASONS.get(code or "", code or "")


FEATURES = {"all": "whole persona", "none": "no persona"}


def features_words(features: str) -> str:
    """What a run saw of the persona."""
    return FEATURES.get(features, features.replace(",", ", "))


def run_name(entry: Mapping[str, Any], among: Sequence[Mapping[str, Any]] = ()) -> str:
    """The shortest name that tells a run from the others: judge, then setting, features, hash."""
    same = [other for other in among if other["judge"] == entry["judge"]]
    told = []
    if len({other["setting"] for other in same}) > 1:
        told.append(entry["setting"])
    if len({other["features"] for other in same}) > 1:
        told.append(features_words(entry["features"]))
    alike = [o for o in same if all(o[key] == entry[key] for key in ("setting", "features"))]
    if len(alike) > 1:
        told.append(entry["run"][:6])
    return f"{entry['judge']} ({', '.join(told)})" if told else str(entry["judge"])


def run_names(report: Mapping[str, Any]) -> list[str]:
    """The name of each run of the report, in its order."""
    return [run_name(judge, report["judges"]) for judge in report["judges"]]


def whole_runs(report: Mapping[str, Any]) -> list[int]:
    """Positions of the runs that saw the whole persona; of all runs, where none did."""
    judges = report["judges"]
    whole = [index for index, judge in enumerate(judges) if judge["features"] == "all"]
    return whole or list(range(len(judges)))


def beside_people(report: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Name and comparison of the runs that saw the whole persona; report.json has all of them."""
    names = run_names(report)
    return [(names[index], report["comparison"][index]) for index in whole_runs(report)]
