"""A draft is launched on one page, which has everything of Prolific too."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from annotation.models import ProlificStudy
from annotation.prolific.launch import launch
from annotation.prolific.launch.launch_plan import LaunchPlan
from studies.models import Membership, Study
from tests.annotation.prolific.life import make_recruiting, published, with_quotas
from tests.factories import sign_in

pytestmark = pytest.mark.django_db
LAUNCH = "/studies/one/launch/"
PLAN = reverse("people:prolific-plan", args=["one"])


@pytest.fixture
def study(user):
    study = make_recruiting(slug="one", state="draft")
    Membership.objects.create(study=study, user=user, role=Membership.Role.OWNER)
    return study


@pytest.fixture
def editor(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_one_button_opens_the_study_and_creates_the_draft(prolific, study, editor):
    page = editor.get(LAUNCH)
    assert "Ready to launch?" in page.text
    assert "6 items × 3 answers each = 18 answers" in page.text
    assert "Prolific calculated these costs just now" in page.text
    assert "The study is not open" not in page.text
    assert editor.get(reverse("people:prolific-launch", args=["one"])).url == LAUNCH

    # Advice needs a reason; the study stays a draft without one.
    address = page.context["route"].address
    assert editor.post(address).url == LAUNCH
    assert Study.objects.get().state == "draft"
    response = editor.post(address, {"reason": "A pilot"})

    assert response.url == reverse("people:prolific-publish", args=["one"])
    assert Study.objects.get().state == "open"
    assert ProlificStudy.objects.get().places == 6
    assert len(prolific.world.studies) == 1


def test_what_blocks_on_prolific_leads_to_its_field_and_back(prolific, study, editor):
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(screen_out_pay=5))
    with_quotas(study, each=1)

    page = editor.get(LAUNCH).text

    fix = f"{PLAN}?back=launch#id_screen_out_pay"
    assert f'href="{fix}">Fix' in page
    assert "Open study and create draft" not in page
    assert "Open without recruiting" in page
    form = editor.get(fix)
    assert "Back to “Ready to launch?”" in form.text
    # The places are those of the quota, so the plan has no field for them.
    assert "6 places, those of the quota groups" in form.text
    sent = {field.html_name: field.value() for field in form.context["form"]}
    sent = {name: value for name, value in sent.items() if value not in (None, False)}
    saved = editor.post(fix.partition("#")[0], sent | {"screen_out_pay": ""})
    assert saved.url == LAUNCH
    assert "Open study and create draft" in editor.get(LAUNCH).text


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("typed", "stored"), [("0.20", 20), ("1", 100), ("0.001", None), ("-1", None), ("NaN", None)]
)
def test_pay_for_people_who_are_turned_away_is_typed_like_any_other_pay(
    prolific, study, editor, typed, stored
):
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(screen_out_pay=5, screen_out_slots=2))
    form = editor.get(PLAN).context["form"]
    sent = {field.html_name: field.value() for field in form}
    assert str(sent["screen_out_pay"]) == "0.05"

    sent = {name: value for name, value in sent.items() if value not in (None, False)}
    response = editor.post(PLAN, sent | {"screen_out_pay": typed})

    assert launch.plan_of(study).screen_out_pay == (stored or 5)
    assert response.status_code == (302 if stored else 422)
    if not stored:
        assert "screen_out_pay" in response.context["form"].errors


def test_rare_settings_of_the_plan_are_open_once_one_is_used(prolific, study, editor):
    assert '<details class="panel more-fields">' in editor.get(PLAN).text

    launch.save_plan(study_id=study.pk, plan=LaunchPlan(at_once=3))

    assert '<details class="panel more-fields" open>' in editor.get(PLAN).text


def test_without_an_answer_of_prolific_the_study_can_still_be_opened(prolific, study, editor):
    prolific.token = "another"

    page = editor.get(LAUNCH).text

    assert "You cannot recruit on Prolific now." in page
    assert "Open study<" in page
    assert "create draft" not in page


def test_a_study_on_the_simulated_prolific_is_labelled_and_its_copy_may_recruit_people(prolific):
    study = make_recruiting()
    published(study)
    editor = sign_in(study, role="owner")

    for page in (reverse("studies:list"), reverse("studies:detail", args=[study.slug])):
        assert 'class="simulated"' in editor.get(page).content.decode()
    copier = User.objects.get(memberships__study=study)
    copier.user_permissions.add(Permission.objects.get(codename="add_study"))
    copy = {"slug": "real", "title": "For people", "with_items": "on"}
    editor.post(reverse("studies:whole", args=[study.slug]), {"action": "copy"} | copy)

    assert Study.objects.get(pk=study.pk).is_simulated
    assert not Study.objects.get(slug="real").is_simulated
