"""Claims of a report: sentences and titles that say that something differs, leans or is harder.

Every other sentence describes. A claim has a kind, whose tests are adjusted together, and a neutral
text for when its test does not hold at the level that Holm leaves to its kind.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report.text.names import listed, run_names
from analysis.report.text.numbers import number_of

Report = Mapping[str, Any]

GROUPS = "groups of personas"
TOPICS = "features of items"
SIDES = "sides"
CALIBRATION = "certainty against accuracy"
RANKING = "certainty ranks answers"
TOGETHER = "certainty of judges with that of people"
CERTAIN = "certain answers"
WORDING = "wordings"
PROBES = "probes"
OWN = "own responses"

# What stands for the people of a study where runs are named by their hash.
SINGLE, MAJORITY = "people", "majority"


def level_of(report: Report, kind: str) -> float:
    """The level at which claims of a kind hold; 0 where none does, or none was tested."""
    kinds = report.get("claims_tested", {}).get("kinds", ())
    return next((float(each["level"]) for each in kinds if each["kind"] == kind), 0.0)


def holds(tested: Report, level: float, key: str = "p_max") -> bool:
    """Whether a test's adjusted p value is at most the level of its kind."""
    p = tested.get(key)
    return p is not None and p <= level


def members(report: Report, kind: str) -> list[tuple[str, Report]]:
    """Name and test of every rater of a kind whose tests are listed one by one."""
    names = {f"judges.{place}": name for place, name in enumerate(run_names(report))}
    names |= _PEOPLE
    found = report.get("claims_tested", {}).get("members", ())
    return [(names[each["who"]], each) for each in found if each["kind"] == kind]


def held(report: Report, kind: str) -> tuple[list[str], list[str]]:
    """Names of the raters whose claim holds: those above 0, and those below."""
    level = level_of(report, kind)
    found = [(name, each) for name, each in members(report, kind) if holds(each, level)]
    above = [name for name, each in found if each["t"] > 0]
    return above, [name for name, each in found if each["t"] <= 0]


_PEOPLE = {SINGLE: "people", MAJORITY: "the majority of people"}


def sentence_case(words: str) -> str:
    """Words at the start of a sentence; a run's name stays as it is."""
    is_people = words.startswith(tuple(_PEOPLE.values()))
    return words[:1].upper() + words[1:] if is_people else words


def of_names(names: Sequence[str]) -> str:
    """Names in a title, which has room for three."""
    if len(names) <= 3:
        return listed(names)
    people = [name for name in names if name in _PEOPLE.values()]
    return listed([*people, number_of(len(names) - len(people), "run")])
