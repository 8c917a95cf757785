"""Settling: the right proposal for everybody, approvals that last, and money paid once."""

import datetime as dt
import re
from contextlib import suppress

import pytest
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from annotation import services
from annotation.models import Annotation, Annotator, ProlificSubmission
from annotation.participants.access import bind
from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.transport import (
    NotAllowed,
    NotFound,
    ProlificError,
    ProlificRejected,
    Unauthorized,
)
from annotation.prolific.launch import publication
from annotation.prolific.settle.decisions import GROUNDS, approve, reject, request_returns
from annotation.prolific.settle.proposals import (
    APPROVE,
    BONUS,
    IN_FULL,
    PARTIAL,
    RETURN,
    REVIEW,
    TURNED_AWAY,
    WAIT,
    settlement,
)
from annotation.prolific.sync.sync import follow
from annotation.seats.flow import code_for
from studies.models import Item, Membership
from studies.services.studies import change_state
from tests.annotation.prolific.life import (
    answer_some,
    arrive,
    finish,
    make_recruiting,
    published,
)
from tests.factories import answer_all, answer_item

pytestmark = pytest.mark.django_db


MESSAGE = "You answered every one of the questions in less than a second, so nothing was read. " * 2


def only(study):
    follow(study_id=study.pk)
    (found,) = settlement(study).rows
    return found


def submission_of(person) -> ProlificSubmission:
    return ProlificSubmission.objects.get(submission_id=person["submission"])


# Proposals


def work_on(annotator, work: str) -> None:
    """How many items are answered here, and what else happens: "2 skips completes"."""
    count, *rest = work.split()
    if count == "all":
        answer_all(annotator)
    else:
        answer_some(annotator, int(count))
    if "skips" in rest:
        for left in annotator.assignments.filter(annotation=None):
            services.skip_item(annotator_id=annotator.pk, assignment_id=left.pk)
    if "completes" in rest:
        services.complete(annotator_id=annotator.pk)
    if "withdraws" in rest:
        services.withdraw(annotator_id=annotator.pk)
    if "fails" in rest:
        Annotator.objects.filter(pk=annotator.pk).update(failed_attention=True)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("work", "leaves", "action", "bonus", "why"),
    [
        ("all completes", "completed", APPROVE, 0, ""),
        ("all completes", "mistyped", APPROVE, 0, "without one of our codes"),
        ("all completes", "time_out", BONUS, 450, IN_FULL),
        ("all completes withdraws", "time_out", BONUS, 450, IN_FULL),
        ("all completes withdraws", "give_back", BONUS, 450, IN_FULL),
        ("all completes fails", "completed", REVIEW, 0, ""),
        ("2 skips completes", "completed", APPROVE, 0, ""),
        ("2 withdraws", "mistyped", RETURN, 0, ""),
        ("2", "give_back", BONUS, 300, PARTIAL),
        ("1", "mistyped", RETURN, 150, PARTIAL),
        ("1", "", WAIT, 0, ""),
        ("", "completed", REVIEW, 0, ""),
        ("", "mistyped", RETURN, 0, ""),
        ("", "ineligible", RETURN, 23, TURNED_AWAY),
        ("", "ineligible give_back", BONUS, 23, TURNED_AWAY),
    ],
)
def test_work_and_ending_decide_what_is_proposed(
    work, leaves, action, bonus, why, study, row, prolific
):
    if work:
        person, annotator = arrive(prolific, row)
        work_on(annotator, work)
    else:
        person = prolific.world.arrive(row.prolific_id)
    for act in leaves.split():
        if act in ("time_out", "give_back"):
            getattr(prolific.world, act)(person["submission"])
        else:
            code = act if act == "mistyped" else code_for(study_id=study.pk, ending=act)
            prolific.world.finish(person["submission"], code)

    found = only(study)

    assert (found.action, found.bonus) == (action, bonus)
    if bonus:
        assert found.bonus_reason == why
    else:
        assert why in found.reason


