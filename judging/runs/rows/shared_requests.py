"""Pairs of a set of options that one request answers.

Of all judgments of a run about one set, in one order and for one sample, the first is asked. The
others wait for it (`Judgment.asked_with`), and their choices follow from its ranking.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from django.db.models import QuerySet

from judging.models import JudgeRun, Judgment
from judging.prompts.option_order import drawn_first, fingerprints
from studies.models import Item, Side

_PORTION = 500
_OTHER = {Side.R1.value: Side.R2.value, Side.R2.value: Side.R1.value}
Request = tuple[str, bool, int]


class _OptionPlace(NamedTuple):
    """The set of an item, as a hash of what is shown of it, and the response shown first."""

    fingerprint: str
    first: str


class OptionPlaces:
    """The places of items in their sets, for one run; an item without a set has none."""

    def __init__(self, run: JudgeRun, items: Iterable[int]) -> None:
        self._places: dict[int, _OptionPlace] = {}
        self._seed = run.seed
        self._is_both = run.orders == JudgeRun.Orders.BOTH
        ids = iter(items)
        while some := list(islice(ids, _PORTION)):
            self._read(Item.everything.filter(pk__in=some).exclude(option_set={}))

    def _read(self, items: QuerySet[Item]) -> None:
        found = list(items)
        prints = fingerprints(found)
        for item in found:
            self._places[item.pk] = _OptionPlace(prints[item.pk], drawn_first(item, self._seed))

    def sides(self, item: int) -> list[str]:
        """The response that is shown first in each order in which an item is asked."""
        if (place := self._places.get(item)) is None:
            return [Side.R1.value]  # it is skipped
        return [place.first, _OTHER[place.first]] if self._is_both else [place.first]

    def request(self, item: int, shown_first: str, sample: int) -> Request | None:
        """What is equal for all judgments that one request answers; None without a set."""
        place = self._places.get(item)
        return None if place is None else (place.fingerprint, shown_first == place.first, sample)


def share_requests(run: JudgeRun) -> None:
    """Let new judgments wait for the one that is asked about the same set; call it at creation."""
    rows = Judgment.objects.filter(run=run.pk, asked_with=None)
    rows = rows.exclude(state=Judgment.State.SKIPPED).order_by("pk")
    found = list(rows.values_list("pk", "item_id", "shown_first", "sample"))
    places = OptionPlaces(run, sorted({item for _, item, *_ in found}))
    first: dict[Request, int] = {}
    waiting = []
    for pk, item, shown_first, sample in found:
        request = places.request(item, shown_first, sample)
        if request is not None and first.setdefault(request, pk) != pk:
            waiting.append(Judgment(pk=pk, asked_with_id=first[request]))
    Judgment.objects.bulk_update(waiting, ["asked_with"], batch_size=_PORTION)


def count_requests(run: JudgeRun, rows: Sequence[tuple[int, str, int]]) -> int:
    """The number of requests that new judgments, by item, order and sample, would take."""
    there = Judgment.objects.filter(run=run.pk).exclude(state=Judgment.State.SKIPPED)
    stored = list(there.values_list("item_id", "shown_first", "sample")) if run.pk else []
    places = OptionPlaces(run, sorted({item for item, *_ in (*rows, *stored)}))
    known = {places.request(*row) for row in stored}
    return len({places.request(*row) for row in rows} - known)


def requests_in(run: JudgeRun, states: Collection[str]) -> int:
    """The number of judgments of a run in some states that are asked themselves."""
    return Judgment.objects.filter(run=run.pk, state__in=states, asked_with=None).count()
