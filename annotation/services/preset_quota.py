"""The quota groups of a study that was created from a preset."""

import itertools
import math
from fractions import Fraction

from annotation.seats.capacity import shared_out
from annotation.seats.quotas import Quota, set_quotas
from annotation.seats.ready_questions import ready_question
from studies.models import Study
from studies.services.presets import StudyPreset


def planned_places(study: Study) -> int:
    """How many people fill the planned items; 0 if their number is not set."""
    seats = (study.human_sample or 0) * study.annotations_per_item
    return math.ceil(seats / study.items_per_annotator)


def balance_groups(study: Study, preset: StudyPreset) -> None:
    """Give a new study the questions that the preset balances, and equal groups of their options.

    Options that the preset does not balance can be chosen, and have no places.
    """
    if not preset.balanced:
        return
    groups = [
        dict(zip(preset.balanced, options, strict=True))
        for options in itertools.product(*preset.balanced.values())
    ]
    places = shared_out(planned_places(study), [Fraction(1)] * len(groups))
    set_quotas(
        study_id=study.pk,
        questions=[ready_question(study, key) for key in preset.balanced],
        groups=[Quota(n, group) for n, group in zip(places, groups, strict=True)],
    )
