"""The workload “30x3”: 1,000 items of random words, 30 for each annotator, 3 answers each."""

import random
from typing import Any

SEED, ITEMS, PERSONAS = 7, 1000, 50
PER_ANNOTATOR, PER_ITEM = 30, 3
FEATURES = ("age", "sex", "work", "education", "country")
_WORDS = "river market garden letter window summer bicycle teacher kitchen music".split()


def items(count: int = ITEMS) -> list[dict[str, Any]]:
    """Items with a question of 20 words, two responses of 60 and a persona of 5 features."""
    rng = random.Random(SEED)  # noqa: S311

    def text(words: int) -> str:
        return " ".join(rng.choices(_WORDS, k=words)).capitalize() + "."

    personas = [
        [{"key": key, "label": key.capitalize(), "value": text(2)} for key in FEATURES]
        for _ in range(PERSONAS)
    ]
    return [
        {
            "id": f"i{number:05}",
            "persona_key": f"p{number % PERSONAS}",
            "persona": personas[number % PERSONAS],
            "question": text(20),
            "r1": text(60),
            "r2": text(60),
        }
        for number in range(count)
    ]
