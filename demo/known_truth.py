"""The expected results of the demo, demo_truth.json. Rewrite it: `python -m demo.known_truth`."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from demo import reference
from demo.expected import expected, expected_ties
from demo.judges import expected_judges
from demo.planted import EXCLUDED, EXPECTED_FLAGS, planted_answers
from demo.truth import SEED, STRATA, Answer, World

PATH = Path(__file__).with_name("demo_truth.json")


def rows(answers: list[Answer]) -> list[reference.ReferenceAnswer]:
    return [
        reference.ReferenceAnswer(a.item, f"a{a.annotator}", a.choice, a.certainty) for a in answers
    ]


def realised(world: World, answers: list[Answer]) -> dict[str, Any]:
    """The results of `answers`, computed by brute force."""
    truth = {item.id: item.label for item in world.items}
    table = rows(answers)
    return {
        "individual": reference.individual(table, truth),
        "majority": reference.score(reference.verdicts(table).items(), truth),
        "agreement": {
            "percent": reference.percent_agreement(table),
            "krippendorff_alpha": reference.krippendorff_alpha(table),
        },
        "bands": reference.by_band(table, truth),
    }


def known_truth() -> dict[str, Any]:
    """Closed forms of the model, and the constants of the exact and the planted data."""
    world = World()
    exact = World(mode="exact")
    sizes = dict(Counter(item.stratum for item in world.items))
    planted = planted_answers(world)
    kept = [answer for answer in planted if answer.annotator not in EXCLUDED]
    return {
        "seed": SEED,
        "expected": {
            **expected(sizes),
            "strata": {
                name: {
                    "items": sizes[name],
                    "accuracy": stratum.accuracy,
                    "agreement": stratum.agreement,
                    "majority": stratum.majority,
                }
                for name, stratum in STRATA.items()
            },
            "ties": expected_ties(),
            "judges": expected_judges(sizes),
        },
        "exact": realised(exact, exact.answers()),
        "planted": {
            "flags": EXPECTED_FLAGS,
            "before_exclusions": realised(world, planted),
            "after_exclusions": realised(world, kept),
        },
    }


def as_text(truth: dict[str, Any]) -> str:
    return json.dumps(truth, indent=2) + "\n"


if __name__ == "__main__":
    PATH.write_text(as_text(known_truth()), "utf-8")
