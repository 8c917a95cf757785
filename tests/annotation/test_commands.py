"""The commands about time and identities."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.models import Annotator, Invitation, ProlificIdentity, QuotaGroup
from tests.factories import make_items, make_study, walk_in

pytestmark = pytest.mark.django_db


def test_release_expired_frees_one_study_or_all(capsys):
    studies = [make_study(items_per_annotator=1) for _ in range(2)]
    for study in studies:
        make_items(study, 1)
        walk_in(study)
    Annotator.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    call_command("release_expired", studies[0].slug)
    after_one = set(Annotator.objects.values_list("study", "state"))
    call_command("release_expired")

    assert after_one == {(studies[0].pk, "timed_out"), (studies[1].pk, "annotating")}
    assert set(Annotator.objects.values_list("state", flat=True)) == {"timed_out"}
    assert capsys.readouterr().out.startswith("Annotators whose time was over: 1.")


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
        "Annotators whose ids would be deleted: 1.",
        "Annotators whose ids were deleted: 1.",
        "No backup made here contains this study.",
    ]


PLAN = """
[[question]]
key = "gender"
label = "What is your gender?"
options = {woman = "Woman", man = "Man"}

[[group]]
target = 3
gender = "woman"

[[group]]
target = 2
gender = "man"

[everyone_else]
target = 1
"""


def test_quotas_are_read_from_a_file(tmp_path: Path, capsys):
    study = make_study()
    file = tmp_path / "quotas.toml"
    file.write_text(PLAN, encoding="utf-8")

    call_command("set_quotas", study.slug, str(file))
    call_command("set_quotas", study.slug, str(file))

    assert list(QuotaGroup.objects.values_list("criteria", "target", "is_everyone_else")) == [
        ({"gender": "woman"}, 3, False),
        ({"gender": "man"}, 2, False),
        ({}, 1, True),
    ]
    assert capsys.readouterr().out.splitlines() == ["Quota groups: 3, for 6 annotators."] * 2


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ("[[question", "is not TOML"),
        ("[[group]]\ntarget = 1\nage = 'old'", "no question has that key"),
        ("[[question]]\nkey = 'a'\nlabel = 'A'", "question 1 needs key, label and options"),
        (PLAN.replace("target = 2", "target = -2"), "group 2 needs a target"),
        (PLAN.replace("target = 2", "target = true"), "group 2 needs a target"),
        (PLAN.replace("[everyone_else]\ntarget = 1", "[everybody]\ntarget = 1"), "everybody"),
    ],
)
def test_a_broken_plan_is_refused_with_the_place_of_the_fault(tmp_path: Path, plan, message):
    study = make_study()
    file = tmp_path / "quotas.toml"
    file.write_text(plan, encoding="utf-8")

    with pytest.raises(CommandError, match=message):
        call_command("set_quotas", study.slug, str(file))

    assert QuotaGroup.objects.count() == 0
