"""Pools several waves of one study, for example a pilot and the main study."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Answers, Dataset, Item, Judgments, Run
from analysis.data.frozen_plan import FrozenPlan
from analysis.data.judges.juries import sum_of_costs
from analysis.errors import BadParameters

# Waves that differ in one of these asked different questions.
ALIKE = (
    "task",
    "question",
    "language",
    "allow_tie",
    "ask_certainty",
    "certainty_threshold",
    "equivalence_margin",
    "persona_style",
    "show_history",
)

K = TypeVar("K")
V = TypeVar("V")


def pool(waves: Sequence[Dataset]) -> Dataset:
    """One data set of all answers and judgments; the first wave describes the study.

    Items of several waves with the same key must have the same text and truth. Annotators are
    named by their wave. Runs of one judge that were asked alike become one; where an item
    was judged in several waves, the first one counts. The plan is that of every wave, if all have
    the same. Raises `BadParameters` if the waves cannot be pooled.
    """
    first = waves[0].study
    for wave in waves[1:]:
        for name in ALIKE:
            if getattr(wave.study, name) != getattr(first, name):
                raise BadParameters(
                    f"{first.slug} and {wave.study.slug} cannot be pooled: they differ in "
                    f"{name.replace('_', ' ')}. Report them separately."
                )
    for wave in waves:
        if wave.ranked_sets is not None:
            raise BadParameters(
                f"{wave.study.slug} cannot be pooled: its items are pairs of sets of 3 to 5 "
                "responses, and a pooled report would take the pairs of a set as unrelated. Report "
                "it separately."
            )
    items = _same((item.key, item) for wave in waves for item in wave.items)
    personas = _same(pair for wave in waves for pair in wave.personas.items())
    position = {key: index for index, key in enumerate(items)}
    raters = [f"{wave.study.slug}/{name}" for wave in waves for name in wave.raters]
    aside = [f"{wave.study.slug}/{name}" for wave in waves for name in wave.set_aside_raters]
    set_aside = [wave.set_aside for wave in waves if wave.set_aside is not None]
    slugs = [wave.study.slug for wave in waves]
    plan, no_plan = _plan(waves)
    titles = " + ".join(wave.study.title for wave in waves)
    return Dataset(
        study=replace(
            first,
            slug=_slug(waves),
            title=f"Pooled: {titles}",
            is_simulated=any(wave.study.is_simulated for wave in waves),
            source={**first.source, "pooled_from": slugs},
            item_languages=tuple(
                dict.fromkeys(name for wave in waves for name in wave.study.item_languages)
            ),
        ),
        items=tuple(items.values()),
        personas=personas,
        raters=tuple(raters),
        rater_groups=tuple(group for wave in waves for group in wave.rater_groups),
        answers=_answers(waves, [wave.answers for wave in waves], position),
        attention=_attention(waves),
        people=_sums(wave.people for wave in waves),
        promised=_sums(wave.promised for wave in waves),
        not_counted=_sums(wave.not_counted for wave in waves),
        runs=_runs(waves, position),
        runs_left_out=sum(wave.runs_left_out for wave in waves),
        plan=plan,
        no_plan=no_plan,
        late_changes=tuple(dict.fromkeys(change for wave in waves for change in wave.late_changes)),
        set_aside_raters=tuple(aside),
        set_aside=_set_aside(waves, position, len(raters)) if set_aside else None,
    )


def _slug(waves: Sequence[Dataset]) -> str:
    return "-".join([*(wave.study.slug for wave in waves), "pooled"])


def _plan(waves: Sequence[Dataset]) -> tuple[FrozenPlan | None, str]:
    """The pooled plan: the plan that all waves share, frozen with the last of them.

    If the plans differ, there is no pooled plan, and the reason is returned: a plan for one wave
    does not cover the others.
    """
    plans = [wave.plan for wave in waves if wave.plan is not None]
    without = [wave.study.slug for wave in waves if wave.plan is None]
    if not plans:
        return None, Dataset.no_plan
    if without:
        return None, f"No analysis plan was frozen for {', '.join(without)}, which is pooled here."
    first = plans[0].content
    # Sorted, because PostgreSQL and SQLite return the keys of a JSON object in different orders.
    keys = sorted({key for plan in plans for key in plan.content if key != "study"})
    other = [key for key in keys if any(plan.content.get(key) != first.get(key) for plan in plans)]
    if other:
        return None, f"The analysis plans of the pooled studies differ in {', '.join(other)}."
    seals = {wave.study.slug: plan.seal for wave, plan in zip(waves, plans, strict=True)}
    whole = FrozenPlan(
        content={**first, "study": _slug(waves), "seals": seals},
        answers=sum(plan.answers for plan in plans),
        judgments=sum(plan.judgments for plan in plans),
        frozen_at=max(plan.frozen_at for plan in plans),
    )
    return replace(whole, seal=whole.sealed()), ""


def _same(pairs: Iterable[tuple[str, V]]) -> dict[str, V]:
    """Values by key, sorted by key. Raises `BadParameters` if a key has two values."""
    found: dict[str, V] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            kind = "Item" if isinstance(value, Item) else "Persona"
            raise BadParameters(
                f"{kind} {key} is not the same in every study, so they cannot be pooled. "
                "Give different ones different keys, or report the studies separately."
            )
    return dict(sorted(found.items()))


def _answers(
    waves: Sequence[Dataset], tables: Sequence[Answers], position: Mapping[str, int]
) -> Answers:
    """The answers of all waves, sorted by item and then by rater; raters are renumbered."""
    before = np.cumsum([0, *(len(wave.raters) for wave in waves)])
    moved = [
        replace(table, item=_moved(wave, table.item, position), rater=table.rater + start)
        for wave, table, start in zip(waves, tables, before[:-1], strict=True)
    ]
    return _sorted(moved, "item", "rater")


def _set_aside(waves: Sequence[Dataset], position: Mapping[str, int], after: int) -> Answers:
    """The answers of excluded annotators, who are numbered after all others."""
    moved = []
    for wave in waves:
        if wave.set_aside is not None:
            rater = wave.set_aside.rater - len(wave.raters) + after
            item = _moved(wave, wave.set_aside.item, position)
            moved.append(replace(wave.set_aside, item=item, rater=rater))
        after += len(wave.set_aside_raters)
    return _sorted(moved, "item", "rater")


def _moved(
    wave: Dataset, item: npt.NDArray[np.int64], position: Mapping[str, int]
) -> npt.NDArray[np.int64]:
    """Convert positions in the items of one wave to positions in the items of all waves."""
    return np.array([position[item.key] for item in wave.items], dtype=np.int64)[item]


def _sorted(tables: Sequence[Any], *keys: str) -> Any:
    kind = type(tables[0])
    columns = {f.name: np.concatenate([getattr(t, f.name) for t in tables]) for f in fields(kind)}
    order = np.lexsort([columns[key] for key in reversed(keys)])
    return kind(**{name: column[order] for name, column in columns.items()})


def _attention(waves: Sequence[Dataset]) -> tuple[tuple[int, int], ...]:
    """Attention checks that each rater saw and failed; empty if no wave had any."""
    if not any(wave.attention for wave in waves):
        return ()
    none = (0, 0)
    return tuple(pair for wave in waves for pair in wave.attention or (none,) * len(wave.raters))


def _sums(counts: Iterable[Mapping[K, int]]) -> dict[K, int]:
    total: Counter[K] = Counter()
    for count in counts:
        total.update(count)
    return dict(total)


def _runs(waves: Sequence[Dataset], position: Mapping[str, int]) -> tuple[Run, ...]:
    alike: dict[tuple[Any, ...], list[tuple[Dataset, Run]]] = {}
    for wave in waves:
        for run in wave.runs:
            asked = (run.judge, run.setting, run.features != "all", run.features)
            key = (
                *asked,
                run.wording_sha256,
                run.framing,
                run.orders,
                run.samples,
                run.prompt.sha256,
            )
            alike.setdefault(key, []).append((wave, run))
    return tuple(
        _run(members, position) for _, members in sorted(alike.items(), key=lambda p: p[0])
    )


def _run(members: Sequence[tuple[Dataset, Run]], position: Mapping[str, int]) -> Run:
    runs = [run for _, run in members]
    judged = np.zeros(len(position), dtype=np.bool_)
    parts = []
    for wave, run in members:
        item = _moved(wave, run.judgments.item, position)
        new = ~judged[item]
        columns = {f.name: getattr(run.judgments, f.name)[new] for f in fields(Judgments)}
        parts.append(Judgments(**columns | {"item": item[new]}))
        judged[item] = True
    ended = all(run.state == "done" for run in runs)
    return replace(
        runs[0],
        run=sha256("|".join(run.run for run in runs).encode()).hexdigest(),
        snapshots=tuple(sorted({snapshot for run in runs for snapshot in run.snapshots})),
        state="done" if ended else "running",
        state_reason="; ".join(dict.fromkeys(run.state_reason for run in runs)),
        cost=sum_of_costs([run.cost for run in runs]),
        judgments=_sorted(parts, "item", "shown_first", "sample"),
        sent=tuple(each for run in runs for each in run.sent),
        reported=tuple(each for run in runs for each in run.reported),
        conditions=tuple(dict.fromkeys(sentence for run in runs for sentence in run.conditions)),
        anchors=runs[0].anchors if len(runs) == 1 else None,
    )