@pytest.mark.nightly
def test_flagged_people_need_a_review_and_the_page_says_why(prolific, client, user):
    """Two people answer ten items in no time, and a careful one takes a while."""
    study = make_recruiting(items=50, per_person=10)
    row = published(study)
    Membership.objects.create(user=user, study=study, role="owner")
    client.force_login(user)
    hasty = [arrive(prolific, row) for _ in range(2)]
    careful = arrive(prolific, row)
    for person, annotator in [*hasty, careful]:
        finish(prolific, person, annotator)
        own = Annotation.objects.filter(assignment__annotator=annotator)
        for number, answer in enumerate(own):
            seconds = 0.1 if annotator != careful[1] else (20, 31, 55, 12, 40)[number % 5]
            answer.elapsed_ms = answer.active_ms = round(1000 * seconds * (1 + number / 10))
            # Other figures than those of pace: nobody's certainty or dissent matters here.
            answer.certainty, answer.choice = 50, ("r1", "r2")[number % 2]
            answer.save()

    follow(study_id=study.pk)
    rows = {row.pseudonym: row for row in settlement(study).rows}

    for _, annotator in hasty:
        row = rows[annotator.pseudonym]
        assert (row.action, [flag.rule for flag in row.flags]) == (REVIEW, ["speed"])
        assert "flagged (faster than reading)" in row.reason
    assert (rows[careful[1].pseudonym].action, rows[careful[1].pseudonym].flags) == (APPROVE, ())
    page = client.get(reverse("people:prolific-settle", args=[study.slug])).content.decode()
    ticked = re.findall(r'aria-label="([^"]+)" checked', page)
    assert ticked == [careful[1].pseudonym]
    assert page.count("▲ Faster than reading.") == 2
    assert "words per minute; flagged above 1,500" in page


def page_text(response):
    return " ".join(response.content.decode().split())


def browser_of(study, annotator) -> Client:
    browser = Client()
    bound = bind(RequestFactory().get("/"), HttpResponse(), annotator)
    browser.cookies = bound.cookies
    return browser


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("first", ["withdraws", "comes back"])
def test_withdrawing_after_completion_keeps_pay_and_code(first, study, row, prolific):
    person, annotator = arrive(prolific, row)
    answer_all(annotator)
    services.complete(annotator_id=annotator.pk)
    code = code_for(study_id=study.pk, ending="completed")
    if first == "comes back":
        prolific.world.finish(person["submission"], code)
        follow(study_id=study.pk)
    browser = browser_of(study, annotator)
    assert "does not change your pay" in page_text(browser.get(f"/s/{study.slug}/withdraw/"))

    said = page_text(browser.post(f"/s/{study.slug}/withdraw/", follow=True))

    assert f"cc={code}" in said
    assert "your pay does not change" in said
    assert "give your place back" not in said
    if first == "withdraws":
        prolific.world.finish(person["submission"], code)
    assert (only(study).action, only(study).bonus) == (APPROVE, 0)


def test_withdrawing_after_a_rejection_does_not_mention_pay(study, row, prolific):
    person, annotator = arrive(prolific, row)
    finish(prolific, person, annotator)
    prolific.world.reject(
        person["submission"], {"rejection_category": "LOW_EFFORT", "message": MESSAGE}
    )
    follow(study_id=study.pk)
    browser = browser_of(study, annotator)

    said = page_text(browser.post(f"/s/{study.slug}/withdraw/", follow=True))

    assert "You have withdrawn" in said
    assert "your pay does not change" not in said
    assert code_for(study_id=study.pk, ending="completed") not in said


def test_withdrawing_from_an_unknown_session_shows_no_code(study, row, prolific):
    _, annotator = arrive(prolific, row)
    services.doubt(annotator_id=annotator.pk)
    answer_all(annotator)
    services.complete(annotator_id=annotator.pk)
    browser = browser_of(study, annotator)

    said = page_text(browser.post(f"/s/{study.slug}/withdraw/", follow=True))

    assert code_for(study_id=study.pk, ending="completed") not in said


@pytest.mark.parametrize("at_once", [1, 2], ids=["one page", "two pages open at once"])
def test_made_up_time_is_not_paid(at_once, study, row, prolific):
    person, annotator = arrive(prolific, row)
    Annotator.objects.filter(pk=annotator.pk).update(
        started_at=timezone.now() - dt.timedelta(seconds=30)
    )
    shown_at = timezone.now() - dt.timedelta(seconds=30)
    for assignment in annotator.assignments.all()[:at_once]:
        answer_item(
            assignment,
            certainty=70,
            shown_at=shown_at,
            active_ms=20 * 60_000,
        )
    prolific.world.give_back(person["submission"])

    found = only(study)

    assert found.work.minutes == pytest.approx(0.5, abs=0.1)
    assert found.bonus == at_once * 150


