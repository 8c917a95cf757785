"""Where every number of the headlines and of the methods comes from: a row for each."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.report.sections.certainty.validation import FOLDS
from analysis.report.sections.glance.headline import LEVEL, MIN_COMPARED
from analysis.report.tables import Column, Table, compact
from analysis.report.text.numbers import SMALL, TOO_SMALL, run_names
from analysis.report.text.sentences import at, places
from analysis.stats.core.clusters import MIN_BLOCKS
from analysis.stats.core.shared_variance import (
    ANNOTATORS_PER_ANSWER,
    FEW_CLUSTERS,
    FEWEST_ANNOTATORS,
)

Report = Mapping[str, Any]

# What the program never asks anybody: docs/methods.md says why.
CONSTANTS: Mapping[str, float] = {
    "level_of_intervals": 0.95,
    "level_of_equivalence_interval": 0.9,
    "level_of_tests": LEVEL,
    "fewest_for_a_percentage": TOO_SMALL,
    "fewest_for_a_comparison": SMALL,
    "fewest_common_items": MIN_COMPARED,
    "fewest_blocks": MIN_BLOCKS,
    "fewest_annotators": FEWEST_ANNOTATORS,
    "annotators_per_answer": ANNOTATORS_PER_ANSWER,
    "few_clusters": FEW_CLUSTERS,
    "folds": FOLDS,
}
# Beginnings of paths of which the methods tell all that is there, runs and plan apart.
TOLD = (
    "inputs.items inputs.personas inputs.questions inputs.truth study.annotations_per_item "
    "study.items_per_annotator human.annotators human.answers human.people human.checks "
    "human.not_counted human.coverage human.majority.ties parameters.threshold parameters.margin "
    "parameters.bootstrap seed software"
).split()
PLAN = "frozen_at answers_by_then judgments_by_then threshold margin bootstrap seed".split()

# The table that shows a number too, and whose row it is there: the longest beginning decides.
MAJORITY, SINGLE, RUN, WHOLE = "People, majority", "People, single answers", "run", ""
TABLES: tuple[tuple[str, str, str], ...] = (
    ("human.majority", "at_a_glance", MAJORITY),
    ("human.majority.high", "table_b", "People"),
    ("human.majority.clusters", "clusters", MAJORITY),
    ("human.majority.high.clusters", "clusters", MAJORITY),
    ("human.individual", "at_a_glance", SINGLE),
    ("human.agreement", "agreement", WHOLE),
    ("human.annotators", "people", "People who count"),
    ("human.answers", "people", "Answers that count"),
    ("human.people", "people", WHOLE),
    ("human.not_counted", "people", WHOLE),
    ("human.coverage", "people", WHOLE),
    ("human.checks", "raters", WHOLE),
    ("inputs", "items", WHOLE),
    ("inputs.runs", "excluded", WHOLE),
    ("judges.*", "at_a_glance", RUN),
    ("judges.*.high", "table_b", RUN),
    ("judges.*.clusters", "clusters", RUN),
    ("judges.*.high.clusters", "clusters", RUN),
    ("judges.*.judgments", "excluded", RUN),
    ("judges.*.replies", "cost", RUN),
    ("judges.*.record", "", ""),
    ("comparison.*", "comparison", RUN),
    ("comparison.*.difference_general.clusters", "", ""),
    ("comparison.*.difference_general.ci_as_best", "difference_intervals", RUN),
    ("comparison.*.agreement", "replacement", RUN),
    ("comparison.*.agreement_with_majority", "replacement", RUN),
    ("comparison.*.certainty", "certainty_by_item", RUN),
    ("comparison.*.certainty.high_sets", "high_sets", RUN),
)


# What the record of a run says in words of its own.
_SAID = {"study", "judge", "backend", "setting", "features", "orders", "samples", "seed", "prompts"}


def run_facts(report: Report, index: int) -> Iterator[tuple[str, str, str]]:
    """What the methods tell of a run: what it is, in words, and its path where it is a number."""
    judge, path = report["judges"][index], f"judges.{index}"
    record = judge["record"]
    yield "Backend", record["backend"], ""
    yield "Model as reported", ", ".join(record["snapshots"]) or "not reported", ""
    yield "Setting, features", f"{judge['setting']}, {judge['features']}", ""
    yield "Orders", record["orders"], ""
    for key in ("samples", "seed"):
        yield key.capitalize(), str(record[key]), f"{path}.record.{key}"
    own = {key: value for key, value in record["parameters"].items() if key not in _SAID}
    for name, value, where in flat(own, f"{path}.record.parameters"):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        yield name, str(value), where if is_number else ""
    for sentence in record["conditions"]:
        yield "Conditions", sentence, ""
    yield "State", f"{record['state']}: {record['state_reason']}", ""
    for state, n in judge["judgments"].items():
        yield f"Judgments: {state}", f"{n:,}", f"{path}.judgments.{state}"
    for replies, n in judge["replies"].items():
        yield f"Readable after replies: {replies}", f"{n:,}", f"{path}.replies.{replies}"


def flat(values: Mapping[str, Any], path: str, prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Name, value and path of what may be nested, without what is empty."""
    for key, value in values.items():
        name, where = f"{prefix}{key.replace('_', ' ')}", f"{path}.{key}"
        if isinstance(value, Mapping):
            yield from flat(value, where, f"{name}: ")
        elif isinstance(value, list):
            if value:
                yield name, ", ".join(map(str, value)), where
        elif value not in (None, ""):
            yield name, value, where


