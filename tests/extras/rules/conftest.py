import random

import pytest

from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.conftest import every_key_is_described
from tests.extras.in_browser import browser, open_page, signed_in
from tests.factories import make_item, make_persona, make_study, stored_at_once
from tests.judging.conftest import engine, llm

__all__ = ["browser", "engine", "every_key_is_described", "llm", "open_page", "signed_in"]

LONG = "This longer response explains every step, and then it explains the steps again.\n\n- One"
SHORT = "Brief {}."


@pytest.fixture
def run(db):
    """160 items of 20 personas: people choose the longer response, the judge chooses by chance."""
    rng = random.Random(3)
    study = make_study(slug="apart", state="open", annotations_per_item=3)
    personas = [make_persona(study=study, key=f"p{n}") for n in range(20)]
    raters = [make_rater(study=study, demographics={"Age": "18–34"}) for _ in range(16)]
    found = make_run(study=study)
    with stored_at_once():
        for n in range(160):
            texts = [f"{LONG} {n}", SHORT.format(n)]
            longer = rng.randrange(2)
            r1, r2 = texts if longer == 0 else texts[::-1]
            item = make_item(
                study=study,
                key=f"i{n:03}",
                persona=personas[n % 20],
                question=f"How do I prepare for test {n}?",
                r1={"text": r1},
                r2={"text": r2},
            )
            for rater in rng.sample(raters, 3):
                follows = rng.random() < 0.85
                answer(rater, item, ("r1", "r2")[longer if follows else 1 - longer])
            judge_item(found, item, rng.choice(("r1", "r2")), 70)
    return found
