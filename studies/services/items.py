"""A study's items for annotators: hash, samples, draws, expected time, preview."""

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import F
from django.db.models.fields.json import KT
from django.db.models.functions import Collate, Greatest
from django.http import HttpRequest, HttpResponse

from studies.errors import FrozenStudy, StudyError
from studies.extra import Kind
from studies.models import Item, Study
from studies.personas import profile_for, profile_text
from studies.prompts import SETTINGS, wording_in
from studies.services.studies import lock_study, record
from studies.texts.languages import SOURCE, catalogue_file, language_of_texts
from studies.texts.normalisation import FAST_WORDS_PER_MINUTE, Effort, canonical, digest

# This catalogue is complete, so its msgids are the English texts of the annotators' pages.
_COMPLETE = "de"
_HASHED_AT_ONCE = 2_000


def study_content_hash(study: Study) -> str:
    """SHA-256 of items, instructions, consent, language and wording, but not numbers and pay.

    Criteria, the meaning of a tie and the display of sets and of Markdown count only if set, so
    that other studies keep their hashes.
    """
    words = [wording_in(study, study.task, setting).sha256 for setting in SETTINGS]
    # The hash of a list whose last part is the list of all items, without holding that in memory.
    before = canonical(
        [
            study.language,
            study.instructions,
            "\n".join(
                filter(None, [study.consent, study.researchers, study.storage, study.ethics])
            ),
            words,
            interface_version(study.language),
            *([study.criteria] if study.criteria else []),
            *(["either"] if study.offers_either else []),
            *(["whole sets"] if study.shows_whole_sets else []),
            *(["markdown"] if study.show_markdown else []),
            [],
        ]
    )
    hashed = hashlib.sha256(before.removesuffix("]]").encode())
    # Sorted by code point, so that a study has the same hash on every database.
    by_code_point = Collate("key", "C" if connection.vendor == "postgresql" else "BINARY")
    ordered = Item.everything.filter(study=study).order_by(by_code_point)
    items = ordered.values_list("key", "content_hash")
    for number, item in enumerate(items.iterator(chunk_size=_HASHED_AT_ONCE)):
        hashed.update(f"{',' if number else ''}{canonical(item)}".encode())
    hashed.update(b"]]")
    return hashed.hexdigest()


@cache
def interface_version(language: str) -> str:
    """SHA-256 of the texts of the annotators' pages in `language`; English if untranslated."""
    texts = language_of_texts(language)
    if texts != SOURCE:
        return digest(catalogue_file(texts).read_text("utf-8"))
    text = catalogue_file(_COMPLETE).read_text("utf-8")
    return digest(re.findall(r"^msgid.*", text, re.MULTILINE))


_KEYS_AT_ONCE = 500


def sample_by_topic(
    items: Iterable[tuple[str, str]], *, size: int, seed: int, keep: Collection[str] = ()
) -> set[str]:
    """Choose `size` of `items` (key, topic), in proportion to topics, the same for a seed.

    Shares are rounded by largest remainder. Keys in `keep` are chosen first and count towards the
    share of their topic, so a sample only grows when items are added.
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
        ranked = sorted(
            keys,
            key=lambda key: (key not in kept, hashlib.sha256(f"{seed}:{key}".encode()).digest()),
        )
        chosen.update(ranked[: seats[topic]])
    return chosen


# What depends on a study's seats: called before a change, its result afterwards.
FOLLOWERS: Kind[Callable[[Study], Callable[[], None]]] = Kind("events", "seats")


# The keys of items that somebody, or a model, has seen.
SEEN: Kind[Callable[[Study], Iterable[str]]] = Kind("holdings", "seen_items")


def shown_items(study: Study) -> set[str]:
    """The keys of the items that people were given, or that judges were asked about here."""
    return {key for find in SEEN for key in find(study)}


@contextmanager
def seats_changing(study: Study) -> Iterator[None]:
    """Let what depends on the seats of a locked study follow the change in the block."""
    afterwards = [follower(study) for follower in FOLLOWERS.of(study)]
    yield
    for follow in afterwards:
        follow()


def seat_items(study: Study) -> int:
    """Open seats on the annotators' items and return the number of those items.

    The caller holds the study's lock. Sampled items stay sampled once the study is frozen or an
    annotator has a seat there; before that the sample is drawn again. Items drawn by a judge's
    certainty stay drawn until the sample size changes or items are added. Where annotators see
    whole sets, only one item of each set gets seats. Items that are held back get none.
    """
    n = study.annotations_per_item
    own = Item.objects.filter(study=study, is_held_back=False)
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


@transaction.atomic
def show_partial_profiles(*, study_id: int, user: User | None = None) -> int:
    """Let annotators get the items that are held back, and return their number."""
    study = lock_study(study_id)
    with seats_changing(study):
        released = release_items(study, user=user)
        seat_items(study)
    return released


def release_items(study: Study, *, user: User | None) -> int:
    """Hold no item back any more; the caller holds the study's lock and opens the seats."""
    count = Item.everything.filter(study=study, is_held_back=True).update(is_held_back=False)
    if count:
        record(study, "partial profiles shown", user=user, items=count)
    return count