def paths(report: Report) -> list[str]:
    """The place of every number that the headlines and the methods tell, each once."""
    found = [
        number["path"]
        for part in ("headline", "certainty_headline")
        for numbers in places(report[part])
        for number in numbers
    ]
    for beginning in TOLD:
        found += _below(at(report, beginning), beginning)
    if report["registration"]["plan"]:
        found += [f"registration.plan.{key}" for key in PLAN]
    for index in range(len(report["registration"]["departures"])):
        found += [f"registration.departures.{index}.{key}" for key in ("planned", "done")]
    for index in range(len(report["judges"])):
        found += [path for _, _, path in run_facts(report, index) if path]
    return list(dict.fromkeys(found))


def _below(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _below(inner, f"{path}.{key}")
    else:
        yield path


def numbers(report: Report) -> Table:
    """One row per number: what it is, its value, its path, and the table that shows it too."""
    names = run_names(report)
    rows: list[list[Any]] = []
    for path in paths(report):
        value = at(report, path)
        text = compact(value) if isinstance(value, list) else value
        rows.append([_words(path, names), text, path, *_table(path, names)])
    for name, constant in CONSTANTS.items():
        told = [name.replace("_", " "), constant, f"constant.{name}", "", "fixed by the program"]
        rows.append(told)
    columns = (
        Column("Number"),
        Column("Value", "exact"),
        Column("Place in report.json"),
        Column("Table"),
        Column("Row"),
    )
    return Table(
        "methods",
        "Where each number of the headlines and the methods comes from",
        columns,
        rows,
        "Place: the path of keys, places in a list counted from 0. Table: the file of that name in "
        "tables/, with the button CSV here. What is in no table is a parameter of the report or of "
        "a run; constants are explained in docs/methods.md.",
    )


def _words(path: str, names: list[str]) -> str:
    """The path as words, with the name of the run in place of its number."""
    first, *keys = path.split(".")
    if first in {"judges", "comparison"}:
        first = names[int(keys.pop(0))]
    rest = " ".join(keys).replace("_", " ")
    return f"{first}: {rest}" if rest else first


def _table(path: str, names: list[str]) -> tuple[str, str]:
    """The name of the table that shows the number at `path`, and the heading of its row."""
    keys = path.split(".")
    pattern = [keys[0], "*", *keys[2:]] if keys[0] in {"judges", "comparison"} else keys
    best, table, row = 0, "", ""
    for beginning, name, heading in TABLES:
        parts = beginning.split(".")
        if len(parts) > best and pattern[: len(parts)] == parts:
            best, table, row = len(parts), name, heading
    return table, names[int(keys[1])] if row == RUN else row
