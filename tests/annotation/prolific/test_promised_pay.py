"""Everybody is paid what their consent promised, whatever the study says now."""

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation import services
from annotation.content.consent_versions import keep_consent
from annotation.content.texts import consent_text
from annotation.prolific.launch.launch import launch, save_plan
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.settle.decisions import approve
from annotation.prolific.settle.proposals import APPROVE, BONUS, settlement
from annotation.prolific.sync.sync import follow
from studies.errors import FrozenStudy
from studies.models import Study
from studies.services.settings import save_settings
from tests.annotation.prolific.life import (
    answer_some,
    arrive,
    finish,
    make_recruiting,
    published,
    unchecked,
)
from tests.factories import sign_in

pytestmark = pytest.mark.django_db


def pay(study: Study, reward: int) -> None:
    study.refresh_from_db()
    study.reward = reward
    save_settings(study, changed=["reward"])


def agree(prolific, row, reward: int):
    """Somebody arrives and agrees to a text that promises this reward, as after an older change."""
    Study.objects.filter(pk=row.study_id).update(reward=reward)
    person, annotator = arrive(prolific, row)
    text = consent_text(Study.objects.get(pk=row.study_id))
    keep_consent(annotator.study, text)
    annotator.consent_version = text.version
    annotator.save(update_fields=["consent_version"])
    Study.objects.filter(pk=row.study_id).update(reward=row.reward)
    return person, annotator


@pytest.mark.parametrize("new", [900, 100])
def test_the_pay_is_fixed_once_prolific_recruits(prolific, new):
    study = make_recruiting(entry="prolific")
    row = published(study)

    with pytest.raises(FrozenStudy, match="The pay is fixed"):
        pay(study, new)

    study.refresh_from_db()
    assert study.reward == row.reward == 450


def test_the_settings_page_says_why_the_pay_is_fixed(prolific):
    study = make_recruiting(entry="prolific")
    published(study)

    page = sign_in(study).get(reverse("studies:settings", args=[study.slug]))

    form = page.context["form"]
    assert form.fields["pay"].disabled
    assert form.fields["currency"].disabled
    assert "Prolific does not change it once a study is published" in page.content.decode()


def test_the_pay_of_a_draft_on_prolific_can_change(prolific):
    study = make_recruiting(entry="prolific")
    save_plan(study_id=study.pk, plan=LaunchPlan())
    with unchecked():
        launch(study_id=study.pk)

    pay(study, 900)

    assert Study.objects.get(pk=study.pk).reward == 900


def test_the_first_consent_fixes_the_pay_of_a_study_that_was_launched_by_hand():
    study = make_recruiting(entry="prolific")
    annotator = services.enter(study=study, pid="p1", session_id="s1")
    pay(study, 600)
    services.consent(annotator_id=annotator.pk, version="v1")

    with pytest.raises(FrozenStudy, match="have agreed to it"):
        pay(study, 700)


def test_a_form_that_sends_the_pay_anyway_changes_nothing(prolific):
    study = make_recruiting(entry="prolific")
    published(study)
    study.refresh_from_db()
    form = sign_in(study).post(
        reverse("studies:settings", args=[study.slug]), {"pay": "9.00", "currency": "USD"}
    )

    assert form.status_code in (200, 302, 422)
    assert Study.objects.get(pk=study.pk).reward == 450


def test_who_was_promised_more_gets_the_difference_as_a_bonus(prolific):
    study = make_recruiting(entry="prolific")
    row = published(study)
    person, annotator = agree(prolific, row, 900)
    finish(prolific, person, annotator)
    follow(study_id=study.pk)

    (line,) = settlement(study).rows
    assert (line.action, line.amount, line.approval, line.bonus) == (
        APPROVE,
        ("USD", 900),
        ("USD", 450),
        0,
    )
    approve(study_id=study.pk, submission_ids=[line.submission.pk], confirmed=1)
    follow(study_id=study.pk)
    (line,) = settlement(study).rows
    assert (line.action, line.bonus) == (BONUS, 450)
    assert line.bonus_reason == "difference to the promised reward"

    call_command("prolific", "settle", study.slug, "--bonuses", "--yes")

    assert prolific.world.submissions[person["submission"]].bonuses == [450]
    (line,) = settlement(study).rows
    assert (line.action, line.bonus) == ("", 0)


def test_who_was_promised_less_gets_prolifics_reward(prolific):
    study = make_recruiting(entry="prolific")
    row = published(study)
    finish(prolific, *agree(prolific, row, 100))
    follow(study_id=study.pk)

    (line,) = settlement(study).rows

    assert line.amount == line.approval == ("USD", 450)
    approve(study_id=study.pk, submission_ids=[line.submission.pk], confirmed=1)
    follow(study_id=study.pk)
    assert settlement(study).rows[0].bonus == 0


def test_a_part_is_a_share_of_what_was_promised(prolific):
    study = make_recruiting(entry="prolific")
    row = published(study)
    person, annotator = agree(prolific, row, 900)
    answer_some(annotator, 1)
    prolific.world.give_back(person["submission"])
    follow(study_id=study.pk)

    (line,) = settlement(study).rows

    assert line.bonus == 300