def test_of_two_submissions_of_one_person_one_is_paid(study, row, prolific):
    person, annotator = arrive(prolific, row)
    finish(prolific, person, annotator)
    follow(study_id=study.pk)
    ProlificSubmission.objects.create(
        prolific_study=row, annotator=annotator, submission_id="d" * 24, status="AWAITING REVIEW"
    )

    first, second = sorted(settlement(study).rows, key=lambda r: r.submission.pk)

    assert (first.action, second.action) == (APPROVE, REVIEW)


def test_people_unknown_to_prolific_are_named(study, row, prolific):
    services.enter(study=study, pid="c" * 24, session_id="e" * 24)
    follow(study_id=study.pk)

    assert len(settlement(study).unknown) == 1


# Approving


def awaiting(prolific, row, people: int) -> list[int]:
    for _ in range(people):
        finish(prolific, *arrive(prolific, row))
    follow(study_id=row.study_id)
    return list(ProlificSubmission.objects.values_list("pk", flat=True))


def test_people_are_approved_in_bulk_after_their_number_is_confirmed(study, row, prolific):
    ids = awaiting(prolific, row, 3)

    with pytest.raises(NotAllowed, match="has changed"):
        approve(study_id=study.pk, submission_ids=ids, confirmed=2)
    result = approve(study_id=study.pk, submission_ids=ids, confirmed=3)

    assert (result.asked, result.approved) == (3, 3)
    again = approve(study_id=study.pk, submission_ids=ids, confirmed=3)
    assert (again.asked, again.approved, again.gone.total()) == (0, 3, 0)
    assert {s.status for s in prolific.world.submissions.values()} == {"APPROVED"}


def test_people_who_left_in_the_meantime_are_not_approved_but_reported(study, row, prolific):
    ids = awaiting(prolific, row, 2)
    gone = next(iter(prolific.world.submissions))
    prolific.world.give_back(gone)

    result = approve(study_id=study.pk, submission_ids=ids, confirmed=2)

    assert (result.asked, result.approved, dict(result.gone)) == (1, 1, {"RETURNED": 1})


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("fault", ["dropped_after", "dropped_before", "429"])
def test_a_lost_approval_is_requested_again(fault, study, row, prolific):
    ids = awaiting(prolific, row, 2)
    prolific.fault("POST", "bulk-approve/", fault)

    with suppress(ProlificError):
        approve(study_id=study.pk, submission_ids=ids, confirmed=2)
    ProlificSubmission.objects.filter(approval_asked_at__isnull=False).update(
        approval_asked_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    )
    follow(study_id=study.pk)
    follow(study_id=study.pk)

    assert set(ProlificSubmission.objects.values_list("status", flat=True)) == {"APPROVED"}


@pytest.mark.parametrize("refusal", [ProlificRejected, NotFound, Unauthorized])
def test_a_refused_approval_stops_neither_reading_nor_other_approvals(
    refusal, study, row, prolific, monkeypatch
):
    ids = awaiting(prolific, row, 2)
    refused = ProlificSubmission.objects.get(pk=ids[0]).submission_id
    approve_there = ProlificClient.approve

    def refuse_one(self, submissions):
        if refused in submissions:
            raise refusal("No.", status=400)
        approve_there(self, submissions)

    monkeypatch.setattr(ProlificClient, "approve", refuse_one)
    with pytest.raises(refusal):
        approve(study_id=study.pk, submission_ids=ids, confirmed=2)
    assert not ProlificSubmission.objects.exclude(approval_asked_at=None).exists()
    assert study.log.filter(event="approvals refused by Prolific", detail__people=2).exists()
    long_ago = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    ProlificSubmission.objects.filter(pk__in=ids).update(approval_asked_at=long_ago)
    follow(study_id=study.pk)

    assert not ProlificSubmission.objects.exclude(approval_asked_at=None).exists()
    assert approve(study_id=study.pk, submission_ids=ids[1:], confirmed=1).approved == 1


# Rejecting and asking to return


