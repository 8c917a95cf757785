"""Related studies whose annotators a study excludes, because they know its material."""

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import Annotator, RelatedStudy
from studies.models import Study
from studies.services.studies import check_seen, lock_study, record, seen_of


def took_part_before(study: Study, hashes: Collection[str]) -> bool:
    """Whether the annotator with one of these hashes consented to a related study.

    The hash is the same in every study and remains when the platform's ids are deleted.
    """
    related = RelatedStudy.objects.filter(study=study).values("related")
    return Annotator.objects.filter(
        study__in=related, identity_hash__in=hashes, consented_at__isnull=False
    ).exists()


def seen_selection(study: Study) -> str:
    """The hash of the selection that a form shows."""
    return seen_of(sorted(study.related_studies.values_list("related", flat=True)))


@transaction.atomic
def set_related_studies(
    *,
    study_id: int,
    related_ids: Collection[int],
    seen: str | None = None,
    user: User | None = None,
) -> None:
    """Exclude annotators of these studies from now on; annotators who have entered stay.

    The study itself is skipped. Repeats change nothing. Raises `StaleVersion` if the selection is
    not the one whose `seen_selection` a form showed.
    """
    study = lock_study(study_id)
    check_seen(study, seen, seen_selection(study), what="the selection of related studies")
    wanted = set(related_ids) - {study_id}
    present = set(study.related_studies.values_list("related", flat=True))
    if wanted == present:
        return
    study.related_studies.exclude(related__in=wanted).delete()
    RelatedStudy.objects.bulk_create(
        RelatedStudy(study=study, related_id=pk) for pk in sorted(wanted - present)
    )
    slugs = Study.objects.filter(pk__in=wanted).order_by("slug").values_list("slug", flat=True)
    record(study, "related studies set", user=user, studies=list(slugs))
