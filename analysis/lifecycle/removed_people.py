"""Removes what exports and lists of items hold about people who no longer want to be shown."""

from collections.abc import Collection
from functools import partial

from django.db import transaction

from analysis.exports.delivery.storage import remove_files
from analysis.models import ComparedItem, Export
from studies.models.studies import Study
from studies.statements import clock

_GONE = "Deleted, because a person whose profile it held took back their consent. Export again."


def remove_files_and_rows(study: Study, items: Collection[int]) -> None:
    """Delete the files of exports of a study, and rows about items in its lists.

    Reports stay, as after any withdrawal, and are marked as superseded wherever they are shown.
    """
    ComparedItem.objects.filter(comparison__study=study, item__in=items).delete()
    exports = Export.objects.filter(study=study).exclude(state=Export.State.GONE)
    for public_id in list(exports.values_list("public_id", flat=True)):
        transaction.on_commit(partial(remove_files, public_id))
    exports.update(state=Export.State.GONE, message=_GONE, expires_at=clock.now())
