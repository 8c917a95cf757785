"""More answers for each item and more places for each group, while a study runs."""

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from annotation.errors import PlacesError
from annotation.models import QuotaCell
from annotation.seats import flow
from studies.services.settings import save_settings
from studies.services.studies import lock_study, record


@transaction.atomic
def raise_places(
    *,
    study_id: int,
    version: int,
    annotations_per_item: int,
    targets: Mapping[int, int],
    user: User | None = None,
) -> None:
    """Open more seats at every item and more places in groups (cell id → target); all or nothing.

    Nothing is ever lowered here: what people hold stays theirs, and surplus answers that are there
    already take what is opened. Raises `PlacesError`, also when
    somebody has changed the study since its `version` was read.
    """
    study = lock_study(study_id)
    if study.version != version:
        raise PlacesError("Somebody changed this study in the meantime. Look at the numbers again.")
    if annotations_per_item < study.annotations_per_item:
        raise PlacesError(
            f"Every item already gets {study.annotations_per_item} answers; "
            f"{annotations_per_item} would take seats away."
        )
    cells = {cell.pk: cell for cell in study.quota_cells.all()}
    for pk, target in targets.items():
        if pk not in cells:
            raise PlacesError("A group of this page is gone. Look at the numbers again.")
        if target < cells[pk].target:
            raise PlacesError(
                f"The group “{cells[pk]}” has {cells[pk].target} places; none is taken away here."
            )
    if annotations_per_item > study.annotations_per_item:
        before, study.annotations_per_item = study.annotations_per_item, annotations_per_item
        save_settings(study, changed=["annotations_per_item"], user=user)
        record(study, "seats added", user=user, before=before, after=annotations_per_item)
    for pk, target in targets.items():
        cell = cells[pk]
        if target > cell.target:
            QuotaCell.objects.filter(pk=pk).update(target=target)
            record(
                study, "group's places", user=user, group=str(cell), before=cell.target,
                after=target,
            )  # fmt: skip
    # What there is already takes the new places, before anybody is paid for them.
    flow.use_surplus(study, among=Q(annotator__study=study))
