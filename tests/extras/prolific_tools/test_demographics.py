"""Prolific's answers beside every question of the groups, and no group for what is not known."""

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation import services
from annotation.models import Annotator, DemographicQuestion
from annotation.prolific.api.client import connect
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.settle.proposals import APPROVE, settlement
from annotation.prolific.sync.sync import follow
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from demo.prolific.faults import FAULTS
from extras.prolific_tools.demographics import (
    column_of,
    export,
    fetch,
    groups_of,
    read_export,
    value_of,
)
from extras.prolific_tools.demographics_page import PART
from extras.prolific_tools.models import StatedDemographics
from studies.held_copies import MORE, PersonIn
from tests.annotation.prolific.life import (
    BALANCE,
    arrive,
    finish,
    make_recruiting,
    published,
    with_quotas,
)
from tests.factories import sign_in

pytestmark = pytest.mark.django_db

DIET = QuotaQuestion("diet", "What do you eat?", {"vegan": "Vegan", "vegetarian": "Vegetarian"})
AGE = QuotaQuestion(
    "age", "How old are you?", {"18-30": "18 to 30", "31_50": "31-50", "old": "51+"}
)
MOOD = QuotaQuestion("mood", "How are you?", {"well": "Well", "badly": "Badly"})


def recruit(prolific, question, people):
    """People who say one thing here and another one on Prolific: pairs of here and about there."""
    study = make_recruiting()
    groups = [Quota(1, {question.key: value}) for value in question.options]
    set_quotas(study_id=study.pk, questions=[question], groups=[*groups, Quota(6 - len(groups))])
    row = published(study)
    for here, about in people:
        person = prolific.world.arrive(row.prolific_id, about=about)
        annotator = services.enter(
            study=study, pid=person["participant"], session_id=person["submission"]
        )
        services.consent(annotator_id=annotator.pk, version="v1")
        services.record_demographics(annotator_id=annotator.pk, demographics={question.key: here})
    follow(study_id=study.pk)
    fetch(study_id=study.pk)
    return study


def counts(study):
    return {row.name: (row.here, row.there) for row in groups_of(study).rows}


def test_a_question_is_compared_with_the_filter_of_its_name(prolific):
    study = recruit(
        prolific,
        DIET,
        [("vegan", {"diet": "Vegan"}), ("vegan", {"diet": "Vegetarian"})],
    )

    assert counts(study) == {
        "diet: vegan": (2, 1),
        "diet: vegetarian": (0, 1),
        "everyone else": (0, 0),
    }
    assert list(PART.words(study).values()) == [
        "Different answer on Prolific: diet: here “vegan”, on Prolific “Vegetarian”. This is not a "
        "reason to reject."
    ]


def test_an_age_is_found_in_the_group_that_holds_it(prolific):
    study = recruit(prolific, AGE, [("18-30", {}), ("31_50", {})])

    # The simulated export says 34 of everybody.
    assert counts(study)["age: 31_50"] == (1, 2)
    assert counts(study)["everyone else"] == (0, 0)


def test_a_question_unknown_to_prolific_puts_nobody_under_everyone_else(prolific):
    study = recruit(prolific, MOOD, [("well", {}), ("badly", {})])

    found = groups_of(study)
    assert counts(study)["everyone else"] == (0, 0)
    assert (found.unknown, found.unasked) == (2, ("How are you?",))
    page = sign_in(study).get(reverse("people:prolific-settle", args=[study.slug]))
    assert "no data on How are you?, so we cannot assign groups" in page.content.decode()


def test_words_that_match_no_value_are_no_answer(prolific):
    study = recruit(prolific, DIET, [("vegan", {"diet": "None of these"})])

    assert counts(study)["everyone else"] == (0, 0)
    assert groups_of(study).unknown == 1
    assert PART.words(study) == {}


@pytest.mark.parametrize(
    ("key", "label", "column"),
    [
        ("student", "Are you a student?", "student status"),
        ("student_status", "?", "student status"),
        ("ethnicity", "?", "ethnicity simplified"),
        ("q1", "What is your nationality?", "nationality"),
        ("gender", "?", "sex"),
        ("party", "?", "u.s. political affiliation"),
        ("diet", "?", "diet"),
        ("mood", "?", None),
    ],
)
def test_columns_are_found_by_key_or_label(key, label, column):
    columns = [
        "age",
        "sex",
        "ethnicity simplified",
        "nationality",
        "student status",
        "u.s. political affiliation",
        "diet",
    ]

    assert column_of(DemographicQuestion(key=key, label=label), columns) == column


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("17", "under_18"),
        ("18", "18-29"),
        ("29", "18-29"),
        ("30", "30 to 49"),
        ("50", "50+"),
        ("64", "50+"),
        ("65", "50+"),
        ("many", None),
    ],
)
def test_a_number_is_found_in_the_span_that_holds_it(text, value):
    values = ["under_18", "18-29", "30 to 49", "50+"]
    question = DemographicQuestion(key="age", options=[{"value": v, "label": v} for v in values])

    assert value_of(question, text) == value


