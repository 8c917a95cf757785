"""Whole reports of studies without an effect claim nothing, and others nothing in reverse."""

import pytest

from benchmarks.simulations.whole_reports import (
    World,
    claims_in,
    in_a_folder,
    null_world,
    planted_world,
)

pytestmark = [pytest.mark.django_db, pytest.mark.nightly]
SEED = 4


def false_claims(world: World, slug: str):
    return [claim for claim in in_a_folder(world, slug)[-1] if world.is_false(claim)]


def test_reports_of_studies_without_an_effect_claim_nothing():
    found = [false_claims(null_world(SEED, place, 30), f"null-{place}") for place in range(12)]

    # With 6 % that claim something, more than three of twelve happen once in two hundred times.
    assert sum(map(bool, found)) <= 3, found


def test_planted_effects_are_found_and_no_claim_has_the_wrong_direction():
    found = [false_claims(planted_world(SEED, place, 30), f"few-{place}") for place in range(6)]
    effects = dict.fromkeys(("judge", "side", "length", "calibration", "ranking", "group"), -1)
    many = World((SEED,), 300, effects)
    claims = in_a_folder(many, "many")[-1]

    assert not any(found), found
    assert not [claim for claim in claims if many.is_false(claim)]
    assert {"sides", "length", "calibration"} <= {claim.kind for claim in claims}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "k1 was right less often than the majority of people, by 9.5 points",
            ("comparison", False),
        ),
        ("k2 leans to side A: chose side A in 80 % of 90 answers", ("sides", True)),
        (
            "The certainty of people is higher than the share of right answers",
            ("calibration", True),
        ),
        ("People and k1 are correct more often when certain", ("ranking", True)),
        ("k2 errs more often on personas with Age 18-24 than on others", ("groups", True)),
        ("We cannot tell whether k1 was right more often than the majority", None),
        ("Open: does k1 lean to a side?", None),
    ],
)
def test_a_reader_finds_the_claims_of_a_sentence(words, expected):
    found = [(claim.kind, claim.up) for claim in claims_in([words])]

    assert found == ([expected] if expected else [])
