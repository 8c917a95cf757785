"""The part of a study's data that a view keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Answers, Dataset, Judgments, RunData
from analysis.data.frozen_plan import Departure
from analysis.data.juries import ProbedRun
from analysis.data.views import View
from analysis.errors import BadParameters

if TYPE_CHECKING:
    from analysis.stats.core.aggregation import TiePolicy

Mask = npt.NDArray[np.bool_]


def narrowed(data: Dataset, view: View) -> Dataset:
    """The data that a view keeps. Raises `BadParameters` if it names what the study lacks."""
    _refuse_unknown("annotator", view.without_people, {*data.raters, *data.set_aside_raters})
    _refuse_unknown("item", view.without_items, {item.key for item in data.items})
    _refuse_unknown("run", view.without_runs, {run.run for run in data.runs})
    items = _kept_items(data, view)
    people = _kept_people(data, view)
    answers = _cut(data.answers, items, people[data.answers.rater])
    # Who has no answer left is not in the data, as in every report.
    people = np.isin(np.arange(len(data.raters)), answers.rater)
    aside, names = data.set_aside, list(data.set_aside_raters)
    if aside is not None:
        own = aside.rater - len(data.raters)
        kept = np.array([name not in view.without_people for name in names])
        aside = _cut(aside, items, kept[own])
        used = np.unique(aside.rater)
        names = [names[n - len(data.raters)] for n in used.tolist()]
        aside = replace(aside, rater=people.sum() + np.searchsorted(used, aside.rater))
    runs = tuple(_cut_run(run, items) for run in data.runs if run.run not in view.without_runs)
    changes = view.changes({run.run: f"{run.judge} ({run.setting})" for run in data.runs})
    return replace(
        data,
        items=tuple(item for item, kept in zip(data.items, items, strict=True) if kept),
        raters=_chosen(data.raters, people),
        rater_groups=_chosen(data.rater_groups, people),
        attention=_chosen(data.attention, people),
        flagged=_chosen(data.flagged, people),
        answers=replace(answers, rater=(np.cumsum(people) - 1)[answers.rater]),
        set_aside_raters=tuple(names),
        set_aside=aside if aside is not None and len(aside) else None,
        runs=runs,
        probes=tuple(_cut_probe(each, items) for each in data.probes),
        departures=(
            *data.departures,
            Departure("another view", "the whole data, read as planned", "; ".join(changes)),
        ),
        is_sealed=None,
        ties=cast("TiePolicy", view.ties),
    )


def _refuse_unknown(what: str, named: Sequence[str], known: set[str]) -> None:
    if unknown := [name for name in named if name not in known]:
        raise BadParameters(f"The report has no {what} “{unknown[0]}”. Take it from report.json.")


def _kept_items(data: Dataset, view: View) -> Mask:
    def is_kept(item: Any) -> bool:
        features = dict(data.personas.get(item.persona, ()))
        return (
            item.key not in view.without_items
            and (not view.topics or item.topic in view.topics)
            and all(features.get(key) == value for key, value in view.personas.items())
        )

    kept = np.array([is_kept(item) for item in data.items], dtype=np.bool_)
    if not kept.any():
        raise BadParameters("The view leaves no item. Check its topics and features.")
    return kept


def _kept_people(data: Dataset, view: View) -> Mask:
    kept = [
        name not in view.without_people
        and all(groups.get(key) == value for key, value in view.people.items())
        for name, groups in zip(data.raters, data.rater_groups, strict=True)
    ]
    if view.people and not any(kept):
        raise BadParameters("The view leaves no annotator. Check the answers about themselves.")
    return np.array(kept, dtype=np.bool_)


def _chosen(values: tuple[Any, ...], kept: Mask) -> tuple[Any, ...]:
    """The values of those who are kept; empty where nothing is known of anybody."""
    return tuple(value for value, stays in zip(values, kept, strict=False) if stays)


def _cut(rows: Answers, items: Mask, stays: Mask) -> Answers:
    """The answers to kept items that stay, with the positions of the items in the cut data."""
    chosen = items[rows.item] & stays
    columns = {name: column[chosen] for name, column in vars(rows).items()}
    return Answers(**{**columns, "item": (np.cumsum(items) - 1)[columns["item"]]})


def _cut_judgments(rows: Judgments, items: Mask) -> Judgments:
    chosen = items[rows.item]
    columns = {name: column[chosen] for name, column in vars(rows).items()}
    return Judgments(**{**columns, "item": (np.cumsum(items) - 1)[columns["item"]]})


def _cut_run(run: RunData, items: Mask) -> RunData:
    strictly = None if run.strictly is None else _cut_judgments(run.strictly, items)
    return replace(run, judgments=_cut_judgments(run.judgments, items), strictly=strictly)


def _cut_probe(probe: ProbedRun, items: Mask) -> ProbedRun:
    own = None if probe.own is None else replace(probe.own, side=probe.own.side[items])
    target = probe.target[items[probe.run.judgments.item]]
    return replace(probe, run=_cut_run(probe.run, items), target=target, own=own)
