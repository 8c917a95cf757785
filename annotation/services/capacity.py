"""Places of quota groups: those of a preset, and more of them while a study runs."""

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from annotation.errors import PlacesError
from annotation.models import QuotaGroup
from annotation.seats import flow
from annotation.seats.capacity import needed_places, shared_out
from annotation.seats.quotas import Quota, have_entered, set_quotas
from annotation.seats.ready_questions import ready_question
from studies.models import Study
from studies.services.presets import StudyPreset
from studies.services.settings import save_settings
from studies.services.studies import lock_study, record


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


def quota_in_step(study: Study) -> Callable[[], None]:
    """What to do after a change of seats: scale the quota groups if they had just enough places.

    Before the first items, those of a preset are enough for the planned items.

    Groups with other totals, and those that annotators have entered, stay as they are.
    """
    groups = list(study.quota_groups.all())
    before = needed_places(study) or planned_places(study)
    if not before or sum(group.target for group in groups) != before or have_entered(study):
        return lambda: None

    def follow() -> None:
        if (after := needed_places(study)) in (0, before):
            return
        targets = shared_out(after, [Fraction(group.target) for group in groups])
        plan = [Quota(n, group.criteria) for group, n in zip(groups, targets, strict=True)]
        set_quotas(study_id=study.pk, groups=plan)

    return follow


@transaction.atomic
def raise_places(
    *,
    study_id: int,
    version: int,
    annotations_per_item: int,
    targets: Mapping[int, int],
    user: User | None = None,
) -> None:
    """Open more seats at every item and more places in groups (group id → target), all or nothing.

    Nothing is ever lowered: annotators keep what they hold, and surplus answers take new seats.
    Raises `PlacesError`, also if the study has changed since `version`.
    """
    study = lock_study(study_id)
    if study.version != version:
        raise PlacesError("Someone else changed this study. Check the numbers, then try again.")
    if annotations_per_item < study.annotations_per_item:
        raise PlacesError(
            f"Answers per item is {annotations_per_item}. Each item already has "
            f"{study.annotations_per_item} seats, and seats cannot be removed. Enter "
            f"{study.annotations_per_item} or more."
        )
    groups = {group.pk: group for group in study.quota_groups.all()}
    for pk, target in targets.items():
        if pk not in groups:
            raise PlacesError("A quota group was deleted. Check the numbers, then try again.")
        if target < groups[pk].target:
            raise PlacesError(
                f"The quota of “{groups[pk]}” is {groups[pk].target} and cannot be lowered. Enter "
                f"{groups[pk].target} or more."
            )
    if annotations_per_item > study.annotations_per_item:
        before, study.annotations_per_item = study.annotations_per_item, annotations_per_item
        save_settings(study, changed=["annotations_per_item"], user=user)
        record(study, "seats added", user=user, before=before, after=annotations_per_item)
    for pk, target in targets.items():
        group = groups[pk]
        if target > group.target:
            QuotaGroup.objects.filter(pk=pk).update(target=target)
            record(
                study,
                "group's places",
                user=user,
                group=str(group),
                before=group.target,
                after=target,
            )
    # Existing work takes the new places before anyone else is paid for them.
    flow.use_surplus(study, among=Q(annotator__study=study))
