"""A lab's week on the simulated Prolific, driven in Chromium: two workspaces, one ledger each."""

import datetime as dt
import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from annotation import services
from annotation.models import Annotator, Ending, ProlificStudy
from annotation.prolific.sync.polling import follow_all
from annotation.seats.flow import code_for
from annotation.seats.quotas import set_quotas
from demo.prolific.server import LAB_TOKEN
from extras.own_answers.bringing_back import BACK
from extras.own_answers.models import RetestVisit
from extras.own_answers.second_visits import answer_again, second_visit_code
from studies.models import Membership, Study
from tests.annotation.grids import grid
from tests.annotation.prolific.conftest import prolific  # noqa: F401  a fixture
from tests.annotation.prolific.life import GENDER, finish, make_recruiting, time_to_read
from tests.browser.conftest import fits_and_reads_well
from tests.extras.own_answers.people import bring_back

pytest.importorskip("extras.prolific_tools")
# With --all: about a minute in Chromium.
pytestmark = [
    pytest.mark.browser,
    pytest.mark.nightly,
    pytest.mark.django_db(transaction=True),
]


def read() -> None:
    """The minute's run of the worker."""
    time_to_read()
    follow_all()


def arrive(prolific, row):  # noqa: F811
    """Somebody of either sex takes a place, and walks to their first item here."""
    person = prolific.world.arrive(str(row.prolific_id))
    annotator = services.enter(
        study=row.study,
        pid=person["participant"],
        prolific_study_id=str(row.prolific_id),
        session_id=person["submission"],
    )
    services.consent(annotator_id=annotator.pk, version="v1")
    gender = {"Male": "man", "Female": "woman"}[person["sex"]]
    services.record_demographics(annotator_id=annotator.pk, demographics={"gender": gender})
    return person, services.finish_instructions(annotator_id=annotator.pk)


def lab_study(slug: str, owner: User) -> Study:
    """Ten people, six women and four men, answer for themselves, and some again a week later."""
    study = make_recruiting(
        items=10,
        per_person=3,
        slug=slug,
        title=slug.capitalize(),
        perspective="own",
        entry="prolific",
    )
    bring_back(study, 40)
    Membership.objects.create(study=study, user=owner, role=Membership.Role.OWNER)
    targets = {("woman",): 6, ("man",): 4}
    set_quotas(study_id=study.pk, questions=[GENDER], groups=grid([GENDER], targets))
    return study


def launch(page, slug: str) -> None:
    """Plan, draft, cost, publish, all by clicking."""
    page.goto(reverse("prolific_tools:filters", args=[slug]))
    page.get_by_label("Words in the name").fill("diet")
    page.get_by_role("button", name="Search filters").click()
    page.get_by_label("Vegan", exact=True).check()
    page.get_by_role("button", name="Add “Diet”").click()
    page.goto(reverse("people:prolific-plan", args=[slug]))
    for label in ("United States", "Male", "Female"):
        page.get_by_label(label, exact=True).check()
    page.get_by_label("Pay for people who are turned away").fill("0.20")
    page.get_by_label("At most this many people are turned away").fill("2")
    page.get_by_role("button", name="Save launch plan").click()
    fits_and_reads_well(page)
    page.goto(reverse("people:prolific-launch", args=[slug]))
    page.get_by_role("button", name="Create draft on Prolific").click()
    page.wait_for_url("**/publish/")
    publish(page)


def publish(page) -> None:
    button = page.get_by_role("button", name=re.compile("Publish and spend"))
    amount = re.search(r"[\d.]+$", button.inner_text().replace(",", ""))
    page.get_by_label("Type the amount to confirm").fill(amount[0])
    button.click()
    page.get_by_role("status").get_by_text(re.compile("ublished")).wait_for()


def press_need(page, slug: str, button: str, said: str) -> None:
    page.goto(reverse("studies:detail", args=[slug]))
    fits_and_reads_well(page)
    page.get_by_role("button", name=button).click()
    page.get_by_role("status").get_by_text(said).wait_for()


def approve_all(page, slug: str) -> None:
    page.goto(reverse("people:prolific-settle", args=[slug]))
    page.get_by_role("button", name="Approve selected").first.click()
    page.get_by_role("button", name=re.compile(r"Approve \d+ and pay")).click()
    page.get_by_role("status").get_by_text("Approvals requested").wait_for()


