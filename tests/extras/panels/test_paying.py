"""Files for paying, money by panel, and what stays of people's ids."""

import csv
import io
from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from annotation import services
from annotation.models import Annotator, ProlificReservation, ProlificStudy
from annotation.services.identities import purge_identities
from extras.panels.exports import COLUMNS, people_rows
from extras.panels.forgetting import HELD, forget_withdrawn
from extras.panels.models import PanelPerson, PaymentFile
from extras.panels.paying import money_by_panel, money_of, write_payment_file
from studies.errors import StudyError
from studies.services.whole_studies import delete_study
from tests.extras.panels.builders import make_panel
from tests.factories import finish, make_annotator, make_study, sign_in, walk_in
from tests.together import run_together

pytestmark = pytest.mark.django_db


def finished(panel, person: str, **fields) -> PanelPerson:
    annotator = make_annotator(study=panel.study, state="completed", **fields)
    return PanelPerson.objects.create(
        annotator=annotator,
        panel=panel,
        person=person,
        study_reference=f"H{person}",
        sessions=[f"old-{person}", f"S{person}"],
    )


def rows(response) -> list[list[str]]:
    return [*csv.reader(io.StringIO(response.content.decode()))]


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        (
            "mturk",
            [
                ["HITId", "AssignmentId", "WorkerId", "Approve", "Reject"],
                ["HA1", "SA1", "A1", "x", ""],
            ],
        ),
        (
            "connect",
            [
                ["ParticipantId", "AssignmentId", "Action", "Message"],
                ["A1", "SA1", "Approve", "Thank you for taking part."],
            ],
        ),
        (
            "generic",
            [
                ["person", "study", "session", "ending", "reward", "currency"],
                ["A1", "HA1", "SA1", "complete", "450", "USD"],
            ],
        ),
    ],
)
def test_a_payment_file_has_the_columns_of_its_panel(panel, preset, expected):
    sending = panel(preset, pay="file")
    finished(sending, "A1")
    PanelPerson.objects.create(
        annotator=make_annotator(study=sending.study), panel=sending, person="A2"
    )
    owner = sign_in(sending.study, "owner")
    pages = f"/studies/{sending.study.slug}/people/panels/{preset}/"

    page = owner.post(f"{pages}files/", follow=True).content.decode()
    written = PaymentFile.objects.get()

    assert "Payment file written with 1 person" in page
    assert rows(owner.get(f"{pages}files/{written.pk}/")) == expected


def test_nobody_is_in_two_payment_files(panel):
    sending = panel("connect")
    finished(sending, "A1")
    write_payment_file(panel=sending)
    finished(sending, "A2")
    write_payment_file(panel=sending)

    with pytest.raises(StudyError, match="Nobody is owed pay now"):
        write_payment_file(panel=sending)

    assert [written.lines.get().person for written in PaymentFile.objects.all()] == ["A1", "A2"]


def test_people_who_failed_attention_checks_come_into_a_file_only_if_an_owner_says_so(panel):
    sending = panel("mturk")
    finished(sending, "A1", failed_attention=True)
    owner = sign_in(sending.study, "owner")
    pages = f"/studies/{sending.study.slug}/people/panels/mturk/"

    refused = owner.post(f"{pages}files/")
    written = owner.post(f"{pages}files/", {"with_failed": "on"})

    assert refused.status_code == 422
    assert "Nobody is owed pay now" in refused.content.decode()
    assert "failed attention checks" in owner.get(pages).content.decode() or written
    assert PaymentFile.objects.get().people == 1


def test_who_withdraws_after_finishing_is_still_paid(panel):
    sending = panel("mturk")
    annotator = finish(walk_in(make_with_items(sending)))
    PanelPerson.objects.create(annotator=annotator, panel=sending, person="A1", sessions=["S1"])
    services.withdraw(annotator_id=annotator.pk)
    Annotator.objects.update(ended_at=timezone.now() - timezone.timedelta(hours=2))

    forget_withdrawn()

    assert write_payment_file(panel=sending).people == 1


def make_with_items(panel):
    panel.study.entry = "prolific"
    panel.study.save()
    return panel.study


def test_ids_of_people_who_withdrew_are_deleted_within_an_hour_or_two(panel):
    sending = panel("lucid")
    ids = {}
    for name, hours in (("early", 2), ("now", 0)):
        person = finished(sending, f"A-{name}")
        person.annotator.state = "withdrew"
        person.annotator.ended_at = timezone.now() - timezone.timedelta(hours=hours)
        person.annotator.save()
        ids[name] = person.pk

    assert forget_withdrawn() == 1

    assert PanelPerson.objects.get(pk=ids["early"]).person == ""
    assert PanelPerson.objects.get(pk=ids["early"]).sessions == []
    assert PanelPerson.objects.get(pk=ids["now"]).person == "A-now"


def test_ids_of_panels_are_deleted_with_all_ids_of_a_study_and_the_panel_stays(panel):
    sending = panel("cint")
    finished(sending, "A1")

    assert purge_identities(study_id=sending.study_id) == 1

    person = PanelPerson.objects.get()
    assert (person.person, person.sessions, person.panel) == ("", [], sending)


