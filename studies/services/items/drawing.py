"""Which items annotators get if they are drawn with a probability for each."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from studies.errors import FrozenStudy, StudyError
from studies.models import Item, Study
from studies.services.items.sampling import seat_items
from studies.services.studies import lock_study, record

_CHUNK = 500


@transaction.atomic
def store_draw(
    *,
    study_id: int,
    probabilities: Mapping[str, float],
    drawn: Collection[str],
    by: Mapping[str, Any],
    user: User | None = None,
) -> Study:
    """Open the `drawn` items to annotators and store the probability of every item, by key.

    `by` says which judge it was and with which seed. Raises `FrozenStudy` if annotators already
    have items, and `StudyError` if annotators see whole sets.
    """
    study = lock_study(study_id)
    _refuse_begun(study)
    if study.shows_whole_sets:
        raise StudyError(
            f"Annotators of “{study.slug}” see whole sets of responses, and a judge's certainty is "
            "about a pair. Show sets in pairs, or let the items be drawn at random."
        )
    own = Item.objects.filter(study=study)
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
    """Draw the same number of items again, topic by topic and without a judge.

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
    return [keys[start : start + _CHUNK] for start in range(0, len(keys), _CHUNK)]
