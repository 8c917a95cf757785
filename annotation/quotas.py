"""Quota places. Every change happens under the lock of the Study row."""

from collections.abc import Mapping, Sequence

from django.db.models import F

from annotation.models import Annotator, QuotaCell


def matching_cell(cells: Sequence[QuotaCell], demographics: Mapping[str, str]) -> QuotaCell | None:
    """The first cell whose criteria all hold, otherwise the one for everyone else."""
    for cell in cells:
        if not cell.is_everyone_else and all(
            demographics.get(key) == value for key, value in cell.criteria.items()
        ):
            return cell
    return next((cell for cell in cells if cell.is_everyone_else), None)


def reserve(annotator: Annotator) -> bool:
    """Reserve a place in the annotator's cell; False when it is full or there is none for them.

    A study without cells has room for everybody.
    """
    cells = list(QuotaCell.objects.filter(study_id=annotator.study_id))
    if not cells:
        return True
    annotator.quota_cell = matching_cell(cells, annotator.demographics)
    taken = annotator.quota_cell is not None and QuotaCell.objects.filter(
        pk=annotator.quota_cell.pk, target__gt=F("reserved") + F("completed")
    ).update(reserved=F("reserved") + 1)
    annotator.quota = Annotator.Quota.RESERVED if taken else Annotator.Quota.NONE
    annotator.save(update_fields=["quota_cell", "quota"])
    return bool(taken)


def fill(annotator: Annotator) -> None:
    """Turn the place that the annotator reserved into a completed one."""
    if annotator.quota != Annotator.Quota.RESERVED:
        return
    QuotaCell.objects.filter(pk=annotator.quota_cell_id).update(
        reserved=F("reserved") - 1, completed=F("completed") + 1
    )
    annotator.quota = Annotator.Quota.COMPLETED
    annotator.save(update_fields=["quota"])


def release(annotator: Annotator) -> None:
    """Give back the place that the annotator holds, if any."""
    if annotator.quota == Annotator.Quota.NONE:
        return
    counter = annotator.quota  # The states are named like the counters.
    QuotaCell.objects.filter(pk=annotator.quota_cell_id).update(**{counter: F(counter) - 1})
    annotator.quota = Annotator.Quota.NONE
    annotator.save(update_fields=["quota"])
