"""Pool several waves of one study, for example a pilot and the main study."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Answers, Dataset, ItemData, Judgments, RunData
from analysis.data.dataset import load_dataset
from analysis.data.frozen_plan import FrozenPlan
from analysis.data.juries import sum_of_costs
from analysis.errors import BadParameters
from analysis.report.words import listed

# Waves that differ in one of these asked different questions, or read the answers in another way.
ALIKE = {
    "task": "the task",
    "question": "the question",
    "language": "the language",
    "allow_tie": "whether a tie can be chosen",
    "ask_certainty": "whether certainty is asked",
    "certainty_threshold": "the threshold of high certainty",
    "equivalence_margin": "the margin of equivalence",
    "persona_style": "how a persona is shown",
    "show_history": "whether earlier choices are shown",
}

K = TypeVar("K")
V = TypeVar("V")


def pool(waves: Sequence[Dataset]) -> Dataset:
    """Pool all answers and judgments into one data set; the first wave describes the study.

    Items of several waves with the same key must have the same text and truth. Annotators are named
    by wave. One who took part in several waves is one annotator with several names, and the first
    answer to an item counts. A judge's runs that were asked alike become one, and the first
    judgment of an item counts. The plan is the waves' common one, if they have the same. Raises
    `BadParameters` if the waves cannot be pooled.
    """
    first = waves[0].study
    for wave in waves[1:]:
        if differing := _differing(waves[0], wave):
            raise BadParameters(
                f"{first.slug} and {wave.study.slug} cannot be pooled: they differ in "
                f"{differing[0]}. Report them separately."
            )
    for wave in waves:
        if why := _not_pooled(wave):
            raise BadParameters(f"{wave.study.slug} cannot be pooled: {why}")
    items = _same((item.key, item) for wave in waves for item in wave.items)
    personas = _same(pair for wave in waves for pair in wave.personas.items())
    position = {key: index for index, key in enumerate(items)}
    people = _people(waves)
    answers, left_out = _once(_answers(waves, people, position))
    set_aside = _set_aside(waves, people, position, answers)
    slugs = [wave.study.slug for wave in waves]
    plan, no_plan = _plan(waves)
    titles = " + ".join(wave.study.title for wave in waves)
    return Dataset(
        study=replace(
            first,
            slug=_slug(waves),
            title=f"Pooled: {titles}",
            is_simulated=any(wave.study.is_simulated for wave in waves),
            source={
                **first.source,
                "pooled_from": slugs,
                "pooled_people": people.facts | {"repeated_answers": left_out},
            },
            item_languages=tuple(
                dict.fromkeys(name for wave in waves for name in wave.study.item_languages)
            ),
        ),
        items=tuple(items.values()),
        personas=personas,
        raters=tuple(people.names[: people.n_raters]),
        rater_groups=tuple(people.groups),
        answers=answers,
        attention=_attention(waves, people),
        flagged=_flagged(waves, people),
        people=_sums(wave.people for wave in waves),
        imported=frozenset(f"{wave.study.slug}/{name}" for wave in waves for name in wave.imported),
        promised=_sums(wave.promised for wave in waves),
        not_counted=_sums(wave.not_counted for wave in waves),
        exclusions=tuple(
            replace(exclusion, rater=f"{wave.study.slug}/{exclusion.rater}")
            for wave in waves
            for exclusion in wave.exclusions
        ),
        left_out=tuple(
            replace(left, item=f"{wave.study.slug}/{left.item}")
            for wave in waves
            for left in wave.left_out
        ),
        runs=_runs(waves, position),
        runs_left_out=sum(wave.runs_left_out for wave in waves),
        plan=plan,
        no_plan=no_plan,
        late_changes=tuple(dict.fromkeys(change for wave in waves for change in wave.late_changes)),
        departures=tuple(
            replace(departure, what=f"{departure.what} of {wave.study.slug}")
            for wave in waves
            for departure in wave.departures
        ),
        is_sealed=_is_sealed(waves, position),
        set_aside_raters=tuple(people.names[people.n_raters :]),
        set_aside=set_aside,
        unreviewed=next((wave.unreviewed for wave in waves if wave.unreviewed), ""),
    )


def _differing(one: Dataset, other: Dataset) -> list[str]:
    """What two studies asked otherwise, in words."""
    return [
        words
        for name, words in ALIKE.items()
        if getattr(one.study, name) != getattr(other.study, name)
    ]


def _not_pooled(wave: Dataset) -> str:
    return next((extra.not_pooled for extra in wave.extras.values() if extra.not_pooled), "")


@dataclass(frozen=True)
class PoolPlan:
    """Which studies are pooled with which, by their short names, and why others are not."""

    groups: list[list[str]]
    not_pooled: list[str]


def plan_pools(slugs: Sequence[str]) -> PoolPlan:
    """Group studies that asked the same question in the same way; each other one stays apart."""
    waves = [load_dataset(slug) for slug in slugs]
    groups: list[list[Dataset]] = []
    apart: list[str] = []
    for wave in waves:
        if why := _not_pooled(wave):
            apart.append(f"{wave.study.slug} is not pooled: {why}")
            continue
        for group in groups:
            if not _differing(group[0], wave):
                group.append(wave)
                break
        else:
            groups.append([wave])
    pairs: set[frozenset[str]] = set()
    for group in groups:
        if len(group) == 1 and (others := [g[0] for g in groups if g is not group]):
            wave = group[0]
            nearest = min(others, key=lambda other: len(_differing(wave, other)))
            pair = frozenset({wave.study.slug, nearest.study.slug})
            if pair not in pairs:
                pairs.add(pair)
                apart.append(
                    f"{wave.study.slug} is not pooled with {nearest.study.slug}: they differ in "
                    f"{listed(_differing(wave, nearest))}."
                )
    pooled = [[wave.study.slug for wave in group] for group in groups if len(group) > 1]
    return PoolPlan(pooled, apart)


@dataclass
class _People:
    """The annotators of all waves, each once:

    those who count, then the others. `places` has every annotator's position here by their number
    in each wave.
    """

    names: list[str]
    groups: list[Mapping[str, str]]
    places: list[list[int]]
    n_raters: int
    facts: dict[str, int]


def _people(waves: Sequence[Dataset]) -> _People:
    """Match annotators by the hash of their id; without one they cannot be matched."""
    names: list[list[str]] = []
    groups: list[Mapping[str, str]] = []
    places: list[list[int]] = [[] for _ in waves]
    known: dict[str, int] = {}
    unknown = 0
    for kind in ("raters", "set_aside_raters"):
        for wave, own in zip(waves, places, strict=True):
            for number, rater in enumerate(getattr(wave, kind)):
                identity = wave.identities.get(rater, "")
                unknown += not identity
                place = known.setdefault(identity, len(names)) if identity else len(names)
                if place == len(names):
                    names.append([])
                names[place].append(f"{wave.study.slug}/{rater}")
                own.append(place)
                if kind == "raters":
                    told = wave.rater_groups[number]
                    if place == len(groups):
                        groups.append(told)
                    else:
                        groups[place] = {**told, **groups[place]}
    several = sum(len(name) > 1 for name in names)
    return _People(
        names=[" + ".join(name) for name in names],
        groups=groups,
        places=places,
        n_raters=len(groups),
        facts={"in_several": several, "unknown": unknown},
    )


def _is_sealed(
    waves: Sequence[Dataset], position: Mapping[str, int]
) -> npt.NDArray[np.bool_] | None:
    """The items that any wave's plan sealed; None if these are all items."""
    if all(wave.is_sealed is None for wave in waves):
        return None
    sealed = np.zeros(len(position), dtype=np.bool_)
    for wave in waves:
        own = np.arange(len(wave.items))
        kept = own if wave.is_sealed is None else own[wave.is_sealed]
        sealed[_moved(wave, kept, position)] = True
    return None if sealed.all() else sealed


