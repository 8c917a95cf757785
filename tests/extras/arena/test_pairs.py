"""Pairs are written ahead within limits and become items; a fault of a system costs nobody."""

import pytest
from django.core.exceptions import ValidationError

from annotation import services
from annotation.models import Annotator
from extras.arena.asking import able, forget_texts, spent_nano, usable
from extras.arena.models import SLOW, ArenaAnswer, ArenaPair
from extras.arena.seats import arena_of
from extras.arena.setup import open_arena, pause_arena, set_up, why_not_open
from judging.models import Judge
from studies.errors import StudyError
from studies.models import Item, Study
from studies.services.items import study_content_hash
from studies.statements import clock
from tests.extras.arena.building import make_arena, opened, refill, writes
from tests.factories import finish, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion, error

pytestmark = pytest.mark.django_db(transaction=True)


def arrive(study: Study) -> Annotator:
    """Somebody who has opened the link, before they agree."""
    return services.enter_by_link(study_id=study.pk)


def agree(study: Study) -> Annotator:
    return services.consent(annotator_id=arrive(study).pk, version="v1")


def test_nothing_is_asked_before_somebody_agrees(llm, engine):
    arena = opened(llm)
    arrive(arena.study)
    refill(arena)

    assert llm.requests == []
    assert not arena.pairs.exists()

    agree(arena.study)
    refill(arena)

    assert len(llm.requests) == 8
    assert arena.pairs.filter(state="stored").count() == 4


def test_pairs_become_ordinary_items_in_which_nothing_shown_names_a_system(llm, engine):
    arena = opened(llm, systems=("small", "large", "huge"), stock=6)
    agree(arena.study)
    refill(arena)

    items = list(Item.objects.filter(study=arena.study).select_related("arena_pair__first"))
    assert len(items) == 6
    assert {(item.seats_needed, item.seats_taken, item.shuffle_sides) for item in items} == {
        (2, 0, True)
    }
    for item in items:
        maker = item.r1["generated_by"]["name"]
        assert maker == item.arena_pair.first.name
        assert f"By {maker}" in item.r1["text"]
        assert item.r1["generated_by"] != item.r2["generated_by"]
    study = Study.objects.get(pk=arena.study_id)
    assert study.content_hash == study_content_hash(study)
    assert "[Question]\nSupper" in llm.requests[0]["messages"][0]["content"]
    assert "A cook" not in llm.requests[0]["messages"][0]["content"]


def test_an_arena_without_a_budget_does_not_open(llm, engine):
    arena = make_arena(llm, budget="")

    with pytest.raises(StudyError, match="opens only with a budget"):
        open_arena(arena=arena)
    assert not arena_of(arena.study).is_live


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"questions": ()}, "has no questions"),
        ({"human_sample": 5}, "only a sample"),
        ({"stock": 1}, "only 1 are written ahead"),
        ({"budget": "0.0001"}, "a pair can cost up to"),
    ],
)
def test_an_arena_opens_only_when_it_can_go_on(llm, engine, changes, problem):
    assert problem in why_not_open(make_arena(llm, **changes))


def test_systems_need_a_price_and_must_be_two(llm, engine):
    study = make_study(extras=["arena"])
    free = make_judge(name="free", base_url=llm.url)
    priced = make_judge(name="priced", base_url=llm.url, price_input=0, price_output=0)

    with pytest.raises(StudyError, match="“free” has no price"):
        set_up(study_id=study.pk, systems=[free, priced])
    with pytest.raises(StudyError, match="at least two different systems"):
        set_up(study_id=study.pk, systems=[priced, priced])
    with pytest.raises(ValidationError, match="less than or equal to 8000"):
        set_up(study_id=study.pk, longest=9_000_000)
    with pytest.raises(ValidationError, match="above 0"):
        set_up(study_id=study.pk, budget=-1)


def test_the_budget_ends_the_arena_and_is_never_exceeded(llm, engine):
    arena = opened(llm, budget="0.0060", stock=40)
    agree(arena.study)
    refill(arena)

    arena.refresh_from_db()
    assert (arena.is_live, arena.study.state) == (False, "paused")
    assert arena.why_stopped == "The budget of $0.006 has no room for another pair."
    assert arena.pairs.filter(state="stored").count() > 2
    assert spent_nano(arena) <= 6_000_000
    with pytest.raises(StudyError, match="of the budget is left"):
        open_arena(arena=arena)


@pytest.mark.nightly
def test_a_broken_system_rests_and_the_others_go_on(llm, engine):
    def answer(body, number):
        return error(500, "broken") if body["model"] == "bad" else writes(body, number)

    arena = opened(llm, systems=("bad", "large", "small"), stock=6)
    llm.answer = answer
    agree(arena.study)
    refill(arena)

    stored = arena.pairs.filter(state="stored")
    assert stored.count() == 6
    assert not stored.filter(first__name="bad").exists()
    assert not stored.filter(second__name="bad").exists()
    bad = arena.systems.get(name="bad")
    assert bad.problem
    assert bad.rests_until is not None
    assert arena.pairs.filter(state="open").count() == 0


def test_a_slow_system_holds_nobody_up(llm, engine):
    def answer(body, number):
        if body["model"] == "slow":
            return Answer(delay=3, body=writes(body, number).body)
        return writes(body, number)

    arena = opened(llm, systems=("slow", "large", "small"), stock=4)
    llm.answer = answer
    agree(arena.study)
    refill(arena)

    names = [{pair.first.name, pair.second.name} for pair in arena.pairs.filter(state="stored")]
    assert len(names) >= 4


