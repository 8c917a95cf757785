"""The recruiting pages: for editors, safe to click, and whole way from plan to payday."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.models import (
    Annotator,
    BonusPayment,
    DemographicQuestion,
    ProlificStudy,
    ProlificSubmission,
    QuotaGroup,
)
from annotation.prolific import money
from annotation.prolific.api.transport import NotAllowed
from annotation.prolific.api.types import WantedFilter
from annotation.prolific.launch import launch
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.launch.shares import (
    group_filters,
)
from annotation.prolific.settle import decisions
from annotation.prolific.sync.polling import follow_all
from annotation.prolific.sync.sync import follow
from demo.prolific.server import TOKEN
from studies.models import Membership
from tests.annotation.prolific.life import (
    answer_some,
    arrive,
    finish,
    launched,
    make_recruiting,
    published,
    time_to_read,
)

pytestmark = pytest.mark.django_db

GET_PAGES = ["", "-plan", "-launch", "-publish", "-settle", "-bonuses"]
ATTACK = "<script>alert(1)</script>"


@pytest.fixture
def study(user):
    study = make_recruiting()
    Membership.objects.create(study=study, user=user, role=Membership.Role.OWNER)
    return study


@pytest.fixture
def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def url(study, page: str) -> str:
    return reverse(f"people:prolific{page}", args=[study.slug])


def said(response) -> str:
    return " ".join(str(message) for message in response.context["messages"])


@pytest.mark.nightly
def test_every_page_opens_before_and_after_the_launch_and_without_a_token(
    study, signed_in, prolific, settings
):
    def opened() -> dict[str, str]:
        pages = {page: signed_in.get(url(study, page)) for page in GET_PAGES}
        assert {page.status_code for page in pages.values()} == {200}
        return {name: page.content.decode() for name, page in pages.items()}

    opened()
    launched(study)
    opened()
    settings.PROLIFIC_API_TOKEN = ""
    without = opened()

    assert "PROLIFIC_API_TOKEN" in without[""]
    assert "PROLIFIC_API_TOKEN" in without["-launch"]


def test_titles_and_groups_are_shown_as_text_and_no_secret_at_all(study, signed_in, prolific):
    study.title = ATTACK
    study.save()
    row = published(study)
    person, annotator = arrive(prolific, row)
    finish(prolific, person, annotator)
    ProlificStudy.objects.update(label=ATTACK, status=ATTACK)
    follow(study_id=study.pk)

    for page in GET_PAGES:
        html = signed_in.get(url(study, page)).content.decode()
        for hidden in (ATTACK, TOKEN, person["participant"], person["submission"]):
            assert hidden not in html, page


@pytest.mark.nightly
def test_queries_do_not_grow_with_people(study, signed_in, prolific, django_assert_max_num_queries):
    row = published(study)
    for _ in range(4):
        person, annotator = arrive(prolific, row)
        answer_some(annotator, 1)
        prolific.world.give_back(person["submission"])
    follow(study_id=study.pk)
    signed_in.post(
        url(study, "-bonuses"),
        {"submission": list(ProlificSubmission.objects.values_list("pk", flat=True))},
    )

    for page in ("", "-settle", "-bonuses"):
        with django_assert_max_num_queries(24):
            signed_in.get(url(study, page))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"places": "0"}, "greater than or equal to 1"),
        ({"age_low": "60", "age_high": "20"}, "below the minimum"),
        ({"approval_rate": "101"}, "less than or equal to 100"),
        ({"devices": []}, "at least one device"),
        ({"places": "x"}, "whole number"),
    ],
)
def test_an_invalid_plan_is_shown_again_with_its_errors(values, words, study, signed_in):
    response = signed_in.post(url(study, "-plan"), {"devices": ["desktop"]} | values)

    html = response.content.decode()
    assert response.status_code == 422
    assert "<title>Error: " in html
    assert words in html


def test_a_plan_is_stored_as_it_was_filled_in(study, signed_in, prolific):
    signed_in.post(
        url(study, "-plan"),
        {
            "places": "12",
            "country": ["United States", "Canada"],
            "at_once": "4",
            "naivety": "0",
            "approve_at_once": "on",
            "sexes": ["Male", "Female"],
            "devices": ["desktop", "mobile"],
            "age_low": "18",
        },
    )

    assert launch.plan_of(study) == LaunchPlan(
        places=12,
        country="United States\nCanada",
        at_once=4,
        naivety=0,
        approve_at_once=True,
        balance={"sex": ["Male", "Female"]},
        devices=("desktop", "mobile"),
        age_low=18,
    )


EDUCATION = "highest-education-level-completed"


@pytest.fixture
def education(study):
    """A question that no filter is known to match."""
    options = [{"value": "school", "label": "School"}, {"value": "ba", "label": "Bachelor"}]
    return DemographicQuestion.objects.create(
        study=study, key="education", label="Education?", options=options
    )


def test_any_question_is_balanced_by_a_filter_that_is_chosen_by_name(
    study, education, signed_in, prolific
):
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(balance={"handedness": ["L", "R"]}))
    page = signed_in.get(url(study, "-plan")).content.decode()
    assert "Prolific’s filter for “Education?”" in page
    assert f'<option value="{EDUCATION}">Highest education level completed</option>' in page
    assert "label-education-0" not in page

    sent = {"devices": ["desktop"], "filter-education": EDUCATION}
    asked = signed_in.post(url(study, "-plan"), sent)
    half = signed_in.post(url(study, "-plan"), sent | {"label-education-0": "One"})

    # No option is called as on Prolific: the form asks, and stores nothing meanwhile.
    assert asked.status_code == 422
    assert "Choose Prolific’s name for each option" in asked.content.decode()
    assert "“Bachelor” is on Prolific" in asked.content.decode()
    assert half.status_code == 422
    assert launch.plan_of(study).matches == {}

    sent |= {
        "label-education-0": "High school diploma",
        "label-education-1": "Undergraduate degree",
    }
    signed_in.post(url(study, "-plan"), sent)

    plan = launch.plan_of(study)
    assert plan.balance == {
        "handedness": ["L", "R"],
        EDUCATION: ["High school diploma", "Undergraduate degree"],
    }
    group = QuotaGroup(criteria={"education": "ba"}, target=3)
    assert group_filters(group, plan) == ([WantedFilter(EDUCATION, ["Undergraduate degree"])], [])
    page = signed_in.get(url(study, "-plan")).content.decode()
    assert '<option value="Undergraduate degree" selected>' in page
    signed_in.post(url(study, "-plan"), {"devices": ["desktop"]})
    assert launch.plan_of(study).balance == {"handedness": ["L", "R"]}


def test_options_named_like_a_filters_choices_are_matched_automatically(study, signed_in, prolific):
    options = [{"value": name, "label": name.capitalize()} for name in ("vegetarian", "vegan")]
    DemographicQuestion.objects.create(study=study, key="food", label="Food?", options=options)

    signed_in.post(url(study, "-plan"), {"devices": ["desktop"], "filter-food": "diet"})

    assert launch.plan_of(study).matches == {
        "food": {"filter": "diet", "labels": {"vegetarian": "Vegetarian", "vegan": "Vegan"}}
    }


def test_what_prolifics_list_no_longer_has_stays_visible(study, education, signed_in, prolific):
    match = {"education": {"filter": "gone", "labels": {"school": "S", "ba": "B"}}}
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(country="Atlantis", matches=match))

    plan = signed_in.get(url(study, "-plan")).content.decode()

    assert '<option value="gone" selected>gone (not in Prolific’s list)</option>' in plan
    assert "Atlantis (not in Prolific’s list)" in plan


def test_without_prolifics_list_names_are_typed(study, education, signed_in):
    page = signed_in.get(url(study, "-plan")).content.decode()
    assert "Prolific’s list of filters could not be read" in page

    sent = {
        "devices": ["desktop"],
        "sexes": "Male, Female",
        "filter-education": EDUCATION,
        "label-education-0": "High school diploma",
        "label-education-1": "Undergraduate degree",
    }
    signed_in.post(url(study, "-plan"), sent)

    assert launch.plan_of(study).balance == {
        "sex": ["Male", "Female"],
        EDUCATION: ["High school diploma", "Undergraduate degree"],
    }


def test_an_option_without_a_label_has_no_group_on_prolific():
    match = {"filter": EDUCATION, "labels": {"school": "High school diploma"}}
    group = QuotaGroup(criteria={"education": "ba"}, target=3)

    wanted, problems = group_filters(group, LaunchPlan(matches={"education": match}))

    assert wanted == []
    assert "No filter of the plan has the group “education: ba”" in problems[0]


def test_an_open_check_keeps_the_launch_from_happening(study, signed_in, prolific):
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(country="Atlantis"))

    page = signed_in.get(url(study, "-launch")).content.decode()
    response = signed_in.post(url(study, "-launch"), follow=True)

    assert "Atlantis" in page
    assert "Blocks the launch:" in page
    assert "Atlantis" in said(response)
    assert prolific.world.studies == {}


def test_publishing_requires_the_shown_amount(study, signed_in, prolific):
    row = launched(study)
    assert "$37.80" in signed_in.get(url(study, "-publish")).content.decode()

    response = signed_in.post(url(study, "-publish"), {"sum": "37.8"}, follow=True)
    assert "Type 37.80" in said(response)
    assert prolific.world.studies[row.prolific_id]["status"] == "UNPUBLISHED"

    response = signed_in.post(url(study, "-publish"), {"sum": "37.80"}, follow=True)
    assert "Study published" in said(response)


def test_stopping_asks_for_confirmation(study, signed_in, prolific):
    row = published(study)
    prolific.world.show_study(row.prolific_id)

    page = signed_in.post(url(study, ""), {"action": "STOP"})
    assert "Stop recruitment" in page.content.decode()
    assert prolific.world.studies[row.prolific_id]["status"] == "ACTIVE"

    signed_in.post(url(study, ""), {"action": "STOP", "sure": "yes"})
    assert prolific.world.studies[row.prolific_id]["status"] == "COMPLETED"


def test_places_show_their_cost_before_they_are_added(study, signed_in, prolific):
    row = published(study)

    page = signed_in.post(url(study, ""), {"action": "places", "extra": "2"}).content.decode()
    assert "$12.60" in page
    assert prolific.world.studies[row.prolific_id]["total_available_places"] == 6

    agreed = {"action": "places", "extra": "2", "sure": "yes", "beyond": "yes", "sum": "12.60"}
    signed_in.post(url(study, ""), agreed)
    assert prolific.world.studies[row.prolific_id]["total_available_places"] == 8


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("extra", ["0", "x", "999999"])
def test_an_invalid_number_of_places_adds_nothing(extra, study, signed_in, prolific):
    row = published(study)

    for sure in ({}, {"sure": "yes"}):
        response = signed_in.post(
            url(study, ""), {"action": "places", "extra": extra} | sure, follow=True
        )
        assert "how many places" in said(response)
    assert prolific.world.studies[row.prolific_id]["total_available_places"] == 6


@pytest.mark.parametrize(("page", "action"), [("", "nonsense"), ("-bonuses", "pay")])
def test_an_unknown_action_or_payment_does_nothing(page, action, study, signed_in, prolific):
    response = signed_in.post(url(study, page), {"action": action, "payment": "x"})

    assert response.status_code in (400, 404)
    assert prolific.requests == []


@pytest.mark.parametrize("role", ["editor", "viewer"])
def test_only_owners_approve_reject_and_pay(study, user, signed_in, prolific, role):
    finish(prolific, *arrive(prolific, published(study)))
    follow(study_id=study.pk)
    assert "Approve selected" in signed_in.get(url(study, "-settle")).content.decode()
    submission = ProlificSubmission.objects.get()
    payment = BonusPayment.objects.create(
        prolific_study=submission.prolific_study, state="ready", bulk_id="b1", total=100
    )
    Membership.objects.update(role=role)
    Membership.objects.create(study=study, user=User.objects.create_user("ada"), role="owner")
    asked = list(prolific.requests)

    for page, data in (
        ("-settle", {"action": "approve", "submission": [submission.pk], "confirmed": "1"}),
        ("-reject", {"submission": [submission.pk], "reject": "1"}),
        ("-bonuses", {"payment": payment.pk, "action": "pay", "sure": "yes", "total": "100"}),
    ):
        response = signed_in.post(url(study, page), data, follow=role == "editor")
        if role == "editor":
            assert said(response) == (
                "Only an owner of this study can approve, reject or pay. Ask ada."
            )
        else:
            assert response.status_code == 404
    with pytest.raises(NotAllowed, match="Only an owner"):
        decisions.approve(study_id=study.pk, submission_ids=[submission.pk], confirmed=1, user=user)
    with pytest.raises(NotAllowed, match="Only an owner"):
        decisions.reject(
            study_id=study.pk,
            submission_id=submission.pk,
            category="LOW_EFFORT",
            message="x" * 200,
            user=user,
        )
    with pytest.raises(NotAllowed, match="Only an owner"):
        money.pay(payment_id=payment.pk, confirmed=100, user=user)
    assert prolific.requests == asked
    if role == "editor":
        page = signed_in.get(url(study, "-settle")).content.decode()
        assert "Only an owner of this study can approve, reject or pay." in page
        assert "Approve selected" not in page


def test_people_of_another_study_cannot_be_chosen(study, signed_in, prolific):
    other = make_recruiting()
    finish(prolific, *arrive(prolific, published(other)))
    follow(study_id=other.pk)
    pk = ProlificSubmission.objects.get().pk

    for page, data in (
        ("-settle", {"action": "approve"}),
        ("-settle", {"action": "approve", "confirmed": "1"}),
        ("-settle", {"action": "returns", "reason": "x"}),
        ("-bonuses", {}),
    ):
        published_before = list(prolific.requests)
        response = signed_in.post(url(study, page), {"submission": [pk]} | data, follow=True)
        assert said(response)
        assert prolific.requests == published_before
    assert signed_in.post(url(study, "-reject"), {"submission": [pk]}).status_code == 404
    assert not BonusPayment.objects.exists()


def test_a_payment_of_another_study_is_not_there(study, signed_in, prolific):
    row = published(make_recruiting())
    payment = BonusPayment.objects.create(prolific_study=row)

    response = signed_in.post(url(study, "-bonuses"), {"payment": payment.pk, "action": "cancel"})

    assert response.status_code == 404


@pytest.mark.nightly
def test_several_people_are_rejected_only_one_after_another(study, signed_in, prolific):
    row = published(study)
    for _ in range(2):
        finish(prolific, *arrive(prolific, row))
    follow(study_id=study.pk)
    first, second = ProlificSubmission.objects.order_by("pk").values_list("pk", flat=True)
    page = url(study, "-reject")
    sent = {"reject": "yes", "category": "LOW_EFFORT", "message": "Words. " * 20}

    signed_in.post(page, {"submission": [first, second], **sent})
    signed_in.post(page, {"submission": [first, second], "person": second, **sent})
    assert not Annotator.objects.filter(state=Annotator.State.REJECTED).exists()
    moved = signed_in.post(page, {"submission": [first, second], "person": first, **sent})

    assert Annotator.objects.filter(state=Annotator.State.REJECTED).count() == 1
    assert moved.url == f"{page}?submission={second}"
    assert signed_in.get(moved.url).status_code == 200
    assert Annotator.objects.filter(state=Annotator.State.REJECTED).count() == 1


@pytest.mark.nightly
def test_one_person_is_rejected_with_ground_and_message(study, signed_in, prolific):
    finish(prolific, *arrive(prolific, published(study)))
    follow(study_id=study.pk)
    pk = ProlificSubmission.objects.get().pk
    page = url(study, "-reject")
    sent = {"submission": pk, "person": pk, "reject": "yes", "category": "LOW_EFFORT"}

    assert signed_in.post(page, {"submission": pk}).status_code == 200
    short = signed_in.post(page, {**sent, "message": "Short."})
    assert short.status_code == 422
    assert "Short." in short.content.decode()
    signed_in.post(page, {**sent, "message": "Words. " * 20})

    assert Annotator.objects.get().state == Annotator.State.REJECTED


@pytest.mark.nightly
def test_submissions_are_filtered_sorted_and_summed(study, signed_in, prolific):
    row = published(study)
    slow, fast = (arrive(prolific, row) for _ in range(2))
    answer_some(slow[1], 1)
    finish(prolific, *fast)
    follow(study_id=study.pk)
    page = url(study, "-settle")

    def names(query: str) -> list[str]:
        groups = signed_in.get(f"{page}?{query}").context["groups"]
        return [row.pseudonym for _, _, rows, _ in groups for row, _, _ in rows]

    pseudonyms = sorted(each[1].pseudonym for each in (slow, fast))
    assert sorted(names("")) == sorted(names("sort=-time&flag=unknown'")) + pseudonyms
    assert names(f"search={pseudonyms[0]}") == pseudonyms[:1]
    assert names("flag=any") == []
    assert len(names("flag=none&sort=annotator")) == 2
    sums = {title: (n, sum) for title, n, sum in signed_in.get(page).context["sums"]}
    assert sums["Ready to approve"] == (1, "$4.50")
    assert sums["Approved so far"] == (0, "$0.00")


def test_from_plan_to_payday_by_clicking(study, signed_in, prolific):
    signed_in.post(url(study, "-plan"), {"devices": ["desktop"], "country": "United States"})
    signed_in.post(url(study, "-launch"))
    signed_in.post(url(study, "-publish"), {"sum": "37.80"})
    row = ProlificStudy.objects.get()
    person, annotator = arrive(prolific, row)
    answer_some(annotator, 1)
    prolific.world.give_back(person["submission"])
    follow(study_id=study.pk)
    for _ in range(6):
        finish(prolific, *arrive(prolific, row))
    signed_in.post(url(study, ""), {"action": "sync"})

    settle = signed_in.get(url(study, "-settle"))
    groups = {
        name: [row.submission.pk for row, _, _ in rows]
        for _, name, rows, _ in settle.context["groups"]
    }
    asked = signed_in.post(
        url(study, "-settle"), {"action": "approve", "submission": groups["approve"]}
    )
    assert "Approve 6 and pay $27.00" in asked.content.decode()
    signed_in.post(
        url(study, "-settle"),
        {"action": "approve", "submission": groups["approve"], "confirmed": "6"},
    )
    signed_in.post(url(study, "-bonuses"), {"submission": groups["bonus"]})
    payment = BonusPayment.objects.get()
    pay = {"payment": payment.pk, "action": "pay", "total": payment.total}
    assert "Confirm that you have checked the total" in said(
        signed_in.post(url(study, "-bonuses"), pay, follow=True)
    )
    for _ in range(2):
        signed_in.post(url(study, "-bonuses"), pay | {"sure": "yes"})

    statuses = [s.status for s in prolific.world.submissions.values()]
    assert (statuses.count("APPROVED"), statuses.count("RETURNED")) == (6, 1)
    assert next(s.bonuses for s in prolific.world.submissions.values()) == [150]
    assert BonusPayment.objects.get().state == "paid"


@pytest.mark.nightly
def test_the_home_says_when_prolific_could_not_be_read(study, signed_in, prolific):
    published(study)
    prolific.fault("GET", "studies/", "401")

    follow_all()
    assert "Could not read from Prolific" in signed_in.get(url(study, "")).content.decode()

    time_to_read()
    follow_all()
    assert "Could not read" not in signed_in.get(url(study, "")).content.decode()
