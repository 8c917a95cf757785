"""Deletes packs on disk that may have the profile of somebody who took their consent back."""

from collections.abc import Collection

from django.db import transaction

from judging.models import PackJob
from extras.packs.jobs import folder_of
from studies.models import Study


def delete_packs(study: Study, items: Collection[int]) -> None:
    """Delete the packs of a study that wait to be downloaded; what they asked can be packed again.

    Packs that somebody took elsewhere are theirs to delete.
    """
    for job in PackJob.objects.filter(run__study=study, kind=PackJob.Kind.WRITE):
        transaction.on_commit(folder_of(job).delete)
