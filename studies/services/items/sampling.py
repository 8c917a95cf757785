"""Samples of the items for annotators if judges run on more items than annotators can."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable

from django.db.models import F
from django.db.models.fields.json import KT
from django.db.models.functions import Greatest

from studies.models import Item, Study

_CHUNK = 500


def sample_by_topic(
    items: Iterable[tuple[str, str]], *, size: int, seed: int, keep: Collection[str] = ()
) -> set[str]:
    """Choose `size` of `items` (key, topic), in proportion to topics, the same for a seed.

    Shares are rounded by largest remainder. Keys in `keep` are chosen first, so that a sample
    only grows when items are appended; they count towards the share of their topic.
    """
    by_topic: dict[str, list[str]] = defaultdict(list)
    for key, topic in items:
        by_topic[topic].append(key)
    total = sum(map(len, by_topic.values()))
    size = min(size, total)
    kept = set(keep)
    exact = {topic: size * len(keys) / total for topic, keys in by_topic.items()}
    seats = {
        topic: max(int(share), len(kept.intersection(by_topic[topic])))
        for topic, share in exact.items()
    }
    by_remainder = sorted(exact, key=lambda topic: (int(exact[topic]) - exact[topic], topic))
    for topic in by_remainder * 2:
        if sum(seats.values()) < size and seats[topic] < len(by_topic[topic]):
            seats[topic] += 1

    chosen: set[str] = set()
    for topic, keys in by_topic.items():
        ranked = sorted(keys, key=lambda key: (key not in kept, _rank(seed, key)))
        chosen.update(ranked[: seats[topic]])
    return chosen


def seat_items(study: Study) -> int:
    """Open seats on the annotators' items and return the number of those items.

    The caller holds the study's lock. Sampled items stay sampled once the study is frozen or an
    annotator has a seat at them; before that the sample is drawn again. Items that were drawn by a
    judge's certainty stay drawn until the size of the sample changes, or other items come. Where
    annotators see whole sets, one item of each set stands for it and the others get no seats.
    """
    n = study.annotations_per_item
    own = Item.objects.filter(study=study)
    if study.draw:
        if _draw_holds(study):
            open_items = own.filter(seats_needed__gt=0)
            open_items.exclude(seats_needed=n).update(seats_needed=Greatest(n, F("seats_taken")))
            return open_items.count()
        own.update(draw_probability=None)
        study.draw = {}
        study.save(update_fields=["draw"])
    if study.human_sample is None and not study.shows_whole_sets:
        own.exclude(seats_needed=n).update(seats_needed=Greatest(n, F("seats_taken")))
        return own.count()
    items = list(own.order_by("key").values_list("key", "topic", "seats_needed", "seats_taken"))
    others = _shown_by_another(study) if study.shows_whole_sets else set()
    screens = [item for item in items if item[0] not in others]
    keep = {
        key
        for key, _, needed, taken in screens
        if taken or (study.frozen_at is not None and needed)
    }
    size = len(screens) if study.human_sample is None else study.human_sample
    chosen = sample_by_topic(
        [(key, topic) for key, topic, *_ in screens],
        size=max(size, len(keep)),
        seed=study.seed,
        keep=keep,
    )
    _set_seats(study, [k for k, _, needed, _ in items if k in chosen and needed != n], n)
    _set_seats(study, [k for k, _, needed, _ in items if k not in chosen and needed], 0)
    return len(chosen)


def _shown_by_another(study: Study) -> set[str]:
    """The keys of items whose set another item shows: the first by key, or one that has answers."""
    found = (
        Item.objects.filter(study=study)
        .exclude(option_set={})
        .values_list("key", "persona", KT("option_set__id"), "seats_taken")
    )
    shown: set[tuple[int, str]] = set()
    others = set()
    for key, persona, option_set, _ in sorted(found, key=lambda row: (not row[3], row[0])):
        if (persona, option_set) in shown:
            others.add(key)
        shown.add((persona, option_set))
    return others


def _draw_holds(study: Study) -> bool:
    """Whether the items are those that were drawn from, and their number is the one wanted.

    Items that come once annotators have begun are not drawn from; they get no annotators.
    """
    own = Item.objects.filter(study=study)
    if study.frozen_at is not None or own.filter(seats_taken__gt=0).exists():
        return True
    drawn_from = own.filter(draw_probability__isnull=False).count()
    is_same = drawn_from == own.count() == study.draw["items"]
    return is_same and study.human_sample == study.draw["size"]


def _set_seats(study: Study, keys: list[str], seats: int) -> None:
    for start in range(0, len(keys), _CHUNK):
        Item.objects.filter(study=study, key__in=keys[start : start + _CHUNK]).update(
            seats_needed=Greatest(seats, F("seats_taken"))
        )


def _rank(seed: int, key: str) -> bytes:
    return hashlib.sha256(f"{seed}:{key}".encode()).digest()
