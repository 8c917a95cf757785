"""Personal Reddit: a fixture of our own words, and a small part of the real set (MIT licence)."""

import json
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from extras.datasets import personal_reddit
from extras.datasets.personal_reddit import by_fields, by_tfidf
from studies.errors import BadOption
from tests.studies.sets.made import changed, fixture, labels, made, refusal

REAL = fixture("pr_real/synthetic_dataset.jsonl")


def others(read):
    return Counter(item.values["metadata"]["distractor"] for item in read.items)


def other_side(item):
    return item.values["r2" if item.values["first_person"] == "r1" else "r1"]


def rows(path=REAL):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_every_answer_of_the_fixture_makes_an_item_with_anothers_answer():
    read = made("pr")

    assert len(read.items) == 4
    wrote = {row["response"]: row["personality"] for row in rows(fixture("pr") / REAL.name)}
    for item in read.items:
        own = item.values[item.values["first_person"]]
        assert wrote[own["text"]] != wrote[other_side(item)["text"]]


@pytest.mark.parametrize("similarity", ["fields", "tfidf"])
def test_no_answer_is_the_other_one_too_often_and_prompts_stay_with_answers(similarity):
    read = made("pr", REAL, similarity=similarity)
    asked = {row["response"].strip(): row["question_asked"].strip() for row in rows()}

    assert len(read.items) == 16
    assert max(others(read).values()) <= 3
    assert len(others(read)) > 5
    for item in read.items:
        for side in ("r1", "r2"):
            response = item.values[side]
            assert asked[response["text"]] == response["prompt"]
    assert labels(read).count("r1") == 8


def test_max_reuse_is_kept_where_it_costs_items():
    read = made("pr", max_reuse=1)

    assert max(others(read).values()) == 1
    assert others(made("pr", REAL, max_reuse=1)).most_common(1)[0][1] == 1


def test_where_no_answer_is_left_the_item_is_dropped_and_counted(tmp_path):
    person = rows(fixture("pr") / REAL.name)
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*person[:1] * 5, person[2]]))

    read = made("pr", path)

    assert len(read.items) == 4
    assert read.dropped == {"answers without another answer to compare with": 2}


def test_the_nearest_other_person_is_taken():
    read = made("pr", REAL, max_reuse=1_000, drop_artefacts="false")
    people = {row["response"].strip(): row["personality"] for row in rows()}
    fields = (
        "age",
        "sex",
        "city_country",
        "birth_city_country",
        "education",
        "occupation",
        "income_level",
        "relationship_status",
    )

    def equal(one, two):
        return sum(str(one[name]).lower() == str(two[name]).lower() for name in fields) / 8

    for item in read.items:
        own = people[item.values[item.values["first_person"]]["text"]]
        alike = item.values["metadata"]["distractor_similarity"]
        assert alike == equal(own, people[other_side(item)["text"]])
        assert alike == max(equal(own, other) for other in people.values() if other != own)


def test_questions_with_traces_of_a_prompt_are_dropped_or_marked():
    dropped, kept = made("pr", REAL), made("pr", REAL, drop_artefacts="false")

    assert dropped.dropped == {"answers to questions with traces of a prompt": 2}
    assert len(kept.items) == 18
    assert sum(item.values["metadata"]["traces_of_a_prompt"] for item in kept.items) == 2


def test_hardness_can_be_chosen():
    read = made("pr", REAL, hardness="1,2")

    assert {item.values["metadata"]["hardness"] for item in read.items} <= {1, 2}
    with pytest.raises(BadOption, match="hardness must be all, or some of 1, 2, 3, 4, 5"):
        made("pr", hardness="6")


def test_truth_is_simulated_and_the_topic_is_what_the_text_gives_away():
    (item, *_) = made("pr").items

    assert item.values["first_person_source"] == "simulated"
    assert item.values["topic"] == "occupation"
    assert "The person lives in Bergen, Norway." in [f["text"] for f in item.persona.features]


def test_similarities_are_symmetric_and_highest_with_oneself():
    people = [{"a": 1, "b": "X"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x "}]

    assert by_fields(people, ("a", "b")) == [[1, 0.5, 0.5], [0.5, 1, 0], [0.5, 0, 1]]
    found = np.array(by_tfidf(["a cook in Rome", "a cook in Oslo", "the nurse"]))
    assert np.allclose(found, found.T)
    assert np.allclose(np.diag(found), 1)
    assert found[0, 1] > found[0, 2] == 0


def test_minilm_is_refused_where_it_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)

    with pytest.raises(BadOption, match="needs the package sentence-transformers"):
        made("pr", similarity="minilm")


def test_minilm_compares_the_sentences_about_the_people(monkeypatch):
    def encode(texts, normalize_embeddings):
        assert normalize_embeddings
        return np.array([[1.0, 0.0] if "Norway" in text else [0.6, 0.8] for text in texts])

    def load(name, local_files_only):
        assert local_files_only
        return SimpleNamespace(encode=encode)

    module = SimpleNamespace(SentenceTransformer=load)
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)

    read = made("pr", similarity="minilm")

    alike = {item.values["metadata"]["distractor_similarity"] for item in read.items}
    assert alike == {0.6, 1.0}


def test_broken_rows_are_named(tmp_path):
    folder = changed(
        "pr",
        tmp_path,
        "synthetic_dataset.jsonl",
        lambda t: t.replace('"hardness": 4', '"hardness": "4"').replace('"response": "Shave', '"x'),
    )

    faults = refusal("pr", folder)

    assert "Line 2: hardness must be a number." in faults[0]
    assert faults[-1].startswith("Line 4:")


def test_more_people_than_can_be_compared_are_refused_before_any_two_are(monkeypatch):
    monkeypatch.setattr(personal_reddit, "MAX_PAIRS", 5)
    monkeypatch.setattr(personal_reddit, "_similarity", None)

    (fault,) = refusal("pr", REAL)

    assert "people. Only 5 pairs can be compared" in fault


def test_the_last_answer_is_the_other_one_of_every_item_as_in_the_released_runs():
    read = made("pr", other="last", drop_artefacts="false")

    last = rows(fixture("pr") / REAL.name)[-1]["response"]
    assert {other_side(item)["text"] for item in read.items} == {last}
    assert last not in {item.values[item.values["first_person"]]["text"] for item in read.items}
