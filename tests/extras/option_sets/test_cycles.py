"""Sets of responses that are compared with each other, and cycles of choices in a report."""

import random
from itertools import combinations

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import all_sentences, all_tables, build_report
from extras.option_sets.sets import OptionSets
from studies.models import Item
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study, stored_at_once


@stored_at_once()
def compared_study(n_personas=20):
    """All six pairs of four responses to a question of each persona; a steady and a random run."""
    rng = random.Random(3)
    study = make_study()
    raters = [make_rater(study=study) for _ in range(12)]
    steady = make_run(study=study, judge="steady", orders="both")
    dice = make_run(study=study, judge="dice")
    for number in range(n_personas):
        persona = make_persona(study=study)
        for pair, (one, two) in enumerate(combinations("abcd", 2)):
            if rng.random() < 0.5:
                one, two = two, one
            better = "r1" if one < two else "r2"
            item = make_item(
                study=study,
                key=f"{number:02}-{pair}",
                persona=persona,
                question=f"Question {number % 5}",
                r1={"text": f"{number} {one}"},
                r2={"text": f"{number} {two}"},
                first_person=better,
            )
            for rater in rng.sample(raters, 3):
                answer(rater, item, better, 70)
            judge_item(steady, item, better, 70, shown_first="r1")
            judge_item(steady, item, better if pair else "r1", 70, shown_first="r2")
            judge_item(dice, item, rng.choice(["r1", "r2"]), 70)
    return study


@pytest.mark.nightly
@pytest.mark.django_db
def test_cycles_are_counted_where_three_responses_are_compared():
    study = compared_study()

    data = load_dataset(study.slug)
    report = build_report(data, seed=1, bootstrap=20)

    sets = data.of(OptionSets)
    assert len(set(sets.of_item.tolist())) == 20
    assert set(sets.first.tolist()) | set(sets.second.tolist()) == {0, 1, 2, 3}
    found = report["consistency"]
    entries = {entry["judge"]: entry for entry in found["judges"]}
    assert found["people"]["cyclic"]["value"] == 0
    assert (entries["steady"]["sets"], entries["dice"]["pairs"]) == (20, 120)
    assert entries["dice"]["cyclic"]["n"] == 80
    assert 0.05 < entries["dice"]["cyclic"]["value"] < 0.5
    assert entries["dice"]["edits"] > 0
    assert entries["dice"]["bounded"] == 0
    assert "orders" not in entries["dice"]
    orders = entries["steady"]["orders"]
    worse = Item.objects.filter(study=study, key__endswith="-0", first_person="r2").count()
    assert (orders["correct"], orders["n"]) == (worse, 120)
    assert len(all_tables(report)["consistency"].rows) == 3
    words = [str(one.text) for one in all_sentences(report, "finding")]
    assert any(text.startswith("dice: ") and "are cycles" in text for text in words)
    assert not faults({"consistency": found})


@pytest.mark.nightly
@pytest.mark.django_db
def test_studies_without_three_responses_have_no_sets():
    study = random_study(5, n_items=24)

    data = load_dataset(study.slug)

    assert data.of(OptionSets) is None
    assert "consistency" not in build_report(data, seed=1, bootstrap=20)


@pytest.mark.django_db
def test_the_hash_of_the_inputs_follows_the_texts_of_sets():
    study = compared_study(n_personas=2)
    before = load_dataset(study.slug).inputs_hash

    item = Item.objects.filter(study=study).first()
    item.r1["text"] = "another response"
    item.save()

    assert load_dataset(study.slug).inputs_hash != before
