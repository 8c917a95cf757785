"""The simulated judges rank all responses of a set when a prompt asks for it."""

from dataclasses import replace
from itertools import permutations

import pytest

from demo.judges import MODELS, Judges
from demo.rankings import SAYS_RANKED, read_options
from demo.truth import World
from extras.option_sets.listwise import LETTERS, LISTWISE

TEXTS = ("Lie at the beach.\n\nAnd read.", "Plan a tour.", "Visit a town.", "Stay at home.")


@pytest.fixture(scope="module")
def judges():
    return Judges(World())


def prompt_with(texts):
    shown = "\n\n".join(f"[Response {x}]\n{t}" for x, t in zip(LETTERS, texts, strict=False))
    return f"[Person]\nThe person is 40.\n\n{shown}\n\nRank all of them: [[X > Y > Z]] [[N]].\n[["


@pytest.mark.parametrize("model", MODELS)
def test_the_order_depends_on_the_texts_and_not_on_their_places(judges, model):
    rankings = set()
    for texts in permutations(TEXTS):
        prompt = prompt_with(texts)
        assert list(read_options(prompt).values()) == list(texts)
        bound = replace(LISTWISE, shown=tuple(range(1, 5)), pair=(1, 2))
        reply = judges.reply(model, prompt, attempt=2)
        assert reply.endswith(SAYS_RANKED)
        details = bound.read(reply).details
        if details:  # a few replies are malformed
            rankings.add(tuple(texts[number - 1] for number in details["ranking"]))

    assert len(rankings) == 1


def test_models_rank_differently_and_a_reply_repeats(judges):
    prompts = [prompt_with([f"{text} {n}" for text in TEXTS]) for n in range(20)]

    said = {m: [judges.reply(m, each, attempt=2) for each in prompts] for m in MODELS}

    assert said["demo-steady"] == [judges.reply("demo-steady", each, attempt=2) for each in prompts]
    assert said["demo-steady"] != said["demo-lefty"]
