"""The draw, and the ranking on the page, in the command and in the report."""

import json
from io import StringIO

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotation import services
from annotation.models import Invitation
from extras.arena.stats import pair_chances
from studies.pages.overview_views import setup
from tests.extras.arena.building import make_arena, opened, refill
from tests.factories import answer_item, make_study, sign_in

nothing = np.zeros((3, 3))


def test_the_chances_of_all_pairs_are_one_and_the_same_without_answers():
    chances = pair_chances(nothing, nothing, nothing)

    assert chances[np.triu_indices(3, 1)] == pytest.approx([1 / 3] * 3)
    assert chances.sum() == pytest.approx(1)
    assert not np.tril(chances).any()


def test_two_alike_meet_more_often_than_two_that_are_known_apart():
    wins = np.array([[0, 20, 9], [20, 0, 9], [1, 1, 0]])

    chances = pair_chances(wins, nothing, nothing)

    assert chances[0, 1] > 3 * chances[0, 2]
    assert chances.min() == 0
    assert chances[0, 2] >= 0.5 / 3


def test_a_pair_that_waits_for_answers_is_drawn_less_often():
    waiting = np.zeros((3, 3))
    waiting[0, 1] = waiting[1, 0] = 8

    chances = pair_chances(nothing, nothing, waiting)

    assert chances[0, 1] < chances[0, 2] == pytest.approx(chances[1, 2])


def test_a_single_system_cannot_be_drawn():
    with pytest.raises(ValueError, match="two systems"):
        pair_chances([[0]], [[0]], [[0]])


@pytest.fixture
def answered(llm, engine, transactional_db):
    """Twelve people, of whom three in four prefer what “large” wrote."""
    arena = opened(llm, stock=12, items_per_annotator=6, annotations_per_item=6, entry="list")
    study = arena.study
    people = [_come(study, number) for number in range(12)]
    refill(arena)
    for number, annotator in enumerate(people):
        annotator = services.finish_instructions(annotator_id=annotator.pk)
        for at, seat in enumerate(annotator.assignments.select_related("item")):
            is_first = seat.item.r1["generated_by"]["name"] == "large"
            likes = (number + at) % 4 != 0
            answer_item(seat, choice="r1" if is_first == likes else "r2")
    return arena


def _come(study, number):
    Invitation.objects.create(study=study, key=f"id{number}")
    annotator = services.enter(study=study, pid=f"id{number}")
    return services.consent(annotator_id=annotator.pk, version="v1")


@pytest.mark.nightly
def test_page_command_and_report_show_the_same_ranking(answered):
    out = StringIO()
    call_command("arena", answered.study.slug, "--json", stdout=out)
    found = json.loads(out.getvalue())

    assert [row["system"] for row in found["ranking"]] == ["large", "small"]
    large = found["ranking"][0]
    assert large["n"] == found["answers"] == 72
    assert large["rate"] == pytest.approx(0.75)
    assert large["strength"] == pytest.approx(np.log(3) / 2)
    assert (large["best"], large["worst"]) == (1, 1)
    assert found["met"] == [{"first": "large", "second": "small", "pairs": 12}]
    page = sign_in(answered.study, "viewer").get(f"/studies/{answered.study.slug}/arena/")
    assert "75.0" in page.text
    assert page.headers["Refresh"] == "30"
    out = StringIO()
    call_command("arena", answered.study.slug, stdout=out)
    assert "large: place 1–1, strength 0.55" in out.getvalue()


def test_the_command_sets_up_and_says_what_is_missing(llm, engine, transactional_db, tmp_path):
    arena = make_arena(llm, budget="", questions=())
    slug = arena.study.slug
    file = tmp_path / "questions.csv"

    with pytest.raises(CommandError, match="opens only with a budget"):
        call_command("arena", slug, "--open")
    file.write_text("persona,question\n,What?\nA cook.,\n", "utf-8")
    with pytest.raises(CommandError, match="persona needs features or text"):
        call_command("arena", slug, "--questions", str(file))
    file.write_text("who,what\na,b\n", "utf-8")
    with pytest.raises(CommandError, match="persona"):
        call_command("arena", slug, "--questions", str(file))
    file.write_bytes(b"\xff\xfe\x00bad")
    with pytest.raises(CommandError, match="There is no column persona"):
        call_command("arena", slug, "--questions", str(file))
    with pytest.raises(CommandError, match="No judge “nobody” can write"):
        call_command("arena", slug, "--system", "nobody", "--system", "small")
    file.write_text("persona,question\nA cook.,What?\nA cook.,Why?\n", "utf-8")
    call_command("arena", slug, "--questions", str(file), "--budget", "3", "--open")
    arena.refresh_from_db()
    assert arena.is_live
    assert arena.questions.count() == 2
    assert arena.study.personas.count() == 1


def test_the_set_up_list_has_the_arena_instead_of_importing_and_launching(
    llm, engine, transactional_db
):
    study = make_study(slug="new", extras=["arena"])
    tasks = {task.key: task.summary for task in setup(study).tasks}
    assert tasks["arena"] == "Choose systems, a budget and questions"
    assert {"items", "profile", "annotators", "launch"} < {*tasks}

    ready = {task.key: task.summary for task in setup(make_arena(llm).study).tasks}
    assert ready["arena"].startswith("Ready")
    assert not {"items", "profile", "annotators", "launch"} & {*ready}


def test_viewers_see_the_ranking_and_change_nothing(llm, engine, transactional_db):
    study = make_arena(llm).study
    viewer = sign_in(study, "viewer")

    assert viewer.get(f"/studies/{study.slug}/arena/").status_code == 200
    assert viewer.get(f"/studies/{study.slug}/arena/settings/").status_code == 404
    assert (
        viewer.post(f"/studies/{study.slug}/arena/", {"action": "state", "open": "1"}).status_code
        == 404
    )
