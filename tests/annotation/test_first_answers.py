"""Open links: a script cannot keep the seats from everybody else."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation import services
from annotation.models import Annotator, LinkStart
from annotation.tasks import release_expired_seats
from studies.models import Study, StudyLog
from tests.annotation.pages.walking import PID, post_answer
from tests.factories import make_items, make_study, sign_in, walk_in

pytestmark = pytest.mark.django_db


def by_ids(entry: str) -> Study:
    study = make_study(entry=entry, items_per_annotator=3, annotations_per_item=2, minutes=20)
    make_items(study, 3)
    return study


@pytest.fixture
def study() -> Study:
    return by_ids("link")


def seats_taken(study: Study) -> int:
    return sum(study.all_items.values_list("seats_taken", flat=True))


def start(study: Study, address: str = "198.51.100.7"):
    client = Client(REMOTE_ADDR=address)
    return client, client.post(f"/s/{study.slug}/")


def go_to_items(study: Study, address: str = "198.51.100.7") -> Client:
    client, _ = start(study, address)
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})
    client.post(f"/s/{study.slug}/instructions/")
    return client


def pass_time(study: Study, minutes: int) -> None:
    """Let so much time pass for everybody, and the schedule run."""
    for annotator in study.annotators.all():
        for name in ("expires_at", "first_answer_by"):
            if moment := getattr(annotator, name):
                setattr(annotator, name, moment - timedelta(minutes=minutes))
        annotator.save()
    release_expired_seats()


def test_seats_of_people_who_never_answer_are_released_soon(study):
    go_to_items(study)
    assert seats_taken(study) == 3

    pass_time(study, minutes=14)
    assert seats_taken(study) == 3
    pass_time(study, minutes=2)

    assert seats_taken(study) == 0
    assert Annotator.objects.get().state == "timed_out"


def test_more_time_does_not_hold_seats_without_an_answer(study):
    go_to_items(study)
    annotator = Annotator.objects.get()
    pass_time(study, minutes=14)
    Annotator.objects.update(expires_at=timezone.now() + timedelta(minutes=3))
    services.extend(annotator_id=annotator.pk)

    pass_time(study, minutes=2)

    assert seats_taken(study) == 0


def test_after_the_first_answer_the_studys_time_limit_applies(study):
    client = go_to_items(study)
    post_answer(client, client.get(f"/s/{study.slug}/task/"))

    pass_time(study, minutes=30)

    assert seats_taken(study) == 3
    assert Annotator.objects.get().first_answer_by is None


def test_after_a_long_read_answers_are_stored_as_usual(study):
    client = go_to_items(study)
    page = client.get(f"/s/{study.slug}/task/")
    pass_time(study, minutes=16)

    response = post_answer(client, page)

    annotator = Annotator.objects.get()
    assert response.headers["Location"] == f"/s/{study.slug}/task/2/"
    assert annotator.state == "annotating"
    assert seats_taken(study) == 3
    assert annotator.assignments.get(position=1).annotation.standing == "counted"
    pass_time(study, minutes=16)
    assert seats_taken(study) == 3


@pytest.mark.parametrize("entry", ["prolific", "list"])
def test_people_identified_otherwise_keep_their_time(entry):
    study = by_ids(entry)
    if entry == "list":
        study.invitations.create(key="p1")
    walk_in(study, "p1")

    pass_time(study, minutes=40)

    assert seats_taken(study) == 3


def test_seats_of_unverified_ids_are_released_like_those_of_an_open_link():
    study = by_ids("prolific")
    client = go_by_id(study)
    assert seats_taken(study) == 3
    page = client.get(f"/s/{study.slug}/task/")

    pass_time(study, minutes=14)
    assert seats_taken(study) == 3
    pass_time(study, minutes=2)
    assert seats_taken(study) == 0

    # Who has only read so far goes on, with the seats that are free, also by the link.
    again = client.get(f"/s/{study.slug}/?PROLIFIC_PID={PID}&SESSION_ID=s1")
    assert again.headers["Location"] == f"/s/{study.slug}/task/"
    post_answer(client, page)
    pass_time(study, minutes=30)
    assert seats_taken(study) == 3


@pytest.mark.parametrize("how", ["signed", "known"])
def test_an_id_that_prolific_confirms_later_keeps_its_time(how):
    study = by_ids("prolific")
    go_by_id(study)

    confirmed = {"signed": services.note_signed, "known": services.confirm}[how]
    confirmed(annotator_id=Annotator.objects.get().pk)
    pass_time(study, minutes=30)

    assert seats_taken(study) == 3


def test_reading_the_consent_for_long_ends_no_part():
    study = by_ids("prolific")
    Client().get(f"/s/{study.slug}/?PROLIFIC_PID={PID}&SESSION_ID=s1")

    pass_time(study, minutes=16)

    assert Annotator.objects.get().state == "arrived"


def go_by_id(study: Study) -> Client:
    client = Client()
    client.get(f"/s/{study.slug}/?PROLIFIC_PID={PID}&SESSION_ID=s1")
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})
    client.post(f"/s/{study.slug}/instructions/")
    return client


def test_starts_are_limited_by_address(study, settings):
    settings.LINK_STARTS_PER_HOUR = 3
    for _ in range(3):
        assert start(study)[1].status_code == 303

    _, refused = start(study)
    _, elsewhere = start(study, "203.0.113.5")

    assert refused.status_code == 429
    assert "Please wait 60 minutes, then press Start again." in refused.content.decode()
    assert refused.headers["Retry-After"] == "3600"
    assert elsewhere.status_code == 303
    assert Annotator.objects.count() == 4


def test_a_forged_header_allows_no_more_starts(study, settings):
    settings.LINK_STARTS_PER_HOUR = 3
    for number in range(5):
        Client(REMOTE_ADDR="198.51.100.7").post(
            f"/s/{study.slug}/", headers={"X-Forwarded-For": f"203.0.113.{number}"}
        )

    assert Annotator.objects.count() == 3


def start_one(study: Study, number: int) -> tuple[Client, int]:
    if study.entry == "link":
        client, first = start(study)
    else:
        study.invitations.create(key=f"{number:024x}")
        client = Client()
        first = with_id(study, f"{number:024x}", client=client)
    return client, first.status_code


@pytest.mark.parametrize("entry", ["link", "prolific", "list"])
def test_a_class_in_one_room_can_start_and_come_back(entry):
    study = make_study(entry=entry)
    began = [start_one(study, number) for number in range(5)]
    # Most have started before the last of them. Who is on a list is not even counted.
    for start_of_one in LinkStart.objects.all()[:1]:
        same = {"study": study, "address": start_of_one.address}
        LinkStart.objects.bulk_create([LinkStart(**same) for _ in range(140)])
    began += [start_one(study, number) for number in range(5, 10)]

    assert {code for _, code in began} == {303 if entry == "link" else 302}
    assert LinkStart.objects.count() == (0 if entry == "list" else 150)
    # The limit is lowered while they work: nobody who began is refused.
    study.starts_per_hour = 1
    study.save()
    for client, _ in began[:5]:
        assert client.get(f"/s/{study.slug}/").status_code in (302, 303)
        assert client.get(f"/s/{study.slug}/consent/").status_code == 200


@pytest.mark.parametrize("entry", ["link", "prolific"])
def test_a_study_sets_its_own_limit_and_says_when_to_come_back(entry, settings):
    settings.LINK_STARTS_PER_HOUR = 1
    study = make_study(entry=entry, starts_per_hour=4)
    refused = None
    for number in range(5):
        refused = start(study)[1] if entry == "link" else with_id(study, f"{number:024x}")

    assert study.annotators.count() == 4
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "3600")
    assert "Please wait 60 minutes" in refused.content.decode()
    study.starts_per_hour = 0
    study.save()
    again = start(study)[1] if entry == "link" else with_id(study, f"{9:024x}")
    assert again.status_code in (302, 303)


def test_invented_ids_have_a_limit_too():
    study = make_study(entry="prolific", starts_per_hour=3)

    found = [with_id(study, f"{number:024x}") for number in range(6)]

    assert [each.status_code for each in found] == [302] * 3 + [429] * 3
    assert "Please wait 60 minutes, then open the link again." in found[-1].content.decode()
    assert found[-1].headers["Retry-After"] == "3600"
    assert Annotator.objects.count() == 3


def test_invented_ids_from_many_addresses_meet_the_limit_of_the_study():
    study = make_study(entry="prolific", starts_per_hour=1)

    found = [with_id(study, f"{n:024x}", f"198.51.100.{n}").status_code for n in range(1, 24)]

    assert found == [302] * 20 + [429] * 3


def test_the_ids_of_a_list_are_not_found_by_trying():
    study = make_study(entry="list", starts_per_hour=3)
    study.invitations.create(key="student-7")

    tried = [with_id(study, f"student-{number}").status_code for number in (1, 2, 3, 7)]

    assert tried == [400, 400, 400, 429]
    assert with_id(study, "student-7", "203.0.113.5").status_code == 302


def with_id(study, pid, address="198.51.100.7", client=None):
    client = client or Client()
    url = f"/s/{study.slug}/?PROLIFIC_PID={pid}&SESSION_ID=s{pid}"
    return client.get(url, REMOTE_ADDR=address)


def test_returning_is_not_a_start(study, settings):
    settings.LINK_STARTS_PER_HOUR = 1
    client, _ = start(study)
    code = Annotator.objects.get().resume_code

    again = Client(REMOTE_ADDR="198.51.100.7").post(f"/s/{study.slug}/", {"code": code})

    assert client.post(f"/s/{study.slug}/").status_code == 303
    assert again.status_code == 303


def test_an_address_is_kept_as_a_hash_apart_from_the_person(study):
    start(study)

    stored = LinkStart.objects.get()
    assert "198.51" not in str(LinkStart.objects.values())
    LinkStart.objects.update(created_at=timezone.now() - timedelta(hours=13))
    start(study)
    assert not LinkStart.objects.filter(pk=stored.pk).exists()


def test_a_button_releases_seats_of_people_who_never_answered(study):
    silent, busy = go_to_items(study), go_to_items(study)
    post_answer(busy, busy.get(f"/s/{study.slug}/task/"))
    researcher = sign_in(study)

    page = researcher.get(f"/studies/{study.slug}/people/").content.decode()
    researcher.post(f"/studies/{study.slug}/people/", {"action": "release"})
    after = researcher.get(f"/studies/{study.slug}/people/").content.decode()

    assert "Seats without an answer" in page
    assert "1 annotator holds 3 seats" in page
    assert "1 annotator holds" not in after
    assert seats_taken(study) == 3
    assert StudyLog.objects.get(event="unanswered seats released").detail == {
        "people": 1,
        "seats": 3,
    }
    assert silent.get(f"/s/{study.slug}/task/").status_code == 303


def test_on_prolific_nothing_is_released():
    study = make_study(items_per_annotator=3, annotations_per_item=2)
    make_items(study, 3)
    walk_in(study)
    owner = sign_in(study, "owner")

    page = owner.get(f"/studies/{study.slug}/people/").content.decode()
    owner.post(f"/studies/{study.slug}/people/", {"action": "release"})

    assert "without an answer" not in page
    assert seats_taken(study) == 3


def test_the_time_for_a_first_answer_starts_again_with_each_step(study):
    client, _ = start(study)
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})
    pass_time(study, minutes=14)
    client.post(f"/s/{study.slug}/instructions/")
    pass_time(study, minutes=14)

    assert seats_taken(study) == 3
