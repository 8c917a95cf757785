"""What researchers see of people: only theirs, only pseudonyms, only text."""

import csv
import io

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation import services
from annotation.models import Annotator, CompletionCode, ProlificIdentity
from annotation.researchers.selectors import coverage, funnel, quota_grid
from studies.models import Membership, Study
from tests.annotation.grids import make_grid
from tests.factories import answer_all, finish, take_part, walk_in

pytestmark = pytest.mark.django_db

ATTACK = "<script>alert(1)</script>"


@pytest.fixture
def researcher() -> User:
    return User.objects.create_user("researcher", password="x")


@pytest.fixture
def study(researcher) -> Study:
    study = make_grid()
    Membership.objects.create(user=researcher, study=study, role=Membership.Role.VIEWER)
    return study


@pytest.fixture
def signed_in(researcher) -> Client:
    client = Client()
    client.force_login(researcher)
    return client


def test_platform_ids_are_not_in_the_list(study, signed_in):
    annotator = walk_in(study, "secret-pid", gender="woman", politics="democrat")

    html = signed_in.get(reverse("people:list", args=[study.slug])).content.decode()

    assert "secret-pid" not in html
    assert Annotator.objects.get().identity_hash not in html
    assert ProlificIdentity.objects.get().pid == "secret-pid"
    assert annotator.pseudonym in html


def test_text_of_people_and_studies_is_shown_as_text(study, signed_in):
    study.demographic_questions.filter(key="gender").update(
        label=ATTACK, options=[{"value": "woman", "label": ATTACK}]
    )
    Study.objects.filter(pk=study.pk).update(title=ATTACK)
    annotator = walk_in(study, gender="woman", politics="democrat")
    Annotator.objects.filter(pk=annotator.pk).update(pseudonym=ATTACK)

    html = signed_in.get(reverse("people:list", args=[study.slug])).content.decode()

    assert ATTACK not in html
    assert "&lt;script&gt;" in html


def test_the_list_costs_the_same_queries_however_many_people(
    study, signed_in, django_assert_max_num_queries
):
    for n in range(6):
        answer_all(walk_in(study, f"p{n}", gender=("woman", "man")[n % 2], politics="democrat"))

    with django_assert_max_num_queries(19):
        signed_in.get(reverse("people:list", args=[study.slug]))


def test_figures_are_those_of_the_rows(study):
    take_part(study, gender="woman", politics="democrat")
    working = walk_in(study, gender="woman", politics="republican")
    answer_all(working)
    surplus = walk_in(study, gender="woman", politics="democrat")
    answer_all(surplus)
    services.withdraw(annotator_id=walk_in(study, gender="man", politics="democrat").pk)
    services.decline(annotator_id=services.enter(study=study, pid="no").pk)

    items, way, grid = coverage(study), funnel(study), quota_grid(study)

    assert (items.items, items.answers, items.needed, items.surplus) == (6, 4, 18, 2)
    assert sum(row.items for row in items.rows) == 6
    assert sum(row.items * row.answers for row in items.rows) == 4
    assert [row.people for row in way.steps] == [5, 4, 4, 4, 1]
    assert {row.label: row.people for row in way.endings} == {"Declined": 1, "Withdrew": 1}
    assert way.now == 2
    assert grid.columns == ("Democrat", "Republican")
    women, men = grid.rows
    assert (women.label, women.total.completed, women.total.reserved, women.total.target) == (
        "Woman",
        1,
        1,
        2,
    )
    assert (men.total.completed, men.total.reserved) == (0, 0)
    assert (grid.total.target, grid.total.completed) == (5, 1)


def test_the_list_can_be_filtered_by_state_and_downloaded_as_csv(study, signed_in):
    done = walk_in(study, gender="woman", politics="democrat")
    finish(done, certainty=60)
    walk_in(study, gender="man", politics="democrat")
    address = reverse("people:list", args=[study.slug])

    html = signed_in.get(address, {"state": "completed"}).content.decode()
    response = signed_in.get(address, {"state": "completed", "format": "csv"})

    (row,) = csv.DictReader(io.StringIO(response.content.decode()))
    assert "1 annotator," in html
    assert (row["rater_id"], row["state"], row["answers"]) == (done.pseudonym, "Completed", "2")
    assert float(row["mean_certainty"]) == 60


def test_completion_codes_are_for_editors_and_exist_before_the_first_arrival(
    study, researcher, signed_in
):
    address = reverse("people:codes", args=[study.slug])
    as_viewer = signed_in.get(address).status_code
    Membership.objects.update(role=Membership.Role.EDITOR)

    first = signed_in.get(address).content.decode()
    codes = dict(CompletionCode.objects.values_list("ending", "code"))
    signed_in.get(address)

    assert as_viewer == 404
    assert codes["completed"] in first
    assert codes["declined"] in first
    assert codes["rejected"] not in first
    assert dict(CompletionCode.objects.values_list("ending", "code")) == codes
