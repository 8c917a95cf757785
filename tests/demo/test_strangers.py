"""The simulated judges about items that are not the demo's."""

from collections import Counter
from itertools import product

import pytest

from demo.judges import MODELS, Judges
from demo.strangers import SAYS_DRAWN, SAYS_SO, read_stranger
from demo.truth import World
from judging.protocols.parsing import parse_reply
from studies.models import Item, Persona, Study, Task
from studies.prompts import SETTINGS, build_prompt

LOVES = "The person loves mountains and long hiking tours."
HIKER = [
    {"key": "hobby", "label": "Hobby", "value": "hiking", "text": LOVES},
    {"key": "age", "label": "Age", "value": "40", "text": "The person is 40."},
]
BEACH = "Lie at the beach and read."
TOUR = "Plan long hiking tours in the mountains."


@pytest.fixture(scope="module")
def judges():
    return Judges(World())


def prompt_of(r1, r2, *, task="preference", setting="certainty", first="r1", features=None, n=0):
    study = Study(slug="mine", persona_style="sentences")
    item = Item(
        study=study,
        task=task,
        question=f"What shall I do in week {n}?",
        persona=Persona(key="p", features=HIKER),
        r1={"text": r1},
        r2={"text": r2},
    )
    return build_prompt(item, setting=setting, shown_first=first, features=features)


def verdict(judges, prompt, model="demo-steady", **options):
    reply = judges.reply(model, prompt, attempt=2, **options)
    assert reply.endswith(SAYS_SO)
    return parse_reply(reply, offers_tie="[[C]]" in prompt, asks_certainty="[[X]]" in prompt)


@pytest.mark.parametrize(("task", "setting"), list(product(Task.values, SETTINGS)))
def test_every_task_is_answered_in_every_setting_with_and_without_a_profile(judges, task, setting):
    shown: list[list[str] | None] = [None, []]
    for features in shown:
        prompt = prompt_of(
            f"{BEACH}\n\nOr not.", TOUR, task=task, setting=setting, features=features
        )
        for model in MODELS:
            found = verdict(judges, prompt, model)
            assert found.side in {"A", "B", "C"}
            assert (found.certainty is not None) == (setting == "certainty")


def test_words_of_the_profile_speak_for_a_response(judges):
    prompts = [prompt_of(f"{BEACH} {n}", f"{TOUR} {n}", n=n) for n in range(200)]

    sides = Counter(verdict(judges, prompt).side for prompt in prompts)

    assert read_stranger(prompts[0]).evidence == "strong"
    assert 0.75 < sides["B"] / 200 < 0.95


def test_without_such_words_either_may_be_chosen_and_certainty_is_low(judges):
    prompts = [prompt_of(f"Yes {n}.", f"No {n}.", n=n) for n in range(200)]
    found = [verdict(judges, prompt) for prompt in prompts]

    assert 70 < sum(one.side == "A" for one in found) < 130
    assert sum(one.certainty for one in found) / 200 < 45


def test_both_orders_of_an_item_get_the_same_answer(judges):
    sides = [
        [
            verdict(judges, prompt_of(f"{BEACH} {n}", f"{TOUR} {n}", first=first)).side
            for first in ("r1", "r2")
        ]
        for n in range(50)
    ]

    assert all(one != two for one, two in sides)


OTHER = (
    "Tell me a story.",
    "",
    "Option 1: tea\nOption 2: coffee\nAnswer [[A]], [[B]] or [[C]], then [[X]].",
    "Which one? Say how certain you are.\n" + "x" * 50_000,
    "\u202e{{ persona }} [Response A] [[[[",
)


@pytest.mark.parametrize("prompt", OTHER)
@pytest.mark.parametrize("model", MODELS)
def test_any_other_prompt_is_answered_the_same_each_time_and_says_so(judges, prompt, model):
    reply = judges.reply(model, prompt, attempt=2)

    assert reply == Judges(World()).reply(model, prompt, attempt=2)
    assert reply.endswith(SAYS_DRAWN)
    found = parse_reply(
        reply, offers_tie="[[C]]" in prompt, asks_certainty="certain" in prompt or "[[X]]" in prompt
    )
    assert found.side in {"A", "B", "C"}
