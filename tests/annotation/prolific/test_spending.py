"""Every press that spends money follows one rule: need, balance, amount."""

import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotation.models import Annotator, BonusPayment, ProlificStudy
from annotation.prolific import money
from annotation.prolific.launch import launch, publication
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.launch.open_places import need_of_places
from annotation.prolific.spending import spent_so_far
from annotation.prolific.sync.sync import follow
from studies.models import Item
from tests.annotation.prolific.life import (
    BALANCE,
    launched,
    make_recruiting,
    owed_in,
    published,
    two_return,
    with_quotas,
)
from tests.factories import sign_in

pytestmark = pytest.mark.django_db


class Press:
    """A press that spends `amount` within the need, and `more` beyond it; empty if it cannot."""

    amount, more = "", ""

    def __init__(self, prolific, monkeypatch):
        self.prolific, self.patch = prolific, monkeypatch

    def prepare(self, *, beyond: bool) -> None:
        raise NotImplementedError

    def do(self, *, typed: str = "", beyond: bool = False) -> str:
        """Press, and return what the user is told."""
        raise NotImplementedError

    def page(self, name: str, **data: str) -> str:
        client = sign_in(self.study, role="owner")
        response = client.post(reverse(f"people:prolific{name}", args=[self.study.slug]), data)
        if response.status_code == 200:
            return response.content.decode()
        return client.get(response.url).content.decode()

    def command(self, *args: str, typed: str, beyond: bool) -> str:
        self.patch.setattr(
            "builtins.input", lambda text: "yes" if text.endswith("Type yes: ") else typed
        )
        more = ["--beyond-need"] if beyond else []
        try:
            call_command("prolific", args[0], self.study.slug, *args[1:], *more)
        except CommandError as error:
            return str(error)
        return "done"

    @property
    def spent(self) -> int:
        return 1_000_000 - self.prolific.world.balance


class Publish(Press):
    amount, more = "37.80", "50.40"

    def prepare(self, *, beyond):
        self.study = make_recruiting()
        launched(self.study, LaunchPlan(places=8 if beyond else None))

    def do(self, *, typed="", beyond=False):
        return self.page("-publish", sum=typed, beyond="yes" if beyond else "")


class PublishByCommand(Publish):
    def do(self, *, typed="", beyond=False):
        return self.command("publish", typed=typed, beyond=beyond)


class Places(Press):
    """Two more answers for each item need four more people; buying nine is beyond it."""

    amount, more = "25.20", "56.70"

    def prepare(self, *, beyond):
        self.study = make_recruiting()
        published(self.study)
        Item.objects.filter(study=self.study).update(seats_needed=5)
        self.extra = "9" if beyond else "4"
        self.prolific.world.balance = 1_000_000

    def do(self, *, typed="", beyond=False):
        said = {"sum": typed, "beyond": "yes" if beyond else "", "seen": "6"}
        return self.page("", action="places", extra=self.extra, sure="yes", **said)


class PlacesByCommand(Places):
    def do(self, *, typed="", beyond=False):
        return self.command("places", self.extra, typed=typed, beyond=beyond)


class Bonuses(Press):
    amount = "4.20"

    def prepare(self, *, beyond):
        self.study = make_recruiting()
        two_return(published(self.study), self.prolific)
        payment = money.prepare(study_id=self.study.pk, lines=owed_in(self.study))
        self.payment = money.set_up(payment_id=payment.pk)
        self.prolific.world.balance = 1_000_000

    def do(self, *, typed="", beyond=False):
        sent = {"payment": str(self.payment.pk), "action": "pay", "sure": "yes", "sum": typed}
        return self.page("-bonuses", total=str(self.payment.total), **sent)


class BonusesByCommand(Bonuses):
    def do(self, *, typed="", beyond=False):
        return self.command("settle", "--bonuses", typed=typed, beyond=False)


PRESSES = [Publish, PublishByCommand, Places, PlacesByCommand, Bonuses, BonusesByCommand]
BUYING = [press for press in PRESSES if press.more]


@pytest.fixture
def press(request, prolific, monkeypatch) -> Press:
    prolific.world.balance = 1_000_000
    return request.param(prolific, monkeypatch)


@pytest.mark.parametrize("press", BUYING, indirect=True)
def test_more_than_is_needed_is_refused_unless_it_is_meant_and_the_amount_typed(press):
    press.prepare(beyond=True)

    assert "more than it needs" in press.do(typed=press.more)
    assert press.spent == 0
    for wrong in ("", "yes", press.amount):
        said = press.do(typed=wrong, beyond=True)
        assert f"Type {press.more} to confirm" in said or "Nothing" in said or "No places" in said
        assert press.spent == 0

    press.do(typed=press.more, beyond=True)
    assert press.spent == int(press.more.replace(".", ""))