def test_a_week_of_a_lab_with_two_workspaces(prolific, signed_in, settings):  # noqa: F811
    prolific.add_lab()
    owner = User.objects.create_superuser("ada")
    own, shared = lab_study("own-lab", owner), lab_study("shared", owner)
    page = signed_in()

    # Monday: one study in each workspace.
    page.goto(reverse("people:prolific-accounts", args=["shared"]))
    page.get_by_label("Token").fill(LAB_TOKEN)
    page.get_by_role("button", name="Test and store token").click()
    page.get_by_text("Second lab").first.wait_for()
    for study in (own, shared):
        launch(page, study.slug)
    row, other = (ProlificStudy.objects.get(study=study) for study in (own, shared))
    strata = prolific.world.studies[row.prolific_id]["filters"]
    weights = next(one["weightings"] for one in strata if one["filter_id"] == "sex")
    assert sorted(weights.values()) in ([2, 3], [4, 6])
    cost = prolific.world.total_cost(450, 10)
    assert {prolific.world.wallet(one) for one in ("1" * 24, "2" * 24)} == {10_000_000 - cost}

    # Tuesday: one pause for both sides, and somebody who is turned away.
    pause_and_open(page, "own-lab")
    turned_away = prolific.world.arrive(str(row.prolific_id))
    annotator = services.enter(
        study=own, pid=turned_away["participant"], session_id=turned_away["submission"]
    )
    assert annotator.state == Annotator.State.ARRIVED
    prolific.world.finish(
        turned_away["submission"], code_for(study_id=own.pk, ending=Ending.INELIGIBLE)
    )
    read()
    came = [arrive(prolific, row) for _ in range(10)]
    for person, one in came:
        finish(prolific, person, one)
    groups = {str(g): (g.completed, g.target) for g in own.quota_groups.all()}
    assert sorted(groups.values()) == [(4, 4), (6, 6)]

    # Wednesday: somebody returns, Prolific pauses the full study, and one press refills the place.
    prolific.world.give_back(came[0][0]["submission"])
    read()
    press_need(page, "own-lab", "Refill 1 place", "Study reopened for 1 more")
    person, one = arrive(prolific, row)
    finish(prolific, person, one)
    read()

    # Thursday: pay.
    approve_all(page, "own-lab")

    # A week later: the second visit, in the same ledger.
    RetestVisit.objects.update(due_at=timezone.now() - dt.timedelta(minutes=1))
    page.goto(reverse("own_people:second-visits", args=["own-lab"]))
    fits_and_reads_well(page)
    page.get_by_label("Minutes").fill("5")
    page.get_by_label("Pay for each person").fill("1.50")
    page.get_by_role("button", name="Create draft on Prolific").click()
    fits_and_reads_well(page)
    publish(page)
    fits_and_reads_well(page)
    back = ProlificStudy.everything.get(study=own, label=BACK.name)
    for visit in RetestVisit.objects.filter(annotator__state=Annotator.State.COMPLETED):
        participant = visit.annotator.prolific_identity.pid
        again = prolific.world.arrive(back.prolific_id, participant)
        for answer in visit.answers.all():
            answer_again(visit_id=visit.pk, position=answer.position, choice="a", certainty=70)
        prolific.world.finish(again["submission"], second_visit_code(own.pk))
    read()
    approve_all(page, "own-lab")

    page.goto(reverse("prolific_tools:money", args=["own-lab"]))
    page.get_by_role("button", name="Refresh Prolific’s figures").click()
    page.get_by_text("All known figures match").first.wait_for()
    fits_and_reads_well(page)
    paid = page.get_by_role("row", name=re.compile("Rewards paid"))
    assert paid.inner_text().count("$60.20") == 2  # 10 × 4.50, 10 × 1.50, 0.20
    everything = prolific.world.wallet("1" * 24)
    assert everything == 10_000_000 - cost - prolific.world.total_cost(150, back.places)
    assert prolific.world.wallet("2" * 24) == 10_000_000 - cost
    assert not ProlificStudy.everything.get(pk=other.pk).submissions.exists()


def pause_and_open(page, slug: str) -> None:
    """Pause the study here, which pauses it there, and open it again."""
    for button, done in (("Pause study", "paused"), ("Open study", "started")):
        page.goto(reverse("studies:detail", args=[slug]))
        page.get_by_role("button", name=button).click()
        page.get_by_text(f"Recruiting on Prolific was {done} too").first.wait_for()
