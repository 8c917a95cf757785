"""Retention: what an owner decided is deleted by itself, warned of before and recorded after."""

import datetime as dt
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.models import Annotation, ProlificIdentity, ProlificStudy
from config.operations import tasks
from studies.models import Backup, Membership, Retention, Study, StudyLog
from studies.services.studies import set_state
from studies.services.whole_studies import WARNED_DAYS
from tests.factories import answer_all, make_items, make_study, sign_in, walk_in

pytestmark = pytest.mark.django_db


def today():
    return timezone.now().date()


@pytest.fixture
def study():
    """A study that was closed ten days ago."""
    study = make_study(slug="s", items_per_annotator=2)
    make_items(study, 2)
    answer_all(walk_in(study))
    set_state(study_id=study.pk, state="closed")
    StudyLog.objects.update(created_at=timezone.now() - dt.timedelta(days=10))
    study.refresh_from_db()
    return study


def keep(study, **chosen):
    return Retention.objects.create(study=study, **chosen)


def make_backup(days_ago):
    taken = timezone.now() - dt.timedelta(days=days_ago)
    return Backup.objects.create(
        file=f"/backups/{days_ago}.zip", sha256=f"{days_ago:064}", size=1, taken_at=taken
    )


def test_ids_are_deleted_days_after_closing_and_answers_stay(study):
    keep(study, identities_days=11)
    tasks.carry_out_retention()
    assert ProlificIdentity.objects.count() == 1

    Retention.objects.update(identities_days=10)
    tasks.carry_out_retention()
    tasks.carry_out_retention()

    assert ProlificIdentity.objects.count() == 0
    assert Annotation.objects.count() == 2
    assert StudyLog.objects.filter(event="retention carried out").count() == 1


def test_ids_of_a_study_that_is_open_again_are_kept(study):
    keep(study, identities_days=1)
    set_state(study_id=study.pk, state="open")

    tasks.carry_out_retention()

    assert ProlificIdentity.objects.count() == 1


def test_ids_needed_for_payment_are_kept(study):
    keep(study, identities_days=1)
    ProlificStudy.objects.create(study=study, status="AWAITING REVIEW")

    tasks.carry_out_retention()

    assert ProlificIdentity.objects.count() == 1
    assert "Approve and pay them first" in Retention.objects.get().obstacle


def test_a_closed_study_is_deleted_on_its_day_with_everything(study, caplog):
    keep(study, delete_on=today() + dt.timedelta(days=1))
    tasks.carry_out_retention()
    assert Study.objects.exists()

    Retention.objects.update(delete_on=today())
    tasks.carry_out_retention()

    assert not Study.objects.exists()
    assert not Annotation.objects.exists()
    assert any("was deleted on its date" in line for line in caplog.messages)


def test_an_open_study_is_not_deleted_and_its_overview_says_why(study):
    set_state(study_id=study.pk, state="open")
    keep(study, delete_on=today())
    client = sign_in(study)

    tasks.carry_out_retention()

    assert Study.objects.exists()
    page = client.get("/studies/s/").content.decode()
    assert "will be deleted" in page
    assert "Close it, then it will be deleted." in page


@pytest.mark.parametrize(("days", "is_warned"), [(WARNED_DAYS, True), (WARNED_DAYS + 1, False)])
def test_the_overview_warns_two_weeks_before(study, days, is_warned):
    keep(study, delete_on=today() + dt.timedelta(days=days))

    page = sign_in(study, "viewer").get("/studies/s/").content.decode()

    assert ("will be deleted" in page) is is_warned


def test_an_owner_sets_the_dates_and_the_log_has_them(study):
    client = sign_in(study, "owner")
    on = today() + dt.timedelta(days=400)

    response = client.post(
        "/studies/s/whole/",
        {"action": "retention", "identities_days": "30", "delete_on": on.isoformat()},
    )

    assert response.status_code == 302
    stored = Retention.objects.get()
    assert (stored.identities_days, stored.delete_on) == (30, on)
    entry = StudyLog.objects.get(event="retention set")
    assert entry.detail == {"identities_days": 30, "delete_on": on.isoformat()}
    page = client.get("/studies/s/whole/").content.decode()
    assert f'value="{on.isoformat()}"' in page
    assert "the study with everything in it." in page


def test_both_dates_can_be_removed(study):
    keep(study, identities_days=3, delete_on=today() + dt.timedelta(days=3))

    sign_in(study, "owner").post(
        "/studies/s/whole/",
        {
            "action": "retention",
        },
    )
    tasks.carry_out_retention()

    assert ProlificIdentity.objects.count() == 1
    assert (Retention.objects.get().identities_days, Retention.objects.get().delete_on) == (
        None,
        None,
    )


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"identities_days": "0"}, "greater than or equal to 1"),
        ({"delete_on": "2020-01-01"}, "not in the future"),
        ({"delete_on": "tomorrow"}, "Enter a valid date"),
    ],
)
def test_impossible_input_is_refused(study, sent, words):
    response = sign_in(study, "owner").post("/studies/s/whole/", {"action": "retention"} | sent)

    assert response.status_code == 422
    assert words in response.content.decode()
    assert not Retention.objects.exists()


def test_purge_says_which_backups_may_hold_the_study(study, monkeypatch):
    Study.objects.update(created_at=timezone.now() - dt.timedelta(days=20))
    make_backup(30)
    monkeypatch.setattr("builtins.input", lambda _: "s")
    with pytest.raises(CommandError, match="Archive it first"):
        call_command("purge", "s", stdout=StringIO())
    assert Membership.objects.count() == 0
    Study.objects.update(archived_at=timezone.now())
    out = StringIO()
    call_command("purge", "s", dry_run=True, stdout=out)
    assert "No backup made here contains this study." in out.getvalue()
    make_backup(10)
    make_backup(5)

    out = StringIO()
    call_command("purge", "s", stdout=out)

    newest = (timezone.now() - dt.timedelta(days=5)).date()
    assert "2 backups were made here since this study was created" in out.getvalue()
    assert f"{newest}" in out.getvalue()
    assert not Study.objects.exists()


def test_purge_asks_for_the_name(study, monkeypatch):
    Study.objects.update(archived_at=timezone.now())
    monkeypatch.setattr("builtins.input", lambda _: "yes")

    with pytest.raises(CommandError, match="Nothing was deleted"):
        call_command("purge", "s", stdout=StringIO())

    assert Study.objects.exists()


def test_purge_identities_names_backups_too(study):
    Study.objects.update(created_at=timezone.now() - dt.timedelta(days=20))
    make_backup(10)
    out = StringIO()

    call_command("purge_identities", "s", stdout=out)

    assert "1 backup was made here" in out.getvalue()
