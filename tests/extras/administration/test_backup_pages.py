"""Backups that an administrator makes and restores on the Server page."""

import pytest
from django.contrib.auth.models import User

from extras.administration.backup_jobs import carry_out_job
from extras.administration.models import BackupJob
from studies.models import Backup, Study
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/administration/server/"


@pytest.fixture
def administrator(client, settings, tmp_path):
    settings.VAR_DIR, settings.BACKUP_DIR = tmp_path, tmp_path / "backups"
    user = User.objects.create_superuser("root", password="seven quiet herons")
    client.force_login(user)
    return user


def made(client):
    client.post(f"{PAGE}backups/")
    carry_out_job(BackupJob.objects.get(state="queued").pk)
    return Backup.objects.get()


def restore(client, backup, **sent):
    filled = {"word": "replace", "password": "seven quiet herons", **sent}
    return client.post(f"{PAGE}backups/{backup.pk}/restore/", filled)


def test_two_presses_make_one_backup_which_is_downloaded_and_deleted(client, administrator):
    client.post(f"{PAGE}backups/")
    assert client.get(f"{PAGE}?progress").json()["open"]
    backup = made(client)

    assert BackupJob.objects.get().state == "done"
    assert "files were written" in client.get(PAGE).content.decode()
    assert client.get(f"{PAGE}backups/{backup.pk}/").getvalue()[:2] == b"PK"
    client.post(PAGE, {"action": "delete_backup", "backup": backup.pk})
    assert client.get(f"{PAGE}backups/{backup.pk}/").status_code == 404
    assert Backup.objects.exists()


def test_a_restore_brings_back_everything_and_signs_everybody_out(client, administrator):
    study = make_study(title="Before", state=Study.State.PAUSED)
    backup = made(client)
    Study.objects.filter(pk=study.pk).update(title="After")
    make_study(state=Study.State.PAUSED)

    assert restore(client, backup).status_code == 302
    carry_out_job(BackupJob.objects.get(action="restore").pk)

    assert [found.title for found in Study.objects.all()] == ["Before"]
    assert client.get(PAGE).status_code == 302
    client.force_login(User.objects.get())
    page = client.get(PAGE).content.decode()
    assert "The installation is as it was at" in page
    assert "by root" in page


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("sent", [{"word": "yes"}, {"password": "wrong"}, {"password": ""}])
def test_a_restore_needs_the_word_and_the_password(client, administrator, sent):
    backup = made(client)

    assert restore(client, backup, **sent).status_code == 422
    assert not BackupJob.objects.filter(action="restore").exists()


def test_nothing_is_replaced_while_people_may_answer(client, administrator):
    backup = made(client)
    study = make_study(title="Running now", state=Study.State.PAUSED)
    restore(client, backup)
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)

    carry_out_job(BackupJob.objects.get(action="restore").pk)

    job = BackupJob.objects.get(action="restore")
    assert (job.state, "Running now" in job.message) == ("failed", True)
    assert Study.objects.exists()
    refused = restore(client, backup)
    assert refused.status_code == 422
    assert "Running now" in refused.content.decode()


def test_a_backup_with_another_key_is_left_to_the_command(client, administrator, settings):
    backup = made(client)
    settings.SECRET_KEY = "another"
    client.force_login(administrator)
    restore(client, backup)

    carry_out_job(BackupJob.objects.get(action="restore").pk)

    assert "different SECRET_KEY" in BackupJob.objects.get(action="restore").message
