"""Two researchers open the same form and both save: the second replaces nothing unseen."""

import re

import pytest
from django.urls import reverse

from annotation.content.comprehension import questions_of as asked_of
from annotation.content.comprehension import set_questions, standard_questions
from annotation.prolific.launch.launch import plan_of
from annotation.seats import quotas
from annotation.seats.quotas import Quota, QuotaQuestion, set_about_questions, set_quotas
from studies.models import Retention, Study
from tests.factories import make_item, make_study, sign_in

pytestmark = pytest.mark.django_db

GENDER = QuotaQuestion("gender", "Gender?", {"w": "Woman", "m": "Man"})
AGE = QuotaQuestion("age", "Age?", {"young": "Young", "old": "Old"})
WORDS = "{{ persona }} {{ question }} {{ response_a }} {{ response_b }} %s [[A]] or [[B]]."


@pytest.fixture
def study():
    study = make_study(slug="s", entry="prolific")
    make_item(study=study)
    set_quotas(study_id=study.pk, questions=[GENDER], groups=[])
    set_questions(study_id=study.pk, questions=standard_questions(study))
    make_study(slug="r1")
    make_study(slug="r2")
    return study


def fields_of(page: str, names: str) -> dict[str, str]:
    """What a browser sends of the form that has a field called like `names`."""
    for form in re.findall(r"<form.*?</form>", page, re.S):
        if not re.search(f'name="({names})"', form):
            continue
        found = {}
        for tag in re.findall(r"<input[^>]*>", form):
            name, value = (re.search(f' {key}="([^"]*)"', tag) for key in ("name", "value"))
            is_off = re.search('type="(radio|checkbox)"', tag) and " checked" not in tag
            if name and not is_off:
                found[name[1]] = value[1] if value else ""
        return found
    raise AssertionError(f"no form has {names}")


FORMS = {
    "quota": (
        "people:quota",
        "target-0",
        ({"do": "save", "target-0": "21"}, {"do": "save", "target-0": "5"}),
        lambda study: [group.target for group in study.quota_groups.all()][:1],
        ([21], [5]),
    ),
    "about you": (
        "people:questions",
        "question-rows",
        (
            {"do": "save", "question-0-label": "Mine?", "question-0-options": "Woman\nMan"},
            {"do": "save", "question-0-label": "Theirs?", "question-0-options": "Woman\nMan"},
        ),
        lambda study: study.demographic_questions.get().label,
        ("Mine?", "Theirs?"),
    ),
    "comprehension": (
        "people:checks",
        "quiz-rows",
        ({"questions": ""}, {"standard": ""}),
        lambda study: len(asked_of(study)),
        (0, 5),
    ),
    "launch plan": (
        "people:prolific-plan",
        "age_low",
        ({"age_low": "20", "age_high": "30"}, {"age_low": "40", "age_high": "50"}),
        lambda study: plan_of(study).age_low,
        (20, 40),
    ),
    "dates": (
        "studies:whole",
        "identities_days",
        ({"identities_days": "30"}, {"identities_days": "7"}),
        lambda study: Retention.objects.get(study=study).identities_days,
        (30, 7),
    ),
}


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("name", FORMS)
def test_what_the_first_saved_is_replaced_only_by_somebody_who_saw_it(name, study):
    page, field, (mine, theirs), stored, (first, second) = FORMS[name]
    client, url = sign_in(study, "owner"), reverse(page, args=["s"])
    form = fields_of(client.get(url).content.decode(), field)

    saved = client.post(url, form | mine)
    refused = client.post(url, form | theirs)

    assert saved.status_code == 302
    assert refused.status_code == 422
    assert "Someone else changed" in refused.content.decode()
    assert stored(study) == first
    seen = fields_of(refused.content.decode(), field)["seen"]
    assert client.post(url, form | theirs | {"seen": seen}).status_code == 302
    assert stored(study) == second


def test_a_selection_of_studies_is_not_replaced_unseen(study):
    client, url = sign_in(study, "owner"), reverse("people:places", args=["s"])
    for slug in ("r1", "r2"):
        user = study.memberships.get().user
        Study.objects.get(slug=slug).memberships.create(user=user, role="owner")
    form = fields_of(client.get(url).content.decode(), "related")

    client.post(url, form | {"related": "r1"})
    answer = client.post(url, form | {"related": "r2"}, follow=True)

    assert "Someone else changed this selection" in answer.content.decode()
    assert [each.related.slug for each in study.related_studies.all()] == ["r1"]


def test_words_of_a_judge_are_not_replaced_unseen(study):
    client, url = sign_in(study, "owner"), reverse("judging:write-wording", args=["s"])
    form = fields_of(client.get(url).content.decode(), "template|name") | {"setting": "standard"}
    mine = form | {"name": "w", "template": WORDS % "Mine.", "save": ""}

    assert client.post(url, mine).status_code == 302
    refused = client.post(url, mine | {"template": WORDS % "Theirs."})

    assert refused.status_code == 422
    assert "Someone else changed the wording “w”" in refused.content.decode()
    assert "Mine." in study.prompt_templates.get().template
    like = f"{url}?like={study.prompt_templates.get().public_id}"
    seen = fields_of(client.get(like).content.decode(), "name")["seen"]
    assert client.post(like, mine | {"template": WORDS % "New.", "seen": seen}).status_code == 302
    assert "New." in study.prompt_templates.get().template


def test_a_quota_that_is_saved_at_the_moment_of_questions_is_kept(study, monkeypatch):
    """The quota is stored after the questions were sent and before their lock was taken."""
    lock = quotas.lock_study

    def lock_late(study_id):
        monkeypatch.setattr(quotas, "lock_study", lock)
        set_quotas(study_id=study_id, groups=[Quota(7, {"gender": "w"})])
        return lock(study_id)

    monkeypatch.setattr(quotas, "lock_study", lock_late)

    set_about_questions(study_id=study.pk, questions=[GENDER, AGE])

    assert [group.target for group in study.quota_groups.all()] == [7]
    assert study.demographic_questions.count() == 2
    set_quotas(study_id=study.pk, groups=[Quota(9, {"age": "old"})])
    assert study.demographic_questions.count() == 2
