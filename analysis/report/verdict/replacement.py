"""The answer where nobody knows the right labels: could the judge take an annotator's place?

The pooled test asks whether people agree with each other better than the judge agrees with them, by
`epsilon` or more, over all answers and over all labels alike. Agreement is not accuracy: people can
agree and be wrong.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

from analysis.report.rules import LEVEL
from analysis.report.text.names import run_name
from analysis.stats.comparison.replacement import FEWEST_OF_A_LABEL, ONE_LABEL
from analysis.stats.core.checks import t_quantile

POWER = 0.8
SCALES = ("raw", "balanced")

State = Literal["replaceable", "not_replaceable", "cannot_tell"]


@dataclass(frozen=True)
class ReplacementVerdict:
    """The judge that comes closest to an annotator, among `family` that could.

    `found` is its pooled test in report.json, about the scale where the judge is worse. `why` says
    what keeps the answer open whatever the agreement is: ``one_label`` (the judge gives nothing
    else), ``rare_label``, ``clusters`` (people, personas or questions are too few), ``order`` (its
    own labels in random order agree as well). `holds_from` and `holds_below` are the ends of
    epsilon from which the judge can, and below which it cannot, replace a person.
    """

    name: str
    index: int
    state: State
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
        """How many times as much data would settle it, if the advantage seen is the true one."""
        quantile = NormalDist().inv_cdf
        gap, se = self.epsilon - self.advantage, self.found["se"]
        if not gap or not se:
            return math.inf
        level = LEVEL / self.family if gap > 0 else LEVEL / 2
        return ((quantile(1 - level) + quantile(POWER)) * se / gap) ** 2


def one_label(found: Mapping[str, Any]) -> bool:
    """Whether a judge gives the same label to nearly every item, so that it decides nothing."""
    return (found.get("same_label") or 0.0) > ONE_LABEL


def replacement_of(report: Mapping[str, Any]) -> ReplacementVerdict | None:
    """The best judge's standing; None if no judge can be compared with people, or truth is known.

    The test of the best of several judges is adjusted for their number (Bonferroni).
    """
    if report["headline"]["state"] != "no_truth":
        return None
    judges = report["judges"]
    tests = [
        (entry["pooled_replacement"], index)
        for index, entry in enumerate(report["comparison"])
        if entry["pooled_replacement"]["advantage_of_people"] is not None
    ]
    tests = [each for each in tests if judges[each[1]]["features"] == "all"] or tests
    if not tests:
        return None
    found, index = min(
        tests, key=lambda each: (one_label(each[0]), each[0]["advantage_of_people"], each[1])
    )
    state, why = _decided(found, len(tests))
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


def _decided(found: Mapping[str, Any], family: int) -> tuple[State, str]:
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
            # The middle of the interval, which for balanced agreement is without its bias.
            middle = sum(scale["ci"]) / 2
            high = middle + t_quantile(scale["df"], 1 - LEVEL / family) * scale["se"]
        highs.append(high)
    return max(highs), max(scale["ci"][0] for scale in _scales(found))
