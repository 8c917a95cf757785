"""A study's page of exports: who may do what, and what the page says."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from analysis import tasks
from analysis.exports.requests import request_export
from analysis.exports.study_export import export_study
from analysis.lifecycle.storage import export_dir
from analysis.models import Export
from annotation.services.endings import exclude, withdraw
from studies.models import Membership
from tests.stored import path_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def queued(monkeypatch, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    ids: list[int] = []
    monkeypatch.setattr(tasks.write_export, "delay_on_commit", ids.append)
    return ids


@pytest.fixture
def people(study):
    users = {}
    for role in ("owner", "editor", "viewer"):
        users[role] = User.objects.create_user(role)
        Membership.objects.create(user=users[role], study=study, role=role)
    users["stranger"] = User.objects.create_user("stranger")
    return users


def made(study, user, **options):
    options.setdefault("what", "annotators")
    export = request_export(study_id=study.pk, user=user, **options)
    tasks.write_export(export.pk)
    export.refresh_from_db()
    return export


def url(name, *args):
    return reverse(f"exports:{name}", args=["one", *args])


def body(response):
    return b"".join(response.streaming_content).decode()


def test_what_is_asked_for_lands_in_the_queue(client, study, people, queued):
    client.force_login(people["editor"])

    response = client.post(
        url("list"),
        {"action": "new", "what": "all", "format": "csv", "licence": "CC-BY-4.0"},
        follow=True,
    )

    export = Export.objects.get()
    assert (export.what, export.format, export.licence) == ("all", "csv", "CC-BY-4.0")
    assert queued == [export.pk]
    assert "Everything, CSV" in response.content.decode()
    assert "Waiting for a worker." in response.content.decode()


def test_a_finished_export_shows_its_size_checksum_and_dates_and_downloads(client, study, people):
    export = made(study, people["editor"])
    client.force_login(people["viewer"])

    page = client.get(url("list")).content.decode()
    response = client.get(url("download", export.public_id))

    assert f"{export.size} bytes" in page
    assert export.sha256 in page
    assert export.filename in response["Content-Disposition"]
    assert response["Cache-Control"] == "private, no-store"
    assert body(response) == (path_of(export_dir(export.public_id)) / export.filename).read_text()
    assert not study.log.filter(event__contains="downloaded").exists()


def test_a_stranger_learns_nothing(client, study, people):
    export = made(study, people["owner"])
    client.force_login(people["stranger"])

    pages = [url("list"), url("table"), url("download", export.public_id)]
    assert [client.get(page).status_code for page in pages] == [404] * 3


@pytest.mark.parametrize("leaving", ["identified", "free_text"])
def test_only_an_owner_who_types_the_name_makes_a_copy_that_names_people(
    client, study, people, leaving
):
    form = {"action": "new", "what": "annotators", leaving: "on", "confirmation": "one"}

    client.force_login(people["editor"])
    client.post(url("list"), form)
    assert not getattr(Export.objects.get(), leaving)

    client.force_login(people["owner"])
    refused = client.post(url("list"), form | {"confirmation": "two"})
    assert refused.status_code == 422
    assert "Type one to export data that name people." in refused.content.decode()
    assert client.post(url("list"), form).status_code == 302
    assert Export.objects.filter(**{leaving: True}).count() == 1


def test_a_copy_that_names_people_is_an_owners_alone_and_its_download_is_logged(
    client, study, people
):
    export = made(study, people["owner"], identified=True)

    for role in ("viewer", "editor"):
        client.force_login(people[role])
        assert client.get(url("download", export.public_id)).status_code == 404
        assert client.post(url("delete", export.public_id)).status_code == 404
        assert "owners only" in client.get(url("list")).content.decode()

    client.force_login(people["owner"])
    assert "prolific_pid" in body(client.get(url("download", export.public_id)))
    log = study.log.get(event="export that names people downloaded")
    assert (log.user, log.detail) == (people["owner"], {"export": export.public_id})


def test_a_file_that_is_gone_is_not_found_and_the_row_says_why(client, study, people):
    export = made(study, people["editor"])
    client.force_login(people["editor"])

    assert "Delete this file?" in client.get(url("delete", export.public_id)).content.decode()
    page = client.post(url("delete", export.public_id), follow=True).content.decode()

    assert "Deleted by editor." in page
    assert client.get(url("download", export.public_id)).status_code == 404


def test_the_queue_counts_what_waits_before(client, study, people):
    for what in ("items", "judgments", "annotations"):
        request_export(study_id=study.pk, user=people["editor"], what=what)
    client.force_login(people["viewer"])

    page = client.get(url("table")).content.decode()

    assert (
        page.index("2 ahead in the queue")
        < page.index("1 ahead in the queue")
        < page.index("Waiting for a worker.")
    )


def test_a_failed_export_is_asked_for_again_with_the_same_choices(client, study, people, queued):
    chosen = {"format": "csv", "licence": "CC-BY-4.0", "fresh_pseudonyms": True}
    failed = request_export(study_id=study.pk, user=people["owner"], what="annotations", **chosen)
    again = {"action": "again", "export": failed.public_id}
    client.force_login(people["editor"])

    early = client.post(url("list"), again, follow=True).content.decode()
    Export.objects.update(state="failed", message="The disk is full.")
    assert f'value="{failed.public_id}"' in client.get(url("list")).content.decode()
    assert "The disk is full." in client.get(url("table")).content.decode()
    client.post(url("list"), again)
    client.post(url("list"), again)  # a double press is one export

    assert "This export did not fail" in early
    new = Export.objects.exclude(pk=failed.pk).get()
    assert (new.what, new.requested_by) == ("annotations", people["editor"])
    assert {key: getattr(new, key) for key in chosen} == chosen
    assert queued == [failed.pk, new.pk]
    client.force_login(people["viewer"])
    assert client.post(url("list"), again).status_code == 404
    assert "Try again" not in client.get(url("list")).content.decode()


def test_a_failed_copy_that_names_people_is_asked_for_again_by_owners_alone(client, study, people):
    failed = request_export(
        study_id=study.pk, user=people["owner"], what="annotators", identified=True
    )
    Export.objects.update(state="failed", message="The disk is full.")
    again = {"action": "again", "export": failed.public_id}

    client.force_login(people["editor"])
    assert client.post(url("list"), again).status_code == 404
    assert "Try again" not in client.get(url("list")).content.decode()
    client.force_login(people["owner"])
    client.post(url("list"), again)

    assert Export.objects.filter(identified=True, state="queued").count() == 1


def somebody(study):
    return study.annotators.order_by("pseudonym").first()


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("how", ["withdrew", "excluded"])
def test_a_file_from_before_somebody_left_is_marked_with_what_happened(client, study, people, how):
    client.force_login(people["editor"])
    export = made(study, people["editor"])
    before = client.get(url("list")).content.decode()

    if how == "withdrew":
        withdraw(annotator_id=somebody(study).pk)
    else:
        exclude(annotator_id=somebody(study).pk, reason="Too fast.")
    page = client.get(url("list")).content.decode()

    assert "outdated" not in before
    words = {"withdrew": "1 person withdrew after", "excluded": "or included again (1 time) after"}
    assert words[how] in page
    assert "Delete and create again" in page
    made(study, people["editor"], what="items")
    assert client.get(url("table")).content.decode().count("▲ outdated") == 1
    assert export.state == "done"


def test_an_outdated_file_is_asked_about_or_not_given_out(client, study, people):
    client.force_login(people["editor"])
    export, items = made(study, people["editor"]), made(study, people["editor"], what="items")
    address = url("download", export.public_id)

    exclude(annotator_id=somebody(study).pk, reason="Too fast.")
    asked = client.get(address)
    sent = client.get(address, {"outdated": "yes"})
    withdraw(annotator_id=study.annotators.order_by("-pseudonym").first().pk)
    refused = client.get(address, {"outdated": "yes"})

    assert asked.status_code == refused.status_code == 409
    assert "Download the outdated file" in asked.content.decode()
    assert "rater_id" in body(sent)
    assert "1 person withdrew" in refused.content.decode()
    assert "outdated=yes" not in refused.content.decode()
    assert "persona" in body(client.get(url("download", items.public_id)))


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(("do", "files"), [("delete", 0), ("rebuild", 1)])
def test_one_press_deletes_outdated_files_or_writes_them_again(
    client, study, people, queued, do, files
):
    client.force_login(people["editor"])
    export = made(study, people["editor"])
    named = made(study, people["owner"], identified=True)
    withdraw(annotator_id=somebody(study).pk)
    queued.clear()

    response = client.post(url("list"), {"action": "stale", "do": do}, follow=True)

    export.refresh_from_db()
    named.refresh_from_db()
    assert (export.state, named.state) == ("gone", "done")
    assert not path_of(export_dir(export.public_id)).exists()
    assert len(queued) == files
    assert "Outdated files deleted: 1." in response.content.decode()


def test_copies_outside_the_program_are_named_when_they_are_outdated(
    client, study, people, tmp_path
):
    client.force_login(people["editor"])
    export_study(study, what="annotations", out=tmp_path / "a.csv", format="csv")
    withdraw(annotator_id=somebody(study).pk)

    page = client.get(url("list")).content.decode()

    assert "Outdated copies outside this program" in page
    assert "“annotations”, written by a command on" in page
    assert study.log.filter(event="participant withdrew").count() == 1


def test_who_withdraws_while_a_command_writes_may_be_in_its_copy(client, study, people, tmp_path):
    client.force_login(people["editor"])
    leaving = iter([somebody(study).pk])

    def leave(rows):
        if (annotator := next(leaving, None)) is not None:
            withdraw(annotator_id=annotator)

    export_study(study, what="annotations", out=tmp_path / "a.csv", format="csv", on_rows=leave)

    assert next(leaving, None) is None
    assert "“annotations”, written by a command on" in client.get(url("list")).content.decode()