def test_the_page_says_why_pairs_were_dropped(llm, engine):
    arena = opened(llm, stock=2)
    llm.answer = lambda body, number: completion("Soup with bread.")
    agree(arena.study)
    refill(arena)

    assert {pair.state for pair in arena.pairs.all()} == {"dropped"}
    page = sign_in(arena.study).get(f"/studies/{arena.study.slug}/arena/").content.decode()
    assert "Both responses have the same text." in page
    assert "Nothing was imported" not in page


@pytest.mark.nightly
def test_what_people_must_not_see_is_not_shown(llm, engine):
    arena = opened(llm, forbidden="Soup Number\n", stock=2)
    agree(arena.study)
    refill(arena)

    assert not Item.objects.filter(study=arena.study).exists()
    assert {pair.state for pair in arena.pairs.all()} == {"dropped"}
    assert 0 < len(llm.requests) <= 60
    problems = arena.systems.values_list("problem", flat=True)
    assert set(problems) == {"Its last 3 responses were not usable."}


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Soup with bread.", "Soup with bread."),
        ("<think>Hm.</think> Soup.", "Soup."),
        ("I cannot help with that.", ""),
        ("I’m sorry, but I can’t assist with this.", ""),
        ("As an AI language model, I am unable to provide advice.", ""),
        ("I must decline.", ""),
        ("I'm so sorry to hear about your mother.", "I'm so sorry to hear about your mother."),
        (
            "I’m sorry for the confusion, I'm here to help you.",
            "I’m sorry for the confusion, I'm here to help you.",
        ),
        ("I can't wait to try your soup!", "I can't wait to try your soup!"),
        ("I can't help but smile.", "I can't help but smile."),
        (
            "As an AI, I have no hair, but here is how others cut it.",
            "As an AI, I have no hair, but here is how others cut it.",
        ),
        ("Soup. " * 40 + "I cannot say more.", "Soup. " * 40 + "I cannot say more."),
        ("x" * 1_001, ""),
        ("A BAD word here", ""),
        ("   ", ""),
    ],
)
def test_which_replies_are_usable(reply, text):
    assert usable(reply, longest=1_000, forbidden=["bad word"]) == text


@pytest.mark.nightly
def test_two_equal_responses_are_no_pair(llm, engine):
    arena = opened(llm, stock=2)
    llm.answer = lambda body, number: completion("The same soup.")
    agree(arena.study)
    refill(arena)

    assert not arena.pairs.filter(state="stored").exists()
    arena.refresh_from_db()
    assert not arena.is_live
    assert arena.why_stopped.startswith("The last 10 pairs could not be shown: ")


def test_a_killed_worker_loses_no_money_and_stores_no_pair_twice(llm, engine):
    arena = opened(llm, stock=2)
    agree(arena.study)
    refill(arena)
    paid = spent_nano(arena)
    [pair, other] = arena.pairs.all()
    # Killed after the first response came, while the second was on its way.
    Item.objects.filter(key=f"arena-{pair.pk}").delete()
    ArenaPair.objects.filter(pk=pair.pk).update(state="open", item=None)
    lost = pair.answers.latest("pk")
    ArenaAnswer.objects.filter(pk=lost.pk).update(state="sent", held_nano=900, text="")

    refill(arena)

    lost.refresh_from_db()
    assert (lost.state, lost.held_nano) == ("written", 0)
    assert spent_nano(arena) == paid + 900 + paid // 4
    assert sorted(Item.objects.values_list("key", flat=True)) == [
        f"arena-{pair.pk}",
        f"arena-{other.pk}",
    ]


def test_what_a_killed_worker_left_in_a_dropped_pair_makes_no_system_slow(llm, engine):
    arena = opened(llm, stock=2)
    agree(arena.study)
    refill(arena)
    pair = arena.pairs.earliest("pk")
    long_ago = clock.now() - 2 * SLOW
    pair.answers.update(state="waiting", created_at=long_ago)
    ArenaPair.objects.filter(pk=pair.pk).update(state="dropped", item=None)

    assert able(arena).count() == 2


def test_the_rate_is_limited(llm, engine):
    arena = opened(llm, per_hour=3, stock=10)
    agree(arena.study)
    refill(arena)
    refill(arena)

    assert arena.pairs.count() == 3


def test_a_paused_arena_asks_nothing_and_who_has_items_finishes(llm, engine):
    arena = opened(llm)
    annotator = agree(arena.study)
    refill(arena)
    annotator = services.finish_instructions(annotator_id=annotator.pk)
    asked = len(llm.requests)

    arena = pause_arena(arena=arena)
    refill(arena)

    assert len(llm.requests) == asked
    assert Study.objects.get(pk=arena.study_id).state == "paused"
    assert finish(annotator).state == "completed"


def test_a_deleted_judge_ends_its_pairs_only(llm, engine):
    arena = opened(llm, systems=("gone", "large", "small"), stock=3)
    agree(arena.study)
    Judge.objects.get(name="gone").delete()
    refill(arena)

    assert arena.pairs.filter(state="stored").count() == 3


def test_texts_of_removed_items_go_and_their_cost_stays(llm, engine):
    arena = opened(llm, stock=2)
    agree(arena.study)
    refill(arena)
    paid = spent_nano(arena)
    item = Item.objects.earliest("pk")

    forget_texts(arena.study, [item.pk])

    assert set(ArenaAnswer.objects.filter(pair__item=item).values_list("text", "reply")) == {
        ("", "")
    }
    assert spent_nano(arena) == paid