@pytest.fixture
def balanced(prolific):
    """A study with quota groups, as a row on Prolific."""
    return published(with_quotas(make_recruiting(), each=1), LaunchPlan(balance=BALANCE))


def test_different_answers_on_prolific_are_shown_but_never_a_ground(prolific, balanced):
    study, (person, annotator) = balanced.study, arrive(prolific, balanced)
    finish(prolific, person, annotator)
    follow(study_id=study.pk)
    fetch(study_id=study.pk)
    assert PART.words(study) == {}

    other = {"man": "woman", "woman": "man"}[annotator.demographics["gender"]]
    Annotator.objects.filter(pk=annotator.pk).update(
        demographics={**annotator.demographics, "gender": other}
    )

    (words,) = PART.words(study).values()
    assert f"here “{other}”" in words
    (row,) = settlement(study).rows
    assert row.action == APPROVE


@pytest.mark.parametrize(("form", "filters"), [("csv", "ids"), ("json", "refused")])
def test_both_forms_of_the_export_are_read_also_without_filters(form, filters, prolific, balanced):
    prolific.world.behaviour.export, prolific.world.behaviour.export_filters = form, filters
    arrive(prolific, balanced)
    follow(study_id=balanced.study_id)

    fetch(study_id=balanced.study_id)

    known = groups_of(balanced.study)
    assert known.unknown == (filters == "refused")
    assert sorted(group.here for group in known.rows)[-1] == 1
    assert any(group.there for group in known.rows) == (filters == "ids")


def test_the_export_is_read_by_its_header():
    text = "Age,Submission id,Sex,Nonsense\n34,s1,Female,\nDATA_EXPIRED,s2,CONSENT_REVOKED,x\n"

    assert read_export(text) == {
        "s1": {"age": "34", "sex": "Female"},
        "s2": {"nonsense": "x"},
    }
    assert read_export("") is read_export("no,known,header\n1,2,3\n") is None


def test_a_third_combination_of_export_filters_is_not_asked_for(row, prolific):
    country, diet, sex = "current-country-of-residence", "diet", "sex"
    client = connect(row.study_id)

    assert "country" in export(client, row.prolific_id, [country, "gone"])
    for asked in ([diet], [sex], [sex], [diet], []):
        export(client, row.prolific_id, asked)

    there = prolific.world.studies[row.prolific_id]["exports"]
    assert [{one["filter_id"] for one in used} for used in there] == [{country}, {diet}]


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_of_the_export_loses_anything(fault, row, prolific, settings):
    arrive(prolific, row)
    follow(study_id=row.study_id)
    address = reverse("prolific_tools:demographics", args=[row.study.slug])
    prolific.fault("POST", "demographic-export/", fault, seconds=1.0)
    settings.PROLIFIC_TIMEOUT = 0.5 if fault == "slow" else 5.0

    told = sign_in(row.study).post(address, follow=True).context["messages"]
    fetch(study_id=row.study_id)

    assert [str(one) for one in told]
    assert StatedDemographics.objects.get().answers["age"] == "34"


def test_they_are_deleted_with_a_withdrawal_and_at_a_persons_request(row, prolific):
    people = [arrive(prolific, row)[1] for _ in range(2)]
    follow(study_id=row.study_id)
    fetch(study_id=row.study_id)
    assert StatedDemographics.objects.count() == 2

    services.withdraw(annotator_id=people[0].pk)
    fetch(study_id=row.study_id)
    assert StatedDemographics.objects.get().submission.annotator == people[1]

    for held in MORE:
        held.forget(PersonIn(row.study, people[1].pseudonym, people[1].created_at, None))
    assert not StatedDemographics.objects.exists()


def test_the_command_says_how_many_are_new(row, prolific, capsys):
    arrive(prolific, row)
    follow(study_id=row.study_id)

    call_command("prolific", "demographics", row.study.slug)

    assert capsys.readouterr().out == "New or changed: 1.\n"
