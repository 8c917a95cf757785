"""Who and what is hard: accuracy by topic and by what the personas are like."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from analysis.facts import Dataset
from analysis.report.encode import Json, cell
from analysis.report.verdicts import Verdicts
from analysis.stats.proportions import wilson_proportion

# A feature with more values than this (a name, a year of birth) sorts people into groups of one.
MAX_VALUES = 30
# A feature that fewer of the items' personas have says who was asked, not who is hard.
MIN_SHARE = 0.8


def group_tables(data: Dataset, people: Verdicts, judges: Sequence[Verdicts]) -> list[Json]:
    """Accuracy of the majority and of every run, by topic and by each persona feature."""
    tables = []
    topics = [item.topic for item in data.items]
    if any(topics):
        tables.append(_table("topic", "Topic", topics, people, judges))
    labels = dict.fromkeys(label for pairs in data.personas.values() for label, _ in pairs)
    for label in labels:
        value_of = {key: dict(pairs).get(label, "") for key, pairs in data.personas.items()}
        values = [value_of[item.persona] for item in data.items]
        said = sum(map(bool, values))
        if 1 < len(set(values)) <= MAX_VALUES and said >= MIN_SHARE * len(values):
            tables.append(_table("feature", label, values, people, judges))
    return tables


def _table(
    kind: str, label: str, values: Sequence[str], people: Verdicts, judges: Sequence[Verdicts]
) -> Json:
    members: dict[str, list[int]] = defaultdict(list)
    for index, value in enumerate(values):
        members[value].append(index)
    rows = []
    for value in sorted(members):
        items = np.array(members[value])
        rows.append(
            {
                "value": value,
                "items": int(items.size),
                "people": _cell(people, items),
                "judges": [_cell(verdicts, items) for verdicts in judges],
            }
        )
    return {"by": kind, "label": label, "rows": rows}


def _cell(verdicts: Verdicts, items: npt.NDArray[np.int64]) -> Json:
    correct = verdicts.correct[items]
    return cell(wilson_proportion(correct[correct >= 0] == 1))