def _shown_by_another(study: Study) -> set[str]:
    """The keys of items whose set another item shows: the first by key, or one with answers."""
    rows = (
        Item.objects.filter(study=study)
        .exclude(option_set={})
        .values_list("key", "persona", KT("option_set__id"), "seats_taken")
    )
    texts: set[tuple[int, str]] = set()
    others = set()
    for key, persona, option_set, _ in sorted(rows, key=lambda row: (not row[3], row[0])):
        if (persona, option_set) in texts:
            others.add(key)
        texts.add((persona, option_set))
    return others


def _draw_holds(study: Study) -> bool:
    """Whether the drawn items still come from the same items, and are as many as wanted.

    Items added after annotators began were not in the draw and get no annotators.
    """
    own = Item.objects.filter(study=study)
    if study.frozen_at is not None or own.filter(seats_taken__gt=0).exists():
        return True
    drawn_from = own.filter(draw_probability__isnull=False).count()
    is_same = drawn_from == own.count() == study.draw["items"]
    return is_same and study.human_sample == study.draw["size"]


def _set_seats(study: Study, keys: list[str], seats: int) -> None:
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        Item.objects.filter(study=study, key__in=keys[start : start + _KEYS_AT_ONCE]).update(
            seats_needed=Greatest(seats, F("seats_taken"))
        )


@transaction.atomic
def store_draw(
    *,
    study_id: int,
    probabilities: Mapping[str, float],
    drawn: Collection[str],
    by: Mapping[str, Any],
    user: User | None = None,
) -> Study:
    """Give the `drawn` items to annotators and store the probability of every item, by key.

    `by` names the judge and the seed. Raises `FrozenStudy` if annotators already have items, and
    `StudyError` if annotators see whole sets.
    """
    study = lock_study(study_id)
    _refuse_begun(study)
    if study.shows_whole_sets:
        raise StudyError(
            f"Annotators of “{study.slug}” see whole sets of responses, and a judge's certainty is "
            "about a pair. Show sets in pairs, or let the items be drawn at random."
        )
    own = Item.objects.filter(study=study)
    if held_back := own.filter(is_held_back=True).count():
        raise StudyError(
            f"{held_back:,} items have only a part of a profile and are held back, but a draw is "
            "among all items. Agree to show them on the page of items first."
        )
    own.update(draw_probability=None, seats_needed=0)
    alike: dict[float, list[str]] = defaultdict(list)
    for key, probability in probabilities.items():
        alike[probability].append(key)
    for probability, keys in alike.items():
        for part in _parts(keys):
            own.filter(key__in=part).update(draw_probability=probability)
    for part in _parts(sorted(drawn)):
        own.filter(key__in=part).update(seats_needed=study.annotations_per_item)
    study.human_sample = len(drawn)
    study.draw = {**by, "items": len(probabilities), "size": len(drawn)}
    study.version += 1
    study.save(update_fields=["human_sample", "draw", "version"])
    record(study, "items drawn for annotators", user=user, **study.draw)
    return study


@transaction.atomic
def end_draw(*, study_id: int, user: User | None = None) -> Study:
    """Draw the same number of items again by topic, without a judge.

    Raises `FrozenStudy` if annotators already have items.
    """
    study = lock_study(study_id)
    if study.draw:
        _refuse_begun(study)
        Item.objects.filter(study=study).update(draw_probability=None)
        study.draw = {}
        study.version += 1
        study.save(update_fields=["draw", "version"])
        seat_items(study)
        record(study, "draw of items ended", user=user)
    return study


