"""A person's request: found, shown, corrected, withdrawn, deleted, and what still holds it."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from analysis import tasks
from analysis.exports.requests import request_export
from analysis.exports.rows import exported_id
from analysis.lifecycle.storage import marked, report_folder
from analysis.models import Report
from annotation import services
from annotation.files.imports import import_annotations
from annotation.models import (
    Annotator,
    Bonus,
    BonusPayment,
    Invitation,
    ProlificIdentity,
    ProlificStudy,
    ProlificSubmission,
)
from annotation.prolific.api.types import RemoteSubmission
from annotation.prolific.sync.sync import apply
from annotation.services.faulty_items import take_out
from extras.privacy.personal_data import delete
from studies.importers.files.bundle import File
from studies.importers.files.faults import Refused
from studies.models import Item, Membership, Study
from studies.services.studies import record
from studies.statements import clock
from tests.factories import finish, make_items, make_study, sign_in, walk_in
from tests.stored import everywhere

pytestmark = pytest.mark.django_db
PID, SESSION = "5f00000000000000000000aa", "6e00000000000000000000bb"


@pytest.fixture
def study(settings, tmp_path, monkeypatch) -> Study:
    settings.VAR_DIR = tmp_path
    for task in (tasks.build_report, tasks.write_export):
        monkeypatch.setattr(task, "delay_on_commit", lambda _pk: None)
    study = make_study(items_per_annotator=4, annotations_per_item=2, entry="link")
    make_items(study, 4)
    study.demographic_questions.create(
        key="sex", label="Sex", options=[{"value": "f", "label": "Woman"}]
    )
    Study.objects.filter(pk=study.pk).update(entry="prolific")
    study.refresh_from_db()
    return study


@pytest.fixture
def person(study) -> Annotator:
    """Somebody who completed, with everything that can be stored of a person."""
    for number in range(2):
        other = walk_in(study, f"other{number}", sex="f")
        if number == 0:
            finish(other)
    annotator = services.enter(study=study, pid=PID, session_id=SESSION)
    services.consent(annotator_id=annotator.pk, version="v1")
    services.record_demographics(annotator_id=annotator.pk, demographics={"sex": "f"})
    services.finish_instructions(annotator_id=annotator.pk)
    finish(annotator, choice="r2", certainty=37)
    services.leave_feedback(annotator_id=annotator.pk, text="Quokkas are lovely.")
    services.note_same_browser(annotator_id=annotator.pk, other_id=other.pk)
    services.exclude(annotator_id=annotator.pk, reason=f"{annotator.pseudonym} ({PID}) hurried.")
    services.include(annotator_id=annotator.pk)
    row = ProlificStudy.objects.create(study=study, prolific_id="p1")
    submission = ProlificSubmission.objects.create(
        prolific_study=row,
        annotator=annotator,
        submission_id=SESSION,
        participant=PID,
        status="APPROVED",
    )
    done = {"bulk_id": "b", "sent_at": clock.now()}
    payment = BonusPayment.objects.create(prolific_study=row, state="paid", **done)
    thanks = f"Thanks, {annotator.pseudonym}"
    Bonus.objects.create(payment=payment, submission=submission, amount=50, reason=thanks)
    record(study, "message on Prolific", to=annotator.pseudonym, people=1)
    Invitation.objects.create(study=study, key=PID)
    annotator.refresh_from_db()
    return annotator


def page(client, study, person, name="person"):
    return client.get(reverse(f"privacy:{name}", args=[study.slug]), {"rater": person.pseudonym})


def act(client, study, person, **data):
    address = reverse("privacy:person", args=[study.slug])
    return client.post(f"{address}?rater={person.pseudonym}", data, follow=True)


def test_after_a_deletion_nothing_is_found_but_what_the_page_names(
    study, person, tmp_path, caplog, django_capture_on_commit_callbacks
):
    client = sign_in(study, "owner")
    owner = study.memberships.get(role="owner").user
    old = person.pseudonym
    without_them = {"without_people": [old], "threshold": 70}
    report, _ = (
        Report.objects.create(
            study=study,
            number=number,
            threshold=80,
            bootstrap=100,
            seed=1,
            state=state,
            result={"rater": old} if state == "done" else None,
            view=without_them,
            withdrawn_answers=0,
            message="" if state == "done" else f"The report has no annotator “{old}”.",
            finished_at=clock.now(),
        )
        for number, state in ((1, "done"), (2, "failed"))
    )
    take_out(study_id=study.pk, key=Item.objects.first().key, reason="Equal responses.")
    with report_folder(report).replacing() as folder:
        (folder / "report.json").write_text(old)
    export = request_export(study_id=study.pk, user=owner, what="annotators", identified=True)
    tasks.write_export(export.pk)
    words = [old, PID, SESSION, "Quokkas"]
    assert {"exports: " + PID, "annotation.Annotator: " + old} <= everywhere(words, tmp_path)
    caplog.set_level("DEBUG")

    done = act(client, study, person, do="delete", sure="yes")

    left = Annotator.objects.get(pk=person.pk)
    certificate = client.get(done.request["PATH_INFO"], {"format": "html"}).content.decode()
    assert left.state == "withdrew"
    assert not left.assignments.exists()
    assert not any(word in certificate for word in words)
    assert old not in caplog.text
    assert "4 answers" in certificate
    assert "Report v1" in certificate
    assert "Annotators" in certificate
    assert "Bonuses" not in certificate
    assert Bonus.objects.get().amount == 50
    assert list(Item.objects.filter(study=study).values_list("answered", flat=True)) == [1] * 3
    assert marked(Report.objects.filter(pk=report.pk)).get().withdrawn_since == 4
    named = {where.partition(":")[0] for where in everywhere(words, tmp_path)}
    assert named <= {"analysis.Report", "reports", "exports"}

    keys = re.findall(r'name="do" value="([^"]+)"', done.content.decode())
    assert {key.split()[0] for key in keys} == {"report", "export"}
    with django_capture_on_commit_callbacks(execute=True):
        for key in keys:
            act(client, study, left, do=key)
    assert not everywhere(words, tmp_path)
    for each in Report.objects.all():
        assert each.view == without_them | {"without_people": []}
    again = act(client, study, left, do="delete", sure="yes")
    assert again.request["PATH_INFO"] == done.request["PATH_INFO"]


def test_a_deleted_person_neither_comes_back_nor_is_lost_to_the_accounts(study, person):
    act(sign_in(study, "owner"), study, person, do="delete", sure="yes")
    row = ProlificStudy.objects.get()
    remote = RemoteSubmission.of(
        {"id": SESSION, "participant_id": PID, "status": "APPROVED", "study_id": "p1"}
    )

    apply(row, remote, read_at=clock.now())
    back = services.enter(study=study, pid=PID, session_id=SESSION)

    submission = ProlificSubmission.objects.get()
    assert back.pk == person.pk
    assert back.state == "withdrew"
    assert not ProlificIdentity.objects.filter(annotator=back).exists()
    assert submission.status == "APPROVED"
    assert submission.participant == ""


def test_nobody_is_deleted_before_they_are_paid(study, person):
    ProlificSubmission.objects.update(status="AWAITING REVIEW")

    refused = act(sign_in(study, "owner"), study, person, do="delete", sure="yes")

    assert refused.status_code == 422
    assert "nobody can pay them" in refused.content.decode()
    assert Annotator.objects.get(pk=person.pk).pseudonym == person.pseudonym


@pytest.mark.nightly
def test_a_person_is_found_in_every_study_of_the_owner(study, person):
    client = sign_in(study, "owner")
    second, foreign = make_study(), make_study()
    Membership.objects.create(
        study=second, user=study.memberships.get(role="owner").user, role="owner"
    )
    for each in (second, foreign):
        make_items(each, 1)
        walk_in(each, PID)
    exported = exported_id(study.export_key, person.pseudonym)
    address = reverse("privacy:find", args=[study.slug])

    for word in (PID, SESSION, person.pseudonym.lower(), exported):
        text = client.post(address, {"ids": f"nobody, {word}"}).content.decode()
        assert person.pseudonym in text
        assert foreign.title not in text
        assert (second.title in text) == (word == PID)

    assert second.title in page(client, study, person).content.decode()
    assert "Nobody was found" in client.post(address, {"ids": "nobody"}).content.decode()
    assert sign_in(study, "editor").post(address).status_code == 404


def test_the_copy_has_all_that_the_tables_have(study, person):
    client = sign_in(study, "owner")

    readable = page(client, study, person, "file").content.decode()
    address = reverse("privacy:file", args=[study.slug])
    whole = client.get(address, {"rater": person.pseudonym, "format": "json"}).json()

    for words in (PID, SESSION, "Quokkas are lovely.", "37"):
        assert words in readable
    assert len(whole["Items and answers"]) == 4 == len(whole["Annotation revisions"])
    assert {row["certainty"] for row in whole["Items and answers"]} == {37}


def test_corrections_are_kept_without_their_content_and_wrong_ones_refused(study, person):
    client = sign_in(study, "owner")

    wrong = act(client, study, person, do="correct", attr_sex="x", feedback="")
    right = act(client, study, person, do="correct", attr_sex="prefer_not_to_say", feedback="")

    person.refresh_from_db()
    assert wrong.status_code == 422
    assert "has no answer “x”" in wrong.content.decode()
    assert person.demographics == {"sex": "prefer_not_to_say"}
    assert person.feedback == ""
    assert "Corrected: sex, feedback." in right.content.decode()


def test_a_deleted_rater_of_a_file_does_not_come_back_with_it(study, tmp_path):
    path = tmp_path / "answers.csv"
    keys = Item.objects.filter(study=study).values_list("key", flat=True)
    path.write_text("rater_id,item_id,choice\n" + "".join(f"ann,{key},r1\n" for key in keys))
    import_annotations(study_id=study.pk, file=File(path.name, path.read_bytes()))
    rater = Annotator.objects.get(study=study, is_imported=True)
    client = sign_in(study, "owner")
    act(client, study, rater, do="delete", sure="yes")

    with pytest.raises(Refused, match="asked for the deletion"):
        import_annotations(study_id=study.pk, file=File(path.name, path.read_bytes()))

    found = client.post(reverse("privacy:find", args=[study.slug]), {"ids": "ann"})
    assert "deleted-" in found.content.decode()


def test_people_are_found_by_their_address_on_a_list_which_is_stored_nowhere(tmp_path, settings):
    study = make_study(entry="list", items_per_annotator=1)
    make_items(study, 1)
    editor, address = sign_in(study, "owner"), "Anna.Berg@uni.example"
    listed = {"ids": f"{address}, other@uni.example", "do": "links"}
    page = reverse("people:invitations", args=[study.slug])

    links = editor.post(page, listed).content.decode()
    assert editor.post(page, listed).content.decode() == links
    [link] = [line.partition(",")[2] for line in links.splitlines() if line.startswith(address)]
    assert Client().get(link.strip().partition("8000")[2]).status_code == 302
    assert Client().get(f"/s/{study.slug}/?PROLIFIC_PID={address}").status_code == 400

    find = reverse("privacy:find", args=[study.slug])
    found = editor.post(find, {"ids": address.lower()}).content.decode()
    person = study.annotators.get()
    assert f"rater={person.pseudonym}" in found
    assert "is on the list of" in found
    assert not everywhere({"anna.berg", "Anna.Berg"}, tmp_path)
    assert editor.post(page, {"ids": "anna@, good-id"}).status_code == 422
    # With a new secret key, nobody gets a second link.
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "n" * 60
    assert editor.post(page, listed).content.decode() == links
    owner = User.objects.get(memberships__study=study)
    delete(annotator_id=person.pk, user=owner)
    assert Invitation.objects.count() == 1


def test_people_are_found_by_the_file_that_they_came_from(study, tmp_path):
    file = tmp_path / "answers.csv"
    key = Item.objects.filter(study=study).first().key
    file.write_text(f"item_id;rater_id;choice\n{key};Anna B;r1\n{key};Carl;r2\n")
    Annotator.objects.bulk_create(
        Annotator(study=study, pseudonym=name, is_imported=True) for name in ("Anna B", "Carl")
    )
    owner, find = sign_in(study, "owner"), reverse("privacy:find", args=[study.slug])

    with file.open("rb") as opened:
        found = owner.post(find, {"file": opened}).content.decode()
    assert "Anna B</a>" in found
    assert "Carl</a>" in found
    assert "Anna B</a>" in owner.post(find, {"ids": "Anna B"}).content.decode()
    file.write_bytes(b"\xff\xfe\x00")
    with file.open("rb") as opened:
        assert owner.post(find, {"file": opened}).status_code == 422