def _slug(waves: Sequence[Dataset]) -> str:
    return "-".join([*(wave.study.slug for wave in waves), "pooled"])


def _plan(waves: Sequence[Dataset]) -> tuple[FrozenPlan | None, str]:
    """The pooled plan: the plan that all waves share, frozen with the last of them.

    If the plans differ, the reason is returned instead, because a plan for one wave does not cover
    the others.
    """
    plans = [wave.plan for wave in waves if wave.plan is not None]
    without = [wave.study.slug for wave in waves if wave.plan is None]
    if not plans:
        return None, Dataset.no_plan
    if without:
        return (
            None,
            f"No analysis plan was frozen for {', '.join(without)}, which is part of this pool.",
        )
    first = plans[0].content
    # Sorted, because PostgreSQL and SQLite return the keys of a JSON object in different orders.
    keys = sorted({key for plan in plans for key in plan.content if key not in ("study", "sealed")})
    other = [key for key in keys if any(plan.content.get(key) != first.get(key) for plan in plans)]
    if other:
        return None, f"The analysis plans of the pooled studies differ in {', '.join(other)}."
    seals = {wave.study.slug: plan.seal for wave, plan in zip(waves, plans, strict=True)}
    content = {**first, "study": _slug(waves), "seals": seals}
    content.pop("sealed", None)
    whole = FrozenPlan(
        content=content,
        answers=sum(plan.answers for plan in plans),
        judgments=sum(plan.judgments for plan in plans),
        frozen_at=max(plan.frozen_at for plan in plans),
    )
    return replace(whole, seal=whole.sealed()), ""


