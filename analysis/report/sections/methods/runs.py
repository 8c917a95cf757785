"""The description of each run in the methods, with the source of each number."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from analysis.report.section import Report
from analysis.report.text.names import run_names

# Keys that the record of a run describes in its own sentences.
_OWN_WORDS = {
    "study",
    "judge",
    "backend",
    "setting",
    "features",
    "orders",
    "samples",
    "seed",
    "prompts",
}


def run_facts(report: Report, index: int) -> Iterator[tuple[str, str, str]]:
    """Facts about a run in the methods: name, text, and the path if it is a number."""
    judge, path = report["judges"][index], f"judges.{index}"
    record = judge["record"]
    yield "Backend", record["backend"], ""
    yield "Model as reported", ", ".join(record["snapshots"]) or "not reported", ""
    yield "Setting, features", f"{judge['setting']}, {judge['features']}", ""
    yield "Orders", record["orders"], ""
    for key in ("samples", "seed"):
        yield key.capitalize(), str(record[key]), f"{path}.record.{key}"
    own = {key: value for key, value in record["parameters"].items() if key not in _OWN_WORDS}
    for name, value, where in flat(own, f"{path}.record.parameters"):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        yield name, str(value), where if is_number else ""
    for sentence in record["conditions"]:
        yield "Conditions", sentence, ""
    yield from _versions(record, f"{path}.record")
    yield from _anchors(record, f"{path}.record.anchors")
    yield "State", f"{record['state']}: {record['state_reason']}", ""
    for state, n in judge["judgments"].items():
        yield f"Judgments: {state}", f"{n:,}", f"{path}.judgments.{state}"
    for replies, n in judge["replies"].items():
        yield f"Readable after replies: {replies}", f"{n:,}", f"{path}.replies.{replies}"


def _versions(record: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """The answers of each version, if the server named several."""
    if len(record["reported"]) < 2:
        return
    for place, version in enumerate(record["reported"]):
        name = f"{version['model'] or 'no name'}, fingerprint {version['fingerprint'] or 'none'}"
        times = " to ".join(filter(None, (version.get("first"), version.get("last"))))
        yield (
            f"Answers of {name}",
            f"{version['judgments']:,}",
            f"{path}.reported.{place}.judgments",
        )
        if times:
            yield f"Time of {name}", times, ""


def _anchors(record: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    if (found := record.get("anchors")) is None:
        return
    for sentence in found["sentences"]:
        yield "Anchors", sentence, ""
    yield "Anchors that changed", f"{found['changed']:,}", f"{path}.changed"
    yield "Anchors compared", f"{found['compared']:,}", f"{path}.compared"


def flat(values: Mapping[str, Any], path: str, prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Flatten nested values to name, value and path, without empty ones."""
    for key, value in values.items():
        name, where = f"{prefix}{key.replace('_', ' ')}", f"{path}.{key}"
        if isinstance(value, Mapping):
            yield from flat(value, where, f"{name}: ")
        elif isinstance(value, list):
            if value:
                yield name, ", ".join(map(str, value)), where
        elif value not in (None, ""):
            yield name, value, where


def prompts(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The words of each way of asking once, with the runs that used them; none if they are gone."""
    found: dict[str, dict[str, Any]] = {}
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        record = judge["record"]
        words = record.get("words", [])
        if not record["prompt_hash"] and not words:  # a jury, or judgments of a file
            continue
        key = json.dumps([record["prompt_hash"], words])
        new = {"hash": record["prompt_hash"], "texts": words, "runs": []}
        found.setdefault(key, new)["runs"].append(name)
    return list(found.values())