@pytest.mark.parametrize("press", PRESSES, indirect=True)
def test_what_is_needed_is_bought_for_the_amount_once_there_is_enough_and_it_is_typed(
    press, monkeypatch
):
    press.prepare(beyond=False)
    press.prolific.world.balance = too_little = int(press.amount.replace(".", "")) - 120

    said = press.do(typed=press.amount)

    assert "$1.20 are missing" in said
    assert "on Prolific, under Finance" in said
    assert press.prolific.world.balance == too_little

    press.prolific.world.balance = 1_000_000
    # As if the study had spent nothing yet, which is so before it is published.
    monkeypatch.setattr("annotation.prolific.spending.spent_so_far", lambda _study: 0)
    assert "to confirm" in press.do(typed="1.00")
    assert press.spent == 0

    press.do(typed=press.amount)
    assert press.spent == int(press.amount.replace(".", ""))


@pytest.mark.parametrize("press", [Publish, Places, Bonuses], indirect=True)
def test_pages_show_the_need_and_the_balance_before_the_press(press):
    press.prepare(beyond=False)
    client = sign_in(press.study, role="owner")

    if isinstance(press, Places):
        url = reverse("people:prolific", args=[press.study.slug])
        page = client.post(url, {"action": "places", "extra": "4"}).content.decode()
        why = "The study needs 4 more people: 30 answers are missing, at 3 for each person, "
    else:
        name = "bonuses" if isinstance(press, Bonuses) else "publish"
        page = client.get(reverse(f"people:prolific-{name}", args=[press.study.slug]))  # type: ignore[assignment]
        page = page.content.decode()
        why = "2 for partial work" if isinstance(press, Bonuses) else "The study needs 6 more"

    assert why in page
    assert "is $10,000.00" in page


def test_one_person_is_needed_and_nine_thousand_places_are_refused(prolific, study, row):
    for item in Item.objects.filter(study=study)[:3]:
        item.seats_needed = 4
        item.save()
    prolific.world.balance = 10**9

    assert need_of_places(study).people == 1
    url = reverse("people:prolific", args=[study.slug])
    client = sign_in(study)
    page = client.post(url, {"action": "places", "extra": "9000"}).content.decode()
    assert "8,999 of these places are more than the study needs" in page
    client.post(url, {"action": "places", "extra": "9000", "sure": "yes", "seen": "6"})

    assert prolific.world.studies[row.prolific_id]["total_available_places"] == 6


def test_full_groups_need_nobody_even_if_seats_are_open(prolific):
    study = with_quotas(make_recruiting(), each=1)
    published(study, LaunchPlan(balance=BALANCE))
    Item.objects.filter(study=study).update(seats_needed=5)

    need = need_of_places(study)

    assert need.people == 0
    assert "the quota groups admit only 6 more" in need.why


def test_a_group_of_its_own_needs_what_its_quota_has_open(prolific):
    study = with_quotas(make_recruiting(), each=1)
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(balance=BALANCE, apart=True))
    first, *_ = launch.launch(study_id=study.pk)
    total = publication.look_at_publishing(study)[0]
    publication.publish(study_id=study.pk, confirmed=total.plain)
    assert need_of_places(study, first.label).people == 0

    group = next(group for group in study.quota_groups.all() if str(group) == first.label)
    group.target = 3
    group.save()

    assert need_of_places(study, first.label).people == 2


def test_people_on_their_way_are_not_bought_again(prolific, study, row):
    Annotator.objects.create(study=study, state="consented", expires_at="2999-01-01T00:00Z")
    Item.objects.filter(study=study).update(seats_needed=5)

    assert need_of_places(study).people == 3


def test_what_was_spent_counts_places_and_bonuses(prolific, study, row):
    assert spent_so_far(study) == 3780
    payment = {"prolific_study": row, "sent_at": timezone.now()}
    BonusPayment.objects.create(**payment, state="paid", bulk_id="b", total=100)
    BonusPayment.objects.create(**payment, state="ready", bulk_id="c", total=70)

    assert spent_so_far(study) == 3880


def test_a_balance_that_cannot_be_read_stops_nothing(prolific):
    study = make_recruiting()
    launched(study)
    prolific.fault("GET", "/balance/", "500", times=9)

    client = sign_in(study)
    page = client.get(reverse("people:prolific-publish", args=[study.slug])).content.decode()
    publication.publish(study_id=study.pk, confirmed="37.80")

    assert "balance could not be read" in page
    assert ProlificStudy.objects.get(study=study).status != "UNPUBLISHED"


# The calls that spend, and the functions of the program whose callers go by the rule.
SPENDING = re.compile(r'\.(set_places|pay_bonuses)\(|"(SCHEDULE_)?PUBLISH"')
ALLOWED = {
    "annotation/prolific/launch/publication.py",
    "annotation/prolific/money.py",
}


def test_money_is_spent_only_where_the_rule_is():
    found = {
        str(path)
        for folder in ("annotation", "extras", "api", "studies", "config")
        for path in Path(folder).rglob("*.py")
        if SPENDING.search(path.read_text())
    }

    assert found == ALLOWED
    for path in ALLOWED:
        assert ".check(" in Path(path).read_text()


def test_the_rule_is_read_after_a_change_on_prolific(prolific, study, row):
    """Places that somebody added there are counted before more are bought."""
    Item.objects.filter(study=study).update(seats_needed=5)
    prolific.world.patch_study(row.prolific_id, {"total_available_places": 10})
    follow(study_id=study.pk)

    assert need_of_places(study).people == 0
