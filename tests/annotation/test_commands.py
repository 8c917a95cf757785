"""The commands about time and identities."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation.models import Annotator, Invitation, ProlificIdentity
from tests.factories import make_items, make_study, walk_in

pytestmark = pytest.mark.django_db


def test_release_expired_frees_one_study_or_all(capsys):
    studies = [make_study(items_per_annotator=1) for _ in range(2)]
    for study in studies:
        make_items(study, 1)
        walk_in(study)
    Annotator.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    call_command("release_expired", "--study", studies[0].slug)
    after_one = set(Annotator.objects.values_list("study", "state"))
    call_command("release_expired")

    assert after_one == {(studies[0].pk, "timed_out"), (studies[1].pk, "annotating")}
    assert set(Annotator.objects.values_list("state", flat=True)) == {"timed_out"}
    assert capsys.readouterr().out.startswith("1 people had run out of time")


def test_purging_deletes_every_platform_id_and_a_dry_run_deletes_none(capsys):
    study = make_study(items_per_annotator=1)
    make_items(study, 1)
    walk_in(study, "somebody")
    Invitation.objects.create(study=study, key="somebody")

    call_command("purge_identities", study.slug, "--dry-run")
    after_dry_run = ProlificIdentity.objects.count()
    call_command("purge_identities", study.slug)

    assert after_dry_run == 1
    assert ProlificIdentity.objects.count() == Invitation.objects.count() == 0
    assert capsys.readouterr().out.splitlines() == [
        "The ids of 1 people would be deleted.",
        "The ids of 1 people are deleted.",
    ]
