"""Names of runs and lists of names as a report writes them."""

from collections.abc import Mapping, Sequence
from typing import Any


def listed(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    >>> listed(["items"]), listed(["items", "people", "personas"])
    ('items', 'items, people and personas')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


FEATURES = {"all": "whole persona", "none": "no persona"}


def features_words(features: str) -> str:
    """The part of the persona that a run saw, in words."""
    return FEATURES.get(features, features.replace(",", ", "))


def run_name(entry: Mapping[str, Any], among: Sequence[Mapping[str, Any]] = ()) -> str:
    """The shortest name that is unique among the runs: judge, then what differs, then hash."""
    same = [other for other in among if other["judge"] == entry["judge"]]
    parts = []
    if len({other["setting"] for other in same}) > 1:
        parts.append(entry["setting"])
    if len({other["features"] for other in same}) > 1:
        parts.append(features_words(entry["features"]))
    for key, usual in (("wording", "protocol’s words"), ("framing", "observer")):
        if len({other.get(key) for other in same}) > 1:
            parts.append(entry.get(key, usual))
    alike = [
        other
        for other in same
        if all(other.get(k) == entry.get(k) for k in ("setting", "features", "wording", "framing"))
    ]
    if len(alike) > 1:
        parts.append(entry["run"][:6])
    return f"{entry['judge']} ({', '.join(parts)})" if parts else str(entry["judge"])


def asked_name(entry: Mapping[str, Any]) -> str:
    """A judge's name with its wording and framing, if they are not the usual ones.

    >>> asked_name({"judge": "j"}), asked_name({"judge": "j", "wording": "short@1"})
    ('j', 'j (short@1)')
    """
    parts = [entry[key] for key in ("wording", "framing") if key in entry]
    return f"{entry['judge']} ({', '.join(parts)})" if parts else str(entry["judge"])


def run_names(report: Mapping[str, Any]) -> list[str]:
    """The name of each run of the report, in its order."""
    return [run_name(judge, report["judges"]) for judge in report["judges"]]


def whole_runs(report: Mapping[str, Any]) -> list[int]:
    """Positions of the runs that saw the whole persona; of all runs if none did."""
    judges = report["judges"]
    whole = [index for index, judge in enumerate(judges) if judge["features"] == "all"]
    return whole or list(range(len(judges)))


def named_comparisons(report: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Name and comparison of the runs that saw the whole persona; report.json has all of them."""
    names = run_names(report)
    return [(names[index], report["comparison"][index]) for index in whole_runs(report)]


def named_entries(report: Mapping[str, Any], part: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Name and entry of every run in one part of the report: `judges` or `comparison`."""
    return list(zip(run_names(report), report[part], strict=True))
