"""Many people at once, who leave, come late, reload and press twice, through the real pages."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from threading import Event, Lock

import pytest
from django.db import connection
from django.db.models import F, Sum
from django.test import Client
from django.utils import timezone

from annotation import services
from annotation.models import Annotation, Annotator, Assignment
from annotation.seats import flow
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from studies.models import Item, Study
from tests.annotation.pages.walking import arrive, post_answer
from tests.factories import make_item, make_items, make_study

pytestmark = pytest.mark.django_db(transaction=True)

GENDER = QuotaQuestion("gender", "Gender?", {"woman": "Woman", "man": "Man"})
CHECKS = 2
# What happens to a person in mid-work; most are spared.
FATES = ["none"] * 12 + ["return", "return and go on", "leave", "time out and go on", "withdraw"]


@dataclass
class Crowd:
    """People who keep arriving until every item has its answers."""

    study: Study
    seed: int
    numbers: count = field(default_factory=lambda: count(1))
    lock: Lock = field(default_factory=Lock)
    fates: Counter[str] = field(default_factory=Counter)
    endings: dict[str, str] = field(default_factory=dict)
    stopped: Event = field(default_factory=Event)

    def next_person(self) -> int | None:
        """The platform sends people while answers are missing, some too many, then nobody."""
        with self.lock:
            number = next(self.numbers)
        items = Item.objects.filter(study=self.study)
        while missing := items.aggregate(n=Sum(F("seats_needed") - F("answered")))["n"]:
            at_work = Annotator.objects.filter(study=self.study, state__in=flow.ACTIVE).count()
            if at_work * self.study.items_per_annotator < missing + 30:
                return number
            # Whoever left holds their seats until they are noticed.
            services.release_expired(study_id=self.study.pk)
            if self.stopped.wait(0.05):
                break
        return None

    def work(self, _worker: int) -> None:
        try:
            while (number := self.next_person()) is not None:
                self.take_part(number)
        except BaseException:
            # Who failed holds seats for ever: the others must not wait for them.
            self.stopped.set()
            raise
        finally:
            connection.close()

    def take_part(self, number: int) -> None:
        rng = random.Random(f"{self.seed} {number}")
        pid = f"{number:024x}"
        client = arrive(self.study, pid)
        self.send(client, "consent/", consent="yes")
        self.send(client, "about/", attr_gender=self.gender(rng))
        self.send(client, "instructions/")
        fate = random.Random(f"fate {self.seed} {number}").choice(FATES)
        with self.lock:
            self.fates[fate] += 1
        places = self.study.items_per_annotator
        turning_point = rng.randrange(1, places)
        self.answer(client, rng, items=turning_point)
        annotator = Annotator.objects.get(study=self.study, prolific_identity__pid=pid)
        if fate == "leave":
            self.expire(annotator, noticed=rng.random() < 0.5)
            return
        if fate == "withdraw":
            self.send(client, "withdraw/")
            return
        if fate.startswith("return"):
            services.mark_returned(annotator_id=annotator.pk)
        elif fate == "time out and go on":
            self.expire(annotator, noticed=True)
        if fate.endswith("go on"):
            self.send(client, "done/")
        elif fate == "return":
            return
        client = client if rng.random() < 0.7 else arrive(self.study, pid)
        self.answer(client, rng, items=places + CHECKS)
        self.send(client, "feedback/", comments=f"I am {number}")
        page = client.get(f"/s/{self.study.slug}/done/")
        assert page.status_code == 200, page.status_code
        with self.lock:
            self.endings[pid] = "completed" if b"You have finished" in page.content else "other"

    def gender(self, rng: random.Random) -> str:
        """The platform mostly sends those whom the study still needs."""
        groups = self.study.quota_groups.filter(
            is_everyone_else=False, target__gt=F("reserved") + F("completed")
        )
        needed = [group.criteria["gender"] for group in groups]
        if rng.random() < 0.1 or not needed:
            return "prefer_not_to_say"
        return rng.choice(needed)

    def expire(self, annotator: Annotator, *, noticed: bool) -> None:
        Annotator.objects.filter(pk=annotator.pk).update(
            expires_at=timezone.now() - timedelta(seconds=1)
        )
        if noticed:
            services.release_expired(study_id=self.study.pk)

    def send(self, client: Client, step: str, **fields: str) -> None:
        response = client.post(f"/s/{self.study.slug}/{step}", fields)
        assert response.status_code == 303, (step, response.status_code)

    def answer(self, client: Client, rng: random.Random, *, items: int) -> None:
        """Answer up to `items` items, with a reload, a double press or another thought at times."""
        for _ in range(items):
            page = client.get(f"/s/{self.study.slug}/task/")
            if page.status_code == 303:
                assert page["Location"].endswith("/feedback/"), page["Location"]
                return
            assert page.status_code == 200, page.status_code
            if rng.random() < 0.1:
                page = client.get(f"/s/{self.study.slug}/task/")
            choice, certainty = rng.choice("ab"), str(rng.randint(1, 100))
            presses = 2 if rng.random() < 0.1 else 1
            for _ in range(presses):
                sent = post_answer(client, page, choice=choice, certainty=certainty)
                assert sent.status_code == 303, sent.status_code
            if rng.random() < 0.05:
                post_answer(client, page, choice=rng.choice("ab"), certainty="50")


def run(*, items: int, each: int, people: int, seed: int) -> Crowd:
    study = make_study(items_per_annotator=each, annotations_per_item=3)
    make_items(study, items)
    for _ in range(CHECKS):
        make_item(study=study, split="attention_check", check_answer="r1")
    places = items * 3 // each
    groups = [Quota(places // 3, {"gender": gender}) for gender in ("woman", "man")]
    set_quotas(study_id=study.pk, questions=[GENDER], groups=[*groups, Quota(10 * places, {})])
    crowd = Crowd(study, seed)
    with ThreadPoolExecutor(max_workers=people) as pool:
        list(pool.map(crowd.work, range(people)))
    services.release_expired(study_id=study.pk)
    return crowd


def everything_is_exact(crowd: Crowd) -> None:
    study = crowd.study
    items = Item.objects.filter(study=study)
    counted = Counter(
        Annotation.objects.filter(
            assignment__annotator__study=study, standing=Annotation.Standing.COUNTED
        ).values_list("assignment__item", flat=True)
    )
    assert set(counted.values()) == {3}
    assert len(counted) == items.count()
    assert set(items.values_list("seats_taken", "answered", "seats_needed")) == {(3, 3, 3)}
    assert set(
        Item.everything.filter(split="attention_check").values_list("seats_taken", "answered")
    ) == {(0, 0)}

    # Everybody who went on to the end got there, whatever had happened to them in between.
    assert set(crowd.endings.values()) == {"completed"}
    people = Annotator.objects.filter(study=study)
    assert people.filter(state="completed").count() == len(crowd.endings)
    assert not people.filter(state="annotating").exists()
    assert not Annotation.objects.filter(
        assignment__annotator__state="completed", standing="released"
    ).exists()

    held = people.filter(quota="completed")
    for group in study.quota_groups.all():
        assert (group.completed, group.reserved) == (held.filter(quota_group=group).count(), 0)
        if not group.is_everyone_else:
            assert group.completed == group.target, str(group)
    assert not people.filter(quota="reserved").exists()
    assert held.count() == study.quota_groups.aggregate(all=Sum("completed"))["all"]

    # Who takes up a seat again keeps the order they had: a few items may miss one of the two.
    orders = Assignment.objects.filter(annotation__standing="counted").values_list(
        "item", "shown_first"
    )
    assert len(set(orders)) >= 1.9 * items.count()


@pytest.mark.e2e
@pytest.mark.postgres
@pytest.mark.nightly  # With --all: about 90 s of computing.
@pytest.mark.timeout(900)
def test_fifty_people_at_once_leave_a_study_of_300_items_exact(settings):
    settings.LINK_STARTS_PER_HOUR = 0  # All have one address.
    crowd = run(items=300, each=15, people=50, seed=29)

    everything_is_exact(crowd)
    assert all(crowd.fates[fate] for fate in FATES), crowd.fates


@pytest.mark.nightly
@pytest.mark.slow
def test_a_small_crowd_leaves_a_small_study_exact():
    crowd = run(items=20, each=5, people=8, seed=63)

    everything_is_exact(crowd)
    assert all(crowd.fates[fate] for fate in FATES), crowd.fates