def has_begun(study: Study) -> bool:
    """Whether annotators already have items, so that the items cannot be drawn again."""
    taken = Item.objects.filter(study=study, seats_taken__gt=0)
    return study.frozen_at is not None or taken.exists()


def _refuse_begun(study: Study) -> None:
    if has_begun(study):
        raise FrozenStudy(
            f"Annotators already have items of “{study.slug}”, so the items cannot be drawn again. "
            "Copy the study and draw the items of the copy."
        )


def _parts(keys: list[str]) -> list[list[str]]:
    return [keys[start : start + _KEYS_AT_ONCE] for start in range(0, len(keys), _KEYS_AT_ONCE)]


# In a larger study, the items that annotators get next in their random order.
SAMPLED = 1_000
_FIELDS = (
    *(
        "language",
        "question",
        "context",
        "context_title",
        "media",
        "r1",
        "r2",
        "advice",
        "option_set",
    ),
    *("persona__features", "persona__text", "persona__history"),
)


@dataclass(frozen=True)
class ExpectedTime:
    """The time for the items of one annotator, without consent, instructions and other pages.

    `seconds` is the mean per item, `longest` the 95th percentile. `fast_minutes` is the time of
    somebody who reads faster than most people.
    """

    items: int
    per_annotator: int
    seconds: float
    longest: float
    minutes: float
    fast_minutes: float

    @property
    def words(self) -> str:
        """“The 30 items of an annotator take about 27 minutes to read and judge”."""
        items = "The item" if self.per_annotator == 1 else f"The {self.per_annotator:,} items"
        verb = "takes" if self.per_annotator == 1 else "take"
        return (
            f"{items} of an annotator {verb} about {self.whole_minutes:,} "
            f"minute{'' if self.whole_minutes == 1 else 's'} to read and judge"
        )

    @property
    def whole_minutes(self) -> int:
        """The expected minutes, rounded up: the shortest sufficient duration."""
        return math.ceil(self.minutes)

    def hourly(self, reward: int) -> float:
        """A reward per hour if only the items take time: an upper bound."""
        return reward * 60 / self.minutes


def expected_time(study: Study) -> ExpectedTime | None:
    """The expected time of an annotator; None if no item is for annotators.

    Reads at most `SAMPLED` items, in one query.
    """
    items = list(
        Item.objects.filter(study=study, seats_needed__gt=0)
        .select_related("persona")
        .only(*_FIELDS)
        .order_by("seats_taken", "shuffle_key")[:SAMPLED]
    )
    if not items:
        return None
    efforts = [_effort(study, item) for item in items]
    seconds = [effort.seconds() for effort in efforts]
    fast = [effort.seconds(FAST_WORDS_PER_MINUTE) for effort in efforts]
    per_annotator = min(study.items_per_annotator, len(items))
    return ExpectedTime(
        items=len(efforts),
        per_annotator=per_annotator,
        seconds=_mean(seconds),
        longest=sorted(seconds)[math.ceil(0.95 * len(seconds)) - 1],
        minutes=_mean(seconds) * per_annotator / 60,
        fast_minutes=_mean(fast) * per_annotator / 60,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _effort(study: Study, item: Item) -> Effort:
    item.study = study
    profile = (
        "" if study.asks_own_answers else profile_text(profile_for(item), style=study.persona_style)
    )
    whole = study.shows_whole_sets
    responses = item.options if whole else [item.r1, item.r2]
    return Effort.of(
        [
            profile,
            item.context_title,
            item.context,
            item.question,
            *(response.get("prompt") or "" for response in responses),
            *(response.get("text") or "" for response in responses),
            item.advice.get("text", ""),
        ],
        item.language or study.language,
        media=item.all_media if whole else item.shown_media,
        has_advice=item.has_advice,
    )


PREVIEWS: Kind[Callable[..., HttpResponse]] = Kind("parts", "item_preview")


def show_item(
    request: HttpRequest, *, study: Study, item: Item, number: int, total: int
) -> HttpResponse:
    """Show item `number` of `total`."""
    render = next(iter(PREVIEWS))
    page = render(request, study=study, item=item, number=number, total=total)
    return page
