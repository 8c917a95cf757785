"""What packs have of a study: for deleting it, and for somebody who took their consent back."""

from collections.abc import Collection

from django.db import transaction

from extras.packs.jobs import folder_of
from extras.packs.models import PackJob
from studies.models import Study
from studies.services.whole_studies.removal import StudyContent


def content_of(study: Study) -> StudyContent:
    jobs = PackJob.objects.filter(run__study=study)
    obstacles = []
    if jobs.filter(state__in=PackJob.OPEN).exists():
        obstacles.append("A pack is being written or read. Wait until that has ended.")
    return StudyContent(obstacles=obstacles, folders=[folder_of(job) for job in jobs])


def delete_packs(study: Study, items: Collection[int]) -> None:
    """Delete the packs of a study that wait to be downloaded; what they asked can be packed again.

    Packs that somebody took elsewhere are theirs to delete.
    """
    for job in PackJob.objects.filter(run__study=study, kind=PackJob.Kind.WRITE):
        transaction.on_commit(folder_of(job).delete)