def test_a_rejection_needs_a_person_a_ground_and_a_message(study, row, prolific, user):
    Membership.objects.create(study=study, user=user, role="owner")
    (pk,) = awaiting(prolific, row, 1)

    for who, category, message, words in (
        (None, "LOW_EFFORT", MESSAGE, "Only a signed-in user"),
        (user, "OTHER", MESSAGE, "reasons"),
        (user, "LOW_EFFORT", "Too short.", "at least 100"),
        (user, "LOW_EFFORT", " " * 200, "at least 100"),
        (user, "FAILED_CHECK", MESSAGE, "did not fail"),
        (user, "NO_DATA", MESSAGE, "They gave"),
        (user, "TOO_QUICKLY", MESSAGE, "standard deviations"),
    ):
        with pytest.raises(NotAllowed, match=words):
            reject(
                study_id=study.pk, submission_id=pk, category=category, message=message, user=who
            )
    assert prolific.world.submissions[submission_id(pk)].status == "AWAITING REVIEW"

    reject(study_id=study.pk, submission_id=pk, category="LOW_EFFORT", message=MESSAGE, user=user)

    assert Annotator.objects.get().state == Annotator.State.REJECTED
    assert sum(Item.objects.values_list("seats_taken", flat=True)) == 0


def submission_id(pk: int) -> str:
    return ProlificSubmission.objects.values_list("submission_id", flat=True).get(pk=pk)


def test_no_ground_is_disagreement_accuracy_or_certainty():
    words = " ".join([*GROUNDS, *GROUNDS.values()]).lower()
    assert not any(word in words for word in ("disagree", "accura", "certain", "wrong", "truth"))


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("reopens", [True, False])
def test_a_rejected_place_is_filled_again(reopens, prolific, user):
    prolific.world.behaviour.reopens_itself = reopens
    study = make_recruiting(items=2)
    Membership.objects.create(study=study, user=user, role="owner")
    row = published(study)
    ids = awaiting(prolific, row, 2)
    reject(
        study_id=study.pk, submission_id=ids[0], category="LOW_EFFORT", message=MESSAGE, user=user
    )

    assert publication.refill(study_id=study.pk) == (0 if reopens else 1)
    finish(prolific, *arrive(prolific, row))

    follow(study_id=study.pk)
    statuses = sorted(s.status for s in prolific.world.submissions.values())
    assert statuses == ["AWAITING REVIEW", "AWAITING REVIEW", "REJECTED"]


@pytest.mark.parametrize(("fault", "sent"), [("dropped_after", 1), ("500", 1), ("401", 2)])
def test_a_request_to_return_is_sent_again_only_after_a_refusal(fault, sent, study, row, prolific):
    person = prolific.world.arrive(row.prolific_id)
    prolific.world.finish(person["submission"], "NOCODE")
    follow(study_id=study.pk)
    pk = submission_of(person).pk
    prolific.fault("POST", "request-return/", fault)
    prolific.requests.clear()

    for _ in range(2):
        with suppress(ProlificError):
            request_returns(study_id=study.pk, submission_ids=[pk], reason="No answers")

    assert sum("request-return" in line for line in prolific.requests) == sent


@pytest.fixture
def reviewed(prolific):
    """A full study: everybody finished and awaits review."""
    row = published(make_recruiting(items=3))
    people = [arrive(prolific, row) for _ in range(row.places)]
    for person, annotator in people:
        finish(prolific, person, annotator)
    follow(study_id=row.study_id)
    return row, people


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("leaves", ["returns", "is rejected"])
def test_prolific_pauses_a_full_study_and_refilling_starts_it(leaves, reviewed, prolific, capsys):
    row, people = reviewed
    if leaves == "returns":
        prolific.world.give_back(people[0][0]["submission"])
    else:
        message = {"rejection_category": "LOW_EFFORT", "message": MESSAGE}
        prolific.world.reject(people[0][0]["submission"], message)
    assert prolific.world.studies[row.prolific_id]["status"] == "PAUSED"

    call_command("prolific", "sync", row.study.slug)

    said = capsys.readouterr().out
    assert "1 place on Prolific stays empty until recruiting is started again" in said
    assert "more place" not in said  # nothing new is to be paid
    assert publication.refill(study_id=row.study_id) == 1
    assert prolific.world.studies[row.prolific_id]["status"] == "ACTIVE"
    call_command("prolific", "sync", row.study.slug)
    assert "stays empty" not in capsys.readouterr().out


def test_nobody_is_invited_to_a_study_that_is_closed_here(reviewed, prolific):
    row, people = reviewed
    prolific.world.give_back(people[0][0]["submission"])
    change_state(study_id=row.study_id, state="closed")

    with pytest.raises(NotAllowed, match="closed here"):
        publication.refill(study_id=row.study_id)
