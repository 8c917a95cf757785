"""Items for annotators drawn by a judge's certainty: what is stored, and when it ends."""

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from analysis.errors import BadParameters
from extras.estimation.item_draw import draw_by_judge, find_run
from studies.errors import FrozenStudy
from studies.models import Item, Study, StudyLog
from studies.services.items import end_draw
from studies.services.settings import save_settings
from studies.services.whole_studies import copy_study
from tests.analysis.builders import judge_item, make_run
from tests.factories import make_items, make_study, sign_in, stored_at_once

pytestmark = pytest.mark.django_db


@stored_at_once()
def judged_draft(n_items=60, **settings):
    """A draft whose judge is almost sure of the first half of the items and guesses the rest."""
    study = make_study(state=Study.State.DRAFT, **settings)
    items = make_items(study, n_items, first_person="")
    run = make_run(study=study)
    for number, item in enumerate(items):
        judge_item(run, item, "r1", 99 if number < n_items // 2 else 50)
    return study, run, items


def drawn_keys(study):
    return set(Item.objects.filter(study=study, seats_needed__gt=0).values_list("key", flat=True))


def test_items_that_the_judge_guesses_are_drawn_more_often():
    study, run, items = judged_draft()

    found = draw_by_judge(study_id=study.pk, run=run.key, size=20, seed=4)

    study.refresh_from_db()
    stored = dict(Item.objects.filter(study=study).values_list("key", "draw_probability"))
    assert sum(stored.values()) == pytest.approx(20)
    sure, guess = stored[items[0].key], stored[items[-1].key]
    assert sure / guess == pytest.approx((0.99 * 0.01) ** 0.5 / 0.5, rel=1e-6)
    assert (found.lowest, found.highest) == pytest.approx((sure, guess))
    assert len(drawn_keys(study)) == 20 == study.human_sample
    assert len(drawn_keys(study) & {item.key for item in items[30:]}) > 12
    assert study.draw["judge"] == "steady"
    assert study.draw["seed"] == 4
    assert StudyLog.objects.filter(study=study, event="items drawn for annotators").exists()


def test_own_answers_correct_the_certainty():
    """The judge is as often wrong where it is sure, so all items have one probability."""
    study, run, items = judged_draft()
    for number, item in enumerate(items):
        item.first_person = ("r1", "r2")[number % 2]
    Item.objects.bulk_update(items, ["first_person"])

    found = draw_by_judge(study_id=study.pk, run=run.key, size=20)

    study.refresh_from_db()
    assert study.draw["is_corrected"]
    assert found.lowest == found.highest == pytest.approx(1 / 3)


def test_another_number_or_another_item_ends_the_draw():
    study, run, _ = judged_draft()
    draw_by_judge(study_id=study.pk, run=run.key, size=20)

    study.refresh_from_db()
    study.human_sample = 25
    save_settings(study, changed=["human_sample"])

    study.refresh_from_db()
    assert study.draw == {}
    assert len(drawn_keys(study)) == 25
    assert not Item.objects.filter(study=study, draw_probability__isnull=False).exists()


def test_other_settings_keep_the_draw():
    study, run, _ = judged_draft()
    draw_by_judge(study_id=study.pk, run=run.key, size=20)
    before = drawn_keys(study)

    study.refresh_from_db()
    study.annotations_per_item = 5
    save_settings(study, changed=["annotations_per_item"])

    study.refresh_from_db()
    assert study.draw
    assert drawn_keys(study) == before
    assert set(
        Item.objects.filter(study=study, seats_needed__gt=0).values_list("seats_needed", flat=True)
    ) == {5}


def test_once_annotators_have_items_nothing_is_drawn_again():
    study, run, _ = judged_draft()
    draw_by_judge(study_id=study.pk, run=run.key, size=20)
    item = Item.objects.filter(study=study, seats_needed__gt=0).first()
    Item.objects.filter(pk=item.pk).update(seats_taken=1)

    with pytest.raises(FrozenStudy, match="already have items"):
        draw_by_judge(study_id=study.pk, run=run.key, size=10)
    with pytest.raises(FrozenStudy, match="already have items"):
        end_draw(study_id=study.pk)
    study.refresh_from_db()
    study.human_sample = 30
    with pytest.raises(FrozenStudy, match="drawn by a judge's certainty"):
        save_settings(study, changed=["human_sample"])


def test_a_copy_has_no_draw():
    study, run, _ = judged_draft()
    draw_by_judge(study_id=study.pk, run=run.key, size=20)

    copy = copy_study(study_id=study.pk, slug="copied", title="Copied", with_items=True)

    assert copy.draw == {}
    assert not Item.objects.filter(study=copy, draw_probability__isnull=False).exists()
    assert len(drawn_keys(copy)) == 20


def test_a_run_is_named_by_its_judge_or_the_beginning_of_its_key():
    study, run, items = judged_draft()

    assert find_run(study, "steady") == run.key == find_run(study, run.key[:64])
    with pytest.raises(BadParameters, match="This study has no run “nobody”"):
        find_run(study, "nobody")
    second = make_run(study=study, features="none")
    judge_item(second, items[0], "r1", 60)
    with pytest.raises(BadParameters, match="several runs"):
        find_run(study, "steady")


def test_the_command_draws_and_takes_it_back(capsys):
    study, _, _ = judged_draft()

    call_command("draw_items", study.slug, "--judge", "steady", "--items", "20", "--seed", "3")
    said = capsys.readouterr().out
    assert "Annotators get 20 of 60 items" in said
    assert "the seed 3" in said

    call_command("draw_items", study.slug, "--by-topic")
    study.refresh_from_db()
    assert study.draw == {}
    assert len(drawn_keys(study)) == 20
    with pytest.raises(CommandError, match="--judge and --items"):
        call_command("draw_items", study.slug)


def test_the_page_draws_shows_the_draw_and_ends_it():
    study, run, _ = judged_draft()
    client = sign_in(study)
    address = reverse("estimation:draw", args=[study.slug])

    assert "Draw items" in client.get(address).content.decode()
    refused = client.post(address, {"run": run.key, "size": 60})
    client.post(address, {"run": run.key, "size": 20})
    page = client.get(address).content.decode()
    client.post(address, {"end": "1"})

    assert refused.status_code == 422
    assert "from 1 to 59" in refused.content.decode()
    assert "20 of 60" in page
    assert ">steady</option>" in page
    assert "Drawn by a judge" not in client.get(address).content.decode()
