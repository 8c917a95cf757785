"""The source of every number in the sentences and the methods, one row for each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis.report.rules import FOLDS, LEVEL, MIN_COMPARED, SMALL, TOO_SMALL
from analysis.report.section import RUN, NumberSource, Report, Sentence
from analysis.report.sections.methods.runs import run_facts
from analysis.report.tables import Table, TableColumn, compact
from analysis.report.text.names import run_names
from analysis.report.text.sentences import at
from analysis.stats.core.clusters import MIN_BLOCKS
from analysis.stats.core.shared_variance import (
    ANNOTATORS_PER_ANSWER,
    FEW_CLUSTERS,
    FEWEST_ANNOTATORS,
)

# Fixed rules of the program; docs/methods.md gives the reasons.
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


# Beginnings of paths whose numbers the methods state in full, except those of runs and the plan.
STATED = (
    "inputs.items inputs.personas inputs.questions inputs.truth study.annotations_per_item "
    "study.items_per_annotator human.annotators human.answers human.people human.checks "
    "human.not_counted human.coverage human.majority.ties parameters.threshold parameters.margin "
    "parameters.bootstrap seed software"
).split()


PLAN = "frozen_at answers_by_then judgments_by_then threshold margin bootstrap seed".split()


def paths(report: Report, sentences: Iterable[Sentence]) -> list[str]:
    """The path of every number in the sentences and the methods, each once."""
    found = [number["path"] for sentence in sentences for number in sentence.text.numbers]
    for beginning in STATED:
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


def sources_table(
    report: Report, sentences: Iterable[Sentence], sources: Sequence[NumberSource]
) -> Table:
    """One row per number: name, value, path, and the table that also shows it."""
    names = run_names(report)
    rows: list[list[Any]] = []
    for path in paths(report, sentences):
        value = at(report, path)
        text = compact(value) if isinstance(value, list) else value
        rows.append([_words(path, names), text, path, *_table(path, names, sources)])
    for name, constant in CONSTANTS.items():
        row = [name.replace("_", " "), constant, f"constant.{name}", "", "fixed by the program"]
        rows.append(row)
    columns = (
        TableColumn("Number"),
        TableColumn("Value", "exact"),
        TableColumn("Place in report.json"),
        TableColumn("Table"),
        TableColumn("Row"),
    )
    return Table(
        "methods",
        "Where each number of the headlines and the methods comes from",
        columns,
        rows,
        "Place: the path of keys, places in a list counted from 0. Table: the file of that name in "
        "tables/, with the button CSV here. What is in no table is a parameter of the report or of "
        "a run; constants are explained in docs/methods.md.",
        is_record=True,
    )


def _words(path: str, names: list[str]) -> str:
    """The path as words, with the name of the run in place of its number."""
    first, *keys = path.split(".")
    if first in {"judges", "comparison"}:
        first = names[int(keys.pop(0))]
    rest = " ".join(keys).replace("_", " ")
    return f"{first}: {rest}" if rest else first


def _table(path: str, names: list[str], sources: Sequence[NumberSource]) -> tuple[str, str]:
    """The name of the table that shows the number at `path`, and the heading of its row."""
    keys = path.split(".")
    pattern = [keys[0], "*", *keys[2:]] if keys[0] in {"judges", "comparison"} else keys
    best, table, row = 0, "", ""
    for source in sources:
        parts = source.path.split(".")
        if len(parts) > best and pattern[: len(parts)] == parts:
            best, table, row = len(parts), source.table, source.row
    return table, names[int(keys[1])] if row == RUN else row
