"""Messages through Prolific: drafted, previewed, sent by a press, and to nobody twice."""

import csv
import datetime as dt
import io
from collections import Counter

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import services
from annotation.prolific.api.transport import NotAllowed, ProlificError
from annotation.prolific.sync.sync import follow
from annotation.researchers.reaching import AUDIENCES
from annotation.services.identities import purge_identities
from demo.prolific.records import RESEARCHER
from extras.messages import sending
from extras.messages.models import MessageRecipient, ProlificMessage
from extras.messages.sending import audience_of, audiences, recipients_of, save_draft, send
from studies.held_copies import MORE, PersonIn
from tests.annotation.prolific.life import arrive, finish

pytestmark = pytest.mark.django_db
TEXT = "Thank you <b>all</b>!\nThe second part & its pay: 10 > 9."


@pytest.fixture
def people(study, row, prolific):
    """Three people who completed."""
    came = [arrive(prolific, row) for _ in range(3)]
    for person, annotator in came:
        finish(prolific, person, annotator)
    follow(study_id=study.pk)
    return came


@pytest.fixture
def draft(study, people) -> ProlificMessage:
    return save_draft(study_id=study.pk, audience="completed", text=TEXT)


def received(prolific) -> Counter[str]:
    """How many messages each person has."""
    return Counter(one["to"] for one in prolific.world.messages if one["to"] != RESEARCHER)


def once_each(people) -> Counter[str]:
    return Counter(person["participant"] for person, _ in people)


def minutes_pass() -> None:
    earlier = timezone.now() - dt.timedelta(seconds=90)
    MessageRecipient.objects.filter(tried_at__isnull=False).update(tried_at=earlier)


def press(study, draft, people: int = 3):
    return send(study_id=study.pk, message_id=draft.pk, confirmed=people)


def test_everybody_gets_it_once_however_often_it_is_pressed(study, draft, people, prolific):
    for _ in range(2):
        done = press(study, draft)

    assert (done.people, done.sent, done.left) == (3, 3, 0)
    assert received(prolific) == once_each(people)
    (logged,) = study.log.filter(event="message on Prolific")
    assert logged.detail["people"] == 3
    assert not any(person["participant"] in str(logged.detail) for person, _ in people)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("fault", ["dropped_after", "500", "dropped_before", "429", "401"])
def test_after_a_lost_answer_only_those_without_it_get_it(fault, study, draft, people, prolific):
    prolific.fault("POST", "messages/bulk/", fault)
    with pytest.raises(ProlificError):
        press(study, draft)
    minutes_pass()

    assert press(study, draft).sent == 3
    assert received(prolific) == once_each(people)


def test_a_message_that_prolific_may_not_show_yet_is_not_sent_again(
    study, draft, people, prolific, monkeypatch
):
    prolific.fault("POST", "messages/bulk/", "dropped_after")
    with pytest.raises(ProlificError):
        press(study, draft)
    monkeypatch.setattr(sending, "messages_with", lambda *_: [])

    assert press(study, draft).unsure == 3
    assert received(prolific) == once_each(people)


def test_a_crash_while_sending_loses_nobody(study, draft, people, prolific, monkeypatch):
    monkeypatch.setattr(sending, "write", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        press(study, draft)
    monkeypatch.undo()
    minutes_pass()

    assert press(study, draft).sent == 3
    assert received(prolific) == once_each(people)


@pytest.mark.nightly
def test_one_who_is_refused_does_not_keep_the_others_from_it(study, draft, people, prolific):
    blocking = people[1][0]["participant"]
    prolific.world.blocking.add(blocking)

    done = press(study, draft)

    assert (done.sent, done.refused, done.left) == (2, 1, 0)
    assert received(prolific) == once_each(people) - Counter([blocking])


@pytest.mark.nightly
def test_the_people_are_those_whom_a_user_saw(study, draft, people, row, prolific):
    services.withdraw(annotator_id=people[0][1].pk)

    with pytest.raises(NotAllowed, match="2 people"):
        press(study, draft)

    assert prolific.world.messages == []
    assert press(study, draft, 2).sent == 2
    assert people[0][0]["participant"] not in received(prolific)


def test_deleted_ids_are_not_written_to(study, draft, people, prolific):
    purge_identities(study_id=study.pk)

    with pytest.raises(NotAllowed, match="none of these"):
        press(study, draft)
    assert recipients_of(study, audience_of(study, "everybody")) == []


def test_what_was_written_to_a_deleted_person_is_deleted(study, people, draft):
    one, other = (annotator for _, annotator in people[:2])
    for each in (one, other):
        save_draft(study_id=study.pk, audience=f"annotator-{each.pseudonym}", text="Was it you?")

    for held in MORE:
        held.forget(PersonIn(one.study, one.pseudonym, one.created_at, None))

    left = set(ProlificMessage.objects.values_list("audience", flat=True))
    assert left == {"completed", f"annotator-{other.pseudonym}"}


def test_extras_name_people_to_write_to(study, row):
    assert {each.name for each in AUDIENCES} <= {each.name for each in audiences(study)}


@pytest.mark.parametrize(
    ("audience", "text", "problem"),
    [("completed", "  ", "Write"), ("completed", "x" * 3001, "3,001"), ("nobody", "x", "Choose")],
)
def test_a_bad_draft_is_refused_in_words(audience, text, problem, study, row):
    with pytest.raises(NotAllowed, match=problem):
        save_draft(study_id=study.pk, audience=audience, text=text)


@pytest.mark.nightly
def test_from_the_page_of_an_annotator_to_the_table(study, people, prolific):
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    person, annotator = people[2]
    write = reverse("messages:write", args=[study.slug])
    to = f"annotator-{annotator.pseudonym}"
    shown = client.get(reverse("people:person", args=[study.slug]), {"rater": annotator.pseudonym})
    assert f"{write}?to={to}" in shown.content.decode()
    assert client.get(write, {"to": "annotator-x"}).status_code == 404
    assert client.post(write, {"to": to, "text": ""}).status_code == 422

    preview = client.post(f"{write}?to={to}", {"to": to, "text": "Was it you?"}, follow=True)

    assert "Send to 1 person" in preview.content.decode()
    assert prolific.world.messages == []
    address = preview.redirect_chain[-1][0]
    prolific.fault("POST", "messages/", "429")
    refused = client.post(address, {"action": "send", "people": "1"}, follow=True)
    assert "Wait a minute" in refused.content.decode()
    sent = client.post(address, {"action": "send", "people": "1"}, follow=True)
    assert "Message sent to 1 of 1." in sent.content.decode()
    assert received(prolific) == Counter([person["participant"]])
    late = client.post(address, {"action": "delete"}, follow=True)
    assert "This message was sent" in late.content.decode()

    prolific.world.write(
        person["participant"], RESEARCHER, "Yes", next(iter(prolific.world.studies))
    )
    study.recruitment.account = {}
    study.recruitment.save()
    follow(study_id=study.pk)
    listed = client.get(reverse("messages:list", args=[study.slug]))
    assert "1 message about this study is unread" in listed.content.decode()
    file = client.get(reverse("messages:list", args=[study.slug]), {"format": "csv"})
    (line,) = csv.DictReader(io.StringIO(b"".join(file).decode("utf-8-sig")))
    assert (line["by"], line["to"], line["people"]) == ("ada", annotator.pseudonym, "1")
    assert person["participant"] not in str(line)
