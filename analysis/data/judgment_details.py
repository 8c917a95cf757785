"""What protocols kept of single judgments, for extras that analyse it."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from analysis.data.arrays import CODE, Dataset, RunData
from judging.models import Judgment
from studies.models import Item, Study


def details_of_runs(
    study: Study, data: Dataset, position: Mapping[int, int], keys: Collection[str]
) -> Iterator[tuple[RunData, int, Mapping[str, Any]]]:
    """The details with one of these keys: their run, their row in its judgments, and they."""
    judgments = Judgment.objects.filter(
        details__has_any_keys=[*keys],
        run__study=study,
        run__bias_probe="",
        item__split=Item.Split.MAIN,
    ).values_list("run__key", "item_id", "shown_first", "sample", "details")
    runs = {run.run: run for run in data.runs}
    rows: dict[str, dict[tuple[int, int, int], int]] = {}
    for key, item, first, sample, details in judgments.iterator():
        if key not in runs:
            continue
        if key not in rows:
            rows[key] = _rows(runs[key])
        row = rows[key].get((position[item], CODE[first], sample))
        if row is not None:
            yield runs[key], row, details or {}


def _rows(run: RunData) -> dict[tuple[int, int, int], int]:
    """The row of each item, order and sample."""
    judged = run.judgments
    keys = zip(
        judged.item.tolist(), judged.shown_first.tolist(), judged.sample.tolist(), strict=True
    )
    return {key: row for row, key in enumerate(keys)}