def test_a_persons_request_finds_them_by_the_panels_id(panel):
    person = finished(panel("cint"), "A1")

    assert HELD.find(person.annotator.study, "A1") == [person.annotator.pseudonym]
    assert HELD.find(person.annotator.study, "SA1") == [person.annotator.pseudonym]
    assert HELD.find(make_study(), "A1") == []


RESULTS = """HITId,AssignmentId,WorkerId,AssignmentStatus,Answer.code,Approve,Reject
H1,S1,A1,Submitted,"x, y",,
H2,S2,A2,Submitted,none,,
H3,S3,A3,Submitted,no,,not ours
H4,S4,A4,Submitted,no,,already decided
"""


def test_mturks_results_come_back_with_our_people_approved_and_nobody_else(panel):
    sending = panel("mturk")
    for person in ("A1", "A4"):
        finished(sending, person)
    written = write_payment_file(panel=sending)

    response = send_results(sending, written, RESULTS.encode())

    decided = {row[2]: row[5:] for row in rows(response)[1:]}
    assert rows(response)[0] == RESULTS.splitlines()[0].split(",")
    assert rows(response)[1][4] == "x, y"
    assert decided == {
        "A1": ["x", ""],
        "A2": ["", ""],
        "A3": ["", "not ours"],
        "A4": ["", "already decided"],
    }


def send_results(panel, written, data: bytes | None):
    address = f"/studies/{panel.study.slug}/people/panels/{panel.name}/"
    files = {} if data is None else {"results": SimpleUploadedFile("results.csv", data)}
    sent = {"action": "results", "file": written.pk, **files}
    return sign_in(panel.study, "owner").post(address, sent)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "Choose the file of results"),
        (b"", "The file has no results"),
        (b"HITId,WorkerId\n1,A1\n", "AssignmentId"),
        (RESULTS.replace("A1,", "A9,").encode(), "Nobody of this payment file has an open result"),
        (b'HITId,AssignmentId,WorkerId,Approve,Reject\n"1,2,3', ""),
    ],
)
def test_results_that_cannot_be_read_are_refused_with_the_reason(panel, data, message):
    sending = panel("mturk")
    finished(sending, "A1")
    written = write_payment_file(panel=sending)

    response = send_results(sending, written, data)

    assert response.status_code == 422
    assert message in response.content.decode()


def test_money_by_panel_has_each_fee_and_says_if_one_is_not_known(panel):
    paid = panel("mturk", reward=300, fee_percent=Decimal("20.00"))
    open_fee = panel("connect", reward=250)
    for person in ("A1", "A2"):
        finished(paid, person)
    write_payment_file(panel=paid)
    paid.reward = 500  # what was paid stays
    paid.save()
    finished(paid, "A3")
    finished(open_fee, "B1")

    first, second = money_by_panel(paid.study)

    assert (first.finished, first.in_files) == (3, 2)
    assert (first.rewards, first.fees, first.total) == (1100, 220, 1320)
    assert (second.rewards, second.fees, second.total) == (250, None, 250)
    page = sign_in(paid.study, "owner").get(f"/studies/{paid.study.slug}/people/panels/")
    assert "$13.20" in page.content.decode()
    assert "not known" in page.content.decode()


def test_what_was_paid_stays_when_a_persons_rows_are_deleted(panel):
    sending = panel("mturk")
    person = finished(sending, "A1")
    write_payment_file(panel=sending)

    person.delete()

    assert money_of(sending).rewards == 450


def test_a_study_is_deleted_with_its_panels_and_their_people(panel):
    sending = panel("mturk")
    finished(sending, "A1")
    write_payment_file(panel=sending)
    sending.study.state, sending.study.archived_at = "closed", timezone.now()
    sending.study.save()

    delete_study(study_id=sending.study_id, by=None)

    assert not PanelPerson.objects.exists()


def test_money_has_a_line_of_prolific_if_it_recruits_too(panel):
    sending = panel("mturk")
    row = ProlificStudy.objects.create(study=sending.study, currency="GBP")
    ProlificReservation.objects.create(
        prolific_study=row, places=2, places_after=2, rewards=900, fees=300
    )

    *_, prolific = money_by_panel(sending.study)

    assert (prolific.title, prolific.total, prolific.currency) == (
        "Prolific, with fees",
        1200,
        "GBP",
    )


def test_the_exported_table_names_panels_and_has_no_ids(panel):
    sending = panel("mturk")
    finished(sending, "A1SECRET")
    write_payment_file(panel=sending)
    PanelPerson.objects.create(
        annotator=make_annotator(study=sending.study), panel=sending, person="A2SECRET"
    )

    rows_of_people = [*people_rows(sending.study)]

    assert {(row["panel"], row["ending"], row["in_payment_file"]) for row in rows_of_people} == {
        ("mturk", "complete", True),
        ("mturk", None, False),
    }
    assert all({*row} == {column.name for column in COLUMNS} for row in rows_of_people)
    assert "SECRET" not in str(rows_of_people)


@pytest.mark.django_db(transaction=True)
def test_two_presses_at_once_put_nobody_into_two_files():
    study = make_study(entry="list")
    panel = make_panel(study, "mturk")
    for number in range(4):
        finished(panel, f"A{number}")

    errors = run_together(lambda _: write_payment_file(panel=panel), [1, 2, 3])

    assert [str(error)[:23] for error in errors] == ["Nobody is owed pay now."] * 2
    assert PaymentFile.objects.get().lines.count() == 4
