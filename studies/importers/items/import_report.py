"""The report of an import: rows, items, exclusions with reasons, a preview."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from studies.importers.files.faults import LISTED, Fault
from studies.importers.items.item_bundle import ReadItems
from studies.importers.items.item_facts import ItemFacts
from studies.importers.items.records import ItemRecord
from studies.importers.items.unknown_columns import further_responses

LEFT_OUT = "Faulty rows left out"
_SHOWN = 120
_COLUMNS_SHOWN = 30
_SECONDS = "Seconds to read and judge an item (median, 95 %, longest)"
_LABELS = {"r1": "response 1", "r2": "response 2", "tie": "tie", "": "unknown"}


@dataclass(frozen=True)
class ImportReport:
    """A report; `facts` are names with their text, `preview` the first items, shortened."""

    facts: tuple[tuple[str, str], ...]
    preview: tuple[dict[str, str], ...]

    def __str__(self) -> str:
        lines = [f"{name}: {text}" for name, text in self.facts]
        for number, item in enumerate(self.preview, start=1):
            lines.append(f"Item {number}: {item['asked']}")
            lines += [f"  {side}: {item[side]}" for side in ("r1", "r2")]
            lines.append(f"  own answer: {item['own']}; person: {item['person']}")
        return "\n".join(lines)


def report_on(files: Sequence[ReadItems]) -> ImportReport:
    """The report on files that were read together."""
    items = sum((file.items.facts for file in files), ItemFacts())
    made = [f"{sum(len(file.items) for file in files):,}"]
    if left := [f"limit {file.limit:,}" for file in files if file.limit is not None]:
        made.append(f"({left[0]})")
    found = [file.ties for file in files if file.ties is not None]
    facts = [
        ("Rows read", _counts(_summed(file.rows for file in files))),
        ("Items made", " ".join(made)),
        ("Left out", _counts(_summed(file.dropped for file in files)) or "nothing"),
        (LEFT_OUT, _skipped(files)),
        ("Columns not imported", _columns_left_out(files)),
        ("Only two responses", _further_responses(files)),
        ("Changed", _counts(_summed(file.notes for file in files))),
        ("Ties found", f"{sum(found):,}" if found else ""),
        ("Personas", f"{len(items.personas):,}"),
        ("Person's own answer", _labels(items.labels)),
        ("Characters (median, 95 %, longest)", _lengths(items)),
        (_SECONDS, _seconds(files)),
        ("Languages", _languages(items.languages, files)),
        ("Licence", "; ".join(dict.fromkeys(filter(None, map(_licence, files))))),
        ("Made by", "; ".join(filter(None, map(_made_by, files)))),
    ]
    return ImportReport(
        facts=tuple((name, text) for name, text in facts if text),
        preview=tuple(_preview(item) for item in items.first),
    )


def quantiles(values: Iterable[int]) -> tuple[int, int, int]:
    """Median, 95th percentile and maximum, each a value that occurs (nearest rank)."""
    ordered = sorted(values)
    middle, high = (math.ceil(share * len(ordered)) - 1 for share in (0.5, 0.95))
    return ordered[middle], ordered[high], ordered[-1]


def _summed(counts: Iterable[Any]) -> Counter[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return total


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _labels(counts: Counter[str]) -> str:
    return ", ".join(f"{_LABELS[label]}: {counts[label]:,}" for label in _LABELS if counts[label])


def _lengths(facts: ItemFacts) -> str:
    found = []
    for name, lengths in facts.texts():
        if any(lengths):
            median, high, longest = quantiles(lengths.elements())
            found.append(f"{name} {median:,}, {high:,}, {longest:,}")
    return "; ".join(found)


def _seconds(files: Sequence[ReadItems]) -> str:
    """How long annotators need for an item; texts are read in the language of the data set."""
    found = Counter[int]()
    for file in files:
        language = str(file.dataset.get("language") or "en")
        for effort, number in file.items.facts.efforts.items():
            known = effort._replace(language=effort.language or language)
            found[round(known.seconds())] += number
    if not found:
        return ""
    return ", ".join(f"{seconds:,}" for seconds in quantiles(found.elements()))


def _languages(counts: Counter[str], files: Sequence[ReadItems]) -> str:
    if set(counts) == {"not stated"}:
        return ", ".join(str(f.dataset["language"]) for f in files if f.dataset.get("language"))
    return _counts(counts)


def _licence(file: ReadItems) -> str:
    source = file.dataset.get("source", {})
    licence, passing_on = source.get("licence", ""), source.get("redistribution", "")
    return f"{licence} (passing on: {passing_on})" if licence and passing_on else str(licence)


def _made_by(file: ReadItems) -> str:
    made = file.dataset.get("importer")
    if not isinstance(made, dict) or "seed" not in made or file.ties is None:
        return ""
    return f"{made['name']} {made['version']} with seed {made['seed']}"


def _columns_left_out(files: Sequence[ReadItems]) -> str:
    """The columns that a mapping does not name; without a mapping, nothing is left out."""
    if not any(file.mapping for file in files):
        return ""
    columns = dict.fromkeys(column for file in files for column in file.columns_left_out)
    shown = [_short(column) for column in list(columns)[:_COLUMNS_SHOWN]]
    more = [f"and {left:,} more"] if (left := len(columns) - len(shown)) else []
    return ", ".join([*shown, *more]) or "none"


def _skipped(files: Sequence[ReadItems]) -> str:
    """The rows that were left out on request, each with its first fault."""
    first: dict[tuple[str, int | None], Fault] = {}
    for fault in (fault for file in files for fault in file.skipped):
        first.setdefault((fault.file, fault.line), fault)
    shown = [str(fault) for fault in list(first.values())[:LISTED]]
    more = [f"and {left:,} more"] if (left := len(first) - len(shown)) else []
    return " ".join([f"{len(first):,}.", *shown, *more]) if first else ""


def _further_responses(files: Sequence[ReadItems]) -> str:
    columns = dict.fromkeys(column for file in files for column in file.columns_left_out)
    if not (found := further_responses(columns)):
        return ""
    return (
        f"{', '.join(map(_short, found))} left out. To import 3 to 5 responses, name the columns "
        "response_1 to response_5, import the file in the item format, and choose which pairs to "
        "make of them"
    )


def _preview(item: ItemRecord) -> dict[str, str]:
    values = item.values
    asked = values["question"] or values["context"] or values["r1"].get("prompt") or ""
    return {
        "lang": str(values["language"]).replace("_", "-"),
        "asked": _short(asked),
        "r1": _short(values["r1"]["text"]),
        "r2": _short(values["r2"]["text"]),
        "own": _LABELS[values["first_person"]],
        "person": _short(", ".join(f["value"] for f in item.persona.features) or item.persona.text),
    }


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
