"""The ranking of an arena from single answers: live from the database, and for the report."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Count, F, Q, Sum

from analysis.data.arrays import CODE, MISSING, Dataset, DesignData, Index
from analysis.data.extras import ExtraReader
from analysis.report.report_json import Json, put, put_estimate, why
from analysis.stats.core.results import Estimate
from analysis.stats.core.shared_variance import ANNOTATOR, SharedKind, Sharing
from analysis.stats.systems.strengths import system_strengths
from analysis.stats.systems.win_rates import Contests, win_rates
from annotation.models import Annotation
from extras.arena.models import Arena, ArenaAnswer, ArenaPair
from judging.models import NANO
from studies.models import Study


class CountedAnswer(NamedTuple):
    """An answer of a person to a pair; `first` and `second` are ids of systems."""

    first: int
    second: int
    choice: str
    item: int
    persona: int
    question: str
    annotator: int


def counted_answers(arena: Arena) -> Iterator[CountedAnswer]:
    """The answers that a report counts, in the order of their ids."""
    pair = "assignment__item__arena_pair__"
    rows = Annotation.objects.filter(
        **{f"{pair}arena": arena.pk},
        standing=Annotation.Standing.COUNTED,
        assignment__item__split="main",
        assignment__annotator__excluded_at=None,
    ).order_by("pk")
    about = ("item", "item__persona", "item__question", "annotator")
    fields = [f"{pair}first", f"{pair}second", "choice", *(f"assignment__{name}" for name in about)]
    return map(CountedAnswer._make, rows.values_list(*fields).iterator())


def ranked(
    names: Sequence[str],
    first: Index,
    second: Index,
    choice: Index,
    sharing: Sharing,
) -> list[Json]:
    """Contests, win rate, strength and places of the systems that met, the strongest first.

    `first` and `second` are positions in `names`, one row for each answer.
    """
    there = [code for code in range(len(names)) if ((first == code) | (second == code)).any()]
    if len(there) < 2:
        return []
    recoded = np.full(len(names) + 1, MISSING)
    recoded[there] = np.arange(len(there))
    contests = Contests(recoded[first], recoded[second], len(there))
    rates = win_rates(contests, choice, sharing)
    model = system_strengths(contests, choice, sharing)
    systems = []
    for code, rate, strength in zip(there, rates, model.strengths, strict=True):
        entry: Json = {"system": names[code], "n": rate.n, "wins": rate.wins, "ties": rate.ties}
        put_estimate(entry, "rate", rate.rate)
        put_estimate(entry, "strength", strength)
        for key, place in zip(("best", "worst"), _places(strength, model.strengths), strict=True):
            put(entry, key, place, why(strength))
        systems.append(entry)
    # Without strengths, win rates order the list, and nobody has a place.
    by = "rate" if any(entry["strength"] is None for entry in systems) else "strength"
    return sorted(systems, key=lambda entry: (-(entry[by] or 0.0), entry["system"]))


def _places(own: Estimate, others: Sequence[Estimate]) -> tuple[int | None, int | None]:
    """The best and the worst place that the intervals allow."""
    intervals = [other.interval for other in others]
    if own.interval is None or not all(intervals):
        return None, None
    above = sum(interval is not None and interval.low > own.interval.high for interval in intervals)
    below = sum(interval is not None and interval.high < own.interval.low for interval in intervals)
    return 1 + above, len(others) - below


def systems_of(arena: Arena) -> dict[int, str]:
    """Names by id, of every system that has a pair or can get one."""
    return dict(arena.systems.order_by("name").values_list("pk", "name"))


def live_ranking(arena: Arena) -> Json:
    """The ranking now, the number of pairs, and the money: what the page and the command show."""
    names = systems_of(arena)
    place = {pk: at for at, pk in enumerate(names)}
    rows = list(counted_answers(arena))
    n = len(rows)
    columns: Mapping[str, Sequence[Any]] = {
        "item": [row.item for row in rows],
        ANNOTATOR: [row.annotator for row in rows],
        "persona": [row.persona for row in rows],
        "question": [row.question for row in rows],
    }
    kinds = {
        name: SharedKind.of(np.arange(n), np.unique(codes, return_inverse=True)[1], n)
        for name, codes in columns.items()
    }
    first = np.array([place[row.first] for row in rows], dtype=np.int64)
    second = np.array([place[row.second] for row in rows], dtype=np.int64)
    choice = np.array([CODE[row.choice] for row in rows], dtype=np.int64)
    ranking = ranked([*names.values()], first, second, choice, Sharing.of(n, kinds))
    pairs = arena.pairs.aggregate(
        stored=Count("pk", filter=Q(state=ArenaPair.State.STORED)),
        open=Count("pk", filter=Q(state=ArenaPair.State.OPEN)),
        dropped=Count("pk", filter=Q(state=ArenaPair.State.DROPPED)),
    )
    costs = costs_of(arena)
    return {
        "live": arena.is_live,
        "why_stopped": arena.why_stopped,
        "budget": None if arena.budget is None else float(arena.budget),
        "spent": sum(cost["spent"] for cost in costs),
        "answers": n,
        "pairs": pairs,
        "ranking": ranking,
        "met": met_of(arena, names),
        "systems": costs,
    }


def costs_of(arena: Arena) -> list[Json]:
    """What each system wrote and cost."""
    failed = Q(answers__state=ArenaAnswer.State.FAILED, answers__requests__gt=0)
    rows = arena.systems.order_by("name").annotate(
        written=Count("answers", filter=Q(answers__state=ArenaAnswer.State.WRITTEN)),
        failed=Count("answers", filter=failed),
        nano=Sum(F("answers__spent_nano") + F("answers__held_nano"), default=0),
    )
    return [
        {
            "system": row.name,
            "written": row.written,
            "failed": row.failed,
            "spent": row.nano / NANO,
            "problem": row.problem,
            "is_out": row.is_out,
        }
        for row in rows
    ]


def met_of(arena: Arena, names: Mapping[int, str]) -> list[Json]:
    """How many stored pairs two systems have, the names in their order."""
    stored = arena.pairs.filter(state=ArenaPair.State.STORED)
    counts: dict[tuple[str, str], int] = {}
    for first, second in stored.values_list("first", "second"):
        one, two = sorted((names[first], names[second]))
        counts[one, two] = counts.get((one, two), 0) + 1
    return [{"first": one, "second": two, "pairs": n} for (one, two), n in sorted(counts.items())]


@dataclass(frozen=True, eq=False)
class ArenaPairs(DesignData):
    """The systems of each item of an arena, and what it cost.

    Attributes
    ----------
    names : tuple of str
    first, second : ndarray of int, shape (items,)
        Positions in `names`; -1 in both for an item that is no pair of the arena.
    dropped : int
        Pairs without two usable responses.
    costs : tuple of dict
    """

    names: tuple[str, ...]
    first: Index
    second: Index
    dropped: int
    costs: tuple[Json, ...]

    @property
    def digest(self) -> str:
        """A digest of the contents."""
        digest = hashlib.sha256(repr((self.names, self.dropped, self.costs)).encode())
        for codes in (self.first, self.second):
            digest.update(codes.astype("<i8").tobytes())
        return digest.hexdigest()


def read_arena(study: Study, data: Dataset, position: Mapping[int, int]) -> ArenaPairs | None:
    """The pairs of a study's arena; None without any."""
    arena = Arena.objects.filter(study=study.pk).first()
    if arena is None:
        return None
    names = systems_of(arena)
    place = {pk: at for at, pk in enumerate(names)}
    codes = np.full((2, len(position)), MISSING, dtype=np.int64)
    stored = arena.pairs.filter(state=ArenaPair.State.STORED, item__in=position)
    for item, first, second in stored.values_list("item", "first", "second"):
        codes[:, position[item]] = place[first], place[second]
    if (codes < 0).all():
        return None
    dropped = arena.pairs.filter(state=ArenaPair.State.DROPPED).count()
    costs = tuple(
        {key: row[key] for key in ("system", "written", "failed", "spent")}
        for row in costs_of(arena)
    )
    return ArenaPairs(tuple(names.values()), codes[0], codes[1], dropped, costs)


READER = ExtraReader("arena", read_arena)
