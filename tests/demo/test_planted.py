"""Annotators who behave badly on purpose walk the real pages, and exactly they are flagged."""

from collections import Counter

import pytest

from annotation.content.comprehension import standard_questions
from annotation.models import Annotation, Annotator, ComprehensionAnswer, Ending
from annotation.quality import quality_of
from annotation.services.endings import mark_returned
from demo import annotators as people
from demo.bundle import write_bundles
from demo.judges import Judges
from demo.planted import ASSISTANT, BEHAVIOURS, EXPECTED_FLAGS, REFILL, planted_answer
from demo.studies import _import, add_checks, mark_simulated
from demo.truth import World
from studies.models import Item, Study
from tests.analysis.builders import judge_item, make_run
from tests.factories import make_study

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def make_demo_study(folder, world: World, **overrides) -> Study:
    items, _ = write_bundles(folder, world)
    study = make_study(
        slug="planted",
        seed=world.seed,
        is_simulated=True,
        persona_style="facts",
        minutes=15,
        items_per_annotator=30,
        **overrides,
    )
    _import(study, items, world)
    add_checks(study, world)
    return Study.objects.get(pk=study.pk)


def judge_everything(study: Study, world: World) -> None:
    """The simulated models' verdicts, as a run of each would store them."""
    judges = Judges(world)
    for model in ("demo-steady", "demo-boastful", "demo-lefty"):
        run = make_run(study=study, judge=model, features="all")
        for item in Item.objects.filter(study=study):
            judge_item(run, item, judges.decide(model, world.by_id[item.key]), 70)


def take_part(study: Study, numbers, base_url: str, world: World) -> dict[int, str]:
    """Let people come and answer one after the other; their codes by number."""
    codes = {}
    for number in numbers:
        person = people.SimulatedAnnotator(number, study.slug, base_url, world, planted=True)
        person.arrive()
        mark_simulated(study, world, {person.pid: people.pseudonym(number)})
        person.take_seat()
        codes[number] = person.finish()
    return codes


def flagged(study: Study, rule: str) -> list[int]:
    quality = quality_of(study)
    return sorted(
        number_of(annotator)
        for annotator in study.annotators.all()
        if annotator.pk in quality and rule in quality[annotator.pk].rules
    )


def number_of(annotator: Annotator) -> int:
    return int(annotator.pseudonym.removeprefix("simulated-"))


@pytest.mark.nightly  # With --all: a thousand pages; test_quality tests each flag.
@pytest.mark.timeout(900)
def test_planted_annotators_walk_the_real_pages_and_exactly_they_are_flagged(live_server, tmp_path):
    world = World()
    study = make_demo_study(tmp_path, world)
    judge_everything(study, world)

    first = take_part(study, range(1, 31), live_server.url, world)
    mark_returned(annotator_id=study.annotators.get(pseudonym="simulated-030").pk)
    later = take_part(study, [REFILL, 32, 33], live_server.url, world)

    assert flagged(study, "one_sided") == EXPECTED_FLAGS["straight_line"]
    assert flagged(study, "speed") == EXPECTED_FLAGS["speed"]
    assert flagged(study, "failed_checks") == EXPECTED_FLAGS["attention"]
    # Who copies a model's answer takes as long for every item.
    assert flagged(study, "even_times") == EXPECTED_FLAGS["assistant"]
    assert flagged(study, "machine") == EXPECTED_FLAGS["assistant"]
    returned = study.annotators.filter(state="returned")
    assert [number_of(a) for a in returned] == EXPECTED_FLAGS["returned"]
    quality = quality_of(study)
    careful = [a for a in study.annotators.all() if BEHAVIOURS[number_of(a)] == "careful"]
    assert len(careful) == 25
    assert not [(a, quality[a.pk].flags) for a in careful if quality[a.pk].flags]

    # Whoever failed both checks has a code of their own; the drop-out has none.
    codes = first | later
    assert codes[30] == ""
    assert Counter(codes.values())[codes[29]] == 1
    assert codes[29] == study.completion_codes.get(ending=Ending.FAILED_ATTENTION).code
    assert len(set(codes.values())) == 3
    # The seats of the drop-out were filled again, and nothing was filled twice.
    seats = Item.objects.filter(study=study).values_list("seats_taken", "answered")
    assert set(seats) == {(3, 3)}
    surplus = Annotation.objects.filter(standing="surplus")
    copiers = {f"simulated-{n:03}" for n in EXPECTED_FLAGS["assistant"]}
    assert set(surplus.values_list("assignment__annotator__pseudonym", flat=True)) == copiers
    # Everybody passed the questions on the instructions at the first try, and tried the item out.
    assert ComprehensionAnswer.objects.count() == 5 * 33
    assert set(ComprehensionAnswer.objects.values_list("is_right", flat=True)) == {True}
    assert study.annotators.filter(events__event="practised").count() == 33


def test_the_planted_assistant_answers_as_the_judge_of_the_study_does():
    world = World()
    judges = Judges(world)
    item = world.items[0]

    assert {planted_answer(world, 32, item.id, side).choice for side in ("r1", "r2")} == {
        judges.decide(ASSISTANT, item)
    }


@pytest.mark.parametrize("allow_tie", [True, False])
@pytest.mark.parametrize("ask_certainty", [True, False])
def test_simulated_people_know_the_answers_to_the_standard_questions(allow_tie, ask_certainty):
    study = make_study(allow_tie=allow_tie, ask_certainty=ask_certainty)

    for question in standard_questions(study):
        known = [option for option in question.options if option in people.UNDERSTOOD]
        assert known == [question.options[question.right]]