def _same(pairs: Iterable[tuple[str, V]]) -> dict[str, V]:
    """Values by key, sorted by key. Raises `BadParameters` if a key has two values."""
    by_key: dict[str, V] = {}
    for key, value in pairs:
        if by_key.setdefault(key, value) != value:
            kind = "Item" if isinstance(value, ItemData) else "Persona"
            raise BadParameters(
                f"{kind} {key} differs between the studies, so they cannot be pooled. Use "
                "different keys for different content, or report the studies separately."
            )
    return dict(sorted(by_key.items()))


def _answers(waves: Sequence[Dataset], people: _People, position: Mapping[str, int]) -> Answers:
    """The answers of all waves, sorted by item and then by rater; raters are renumbered."""
    return _placed(waves, [wave.answers for wave in waves], people, position)


def _placed(
    waves: Sequence[Dataset],
    tables: Sequence[Answers],
    people: _People,
    position: Mapping[str, int],
) -> Answers:
    moved = [
        replace(
            table,
            item=_moved(wave, table.item, position),
            rater=np.array(places, dtype=np.int64)[table.rater],
        )
        for wave, table, places in zip(waves, tables, people.places, strict=True)
    ]
    in_order: Answers = _sorted(moved, "item", "rater")
    return in_order


def _once(table: Answers, before: Answers | None = None) -> tuple[Answers, int]:
    """The first answer of each annotator to each item, and the number of later ones.

    Answers to items that the annotator answered in `before` count as later.
    """
    earlier = table if before is None else before
    width = 1 + max((int(part.rater.max()) for part in (table, earlier) if len(part)), default=0)
    pairs = table.item * width + table.rater
    kept = np.zeros(len(table), dtype=np.bool_)
    kept[np.unique(pairs, return_index=True)[1]] = True
    if before is not None:
        kept &= ~np.isin(pairs, before.item * width + before.rater)
    columns = {name: column[kept] for name, column in vars(table).items()}
    return Answers(**columns), len(table) - int(kept.sum())


def _set_aside(
    waves: Sequence[Dataset], people: _People, position: Mapping[str, int], answers: Answers
) -> Answers | None:
    """The answers of excluded annotators, who are numbered after all others.

    A person excluded in only one wave is still one annotator here.
    """
    if all(wave.set_aside is None for wave in waves):
        return None
    none = _none_of(waves[0].answers)
    tables = [none if wave.set_aside is None else wave.set_aside for wave in waves]
    return _once(_placed(waves, tables, people, position), answers)[0]


def _none_of(table: Answers) -> Answers:
    return Answers(**{name: column[:0] for name, column in vars(table).items()})


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


def _attention(waves: Sequence[Dataset], people: _People) -> tuple[tuple[int, int], ...]:
    """Attention checks that each rater saw and failed; empty if no wave had any."""
    if not any(wave.attention for wave in waves):
        return ()
    counts = np.zeros((people.n_raters, 2), dtype=np.int64)
    for wave, places in zip(waves, people.places, strict=True):
        for place, pair in zip(places, wave.attention, strict=False):
            counts[place] += pair
    return tuple((int(seen), int(failed)) for seen, failed in counts)


def _flagged(waves: Sequence[Dataset], people: _People) -> tuple[bool, ...]:
    """Whether each rater has signs of a program in any wave; empty if nobody has."""
    flagged = np.zeros(people.n_raters, dtype=np.bool_)
    for wave, places in zip(waves, people.places, strict=True):
        for place, is_flagged in zip(places, wave.flagged, strict=False):
            flagged[place] |= is_flagged
    return tuple(flagged.tolist()) if flagged.any() else ()


def _sums(counts: Iterable[Mapping[K, int]]) -> dict[K, int]:
    total: Counter[K] = Counter()
    for count in counts:
        total.update(count)
    return dict(total)


def _runs(waves: Sequence[Dataset], position: Mapping[str, int]) -> tuple[RunData, ...]:
    alike: dict[tuple[Any, ...], list[tuple[Dataset, RunData]]] = {}
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


def _run(members: Sequence[tuple[Dataset, RunData]], position: Mapping[str, int]) -> RunData:
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
        sent=tuple(part for run in runs for part in run.sent),
        reported=tuple(part for run in runs for part in run.reported),
        conditions=tuple(dict.fromkeys(sentence for run in runs for sentence in run.conditions)),
    )
