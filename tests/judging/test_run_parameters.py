"""Runs that grow, and answers that are taken over: nothing is asked twice, nothing shared."""

from collections import Counter
from importlib.metadata import version

import pytest

from judging.errors import BadRun
from judging.models import Judge, JudgeRun
from judging.runs.spec import Reuse, RunSpec
from judging.runs.start import client_versions, start_run
from studies.models import Item
from tests.factories import make_item
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion
from tests.judging.run_helpers import judge_all, start, study_of


@pytest.fixture
def study(transactional_db):
    study = study_of(4)
    return study


def seeds(llm):
    return {(body["messages"][0]["content"], body["seed"]) for body in llm.requests}


def shown(run):
    return Counter(run.judgments.values_list("item__key", "shown_first", "sample"))


def test_more_samples_ask_only_the_new_ones(study, judge, llm):
    first = judge_all(study, judge)
    orders = dict(first.judgments.values_list("item__key", "shown_first"))

    run = judge_all(study, judge, samples=3, extend=True)

    assert (run.pk, run.samples, run.state) == (first.pk, 3, "done")
    assert run.key != first.key
    assert len(llm.requests) == len(seeds(llm)) == 12
    # Every sample shows the order that was drawn for the first.
    assert shown(run) == {(key, side, s): 1 for key, side in orders.items() for s in (1, 2, 3)}


@pytest.mark.parametrize("before", ["random", "r1_first", "r2_first"])
def test_the_other_order_asks_only_the_other_order(study, judge, llm, before):
    judge_all(study, judge, orders=before)

    run = judge_all(study, judge, orders="both", extend=True)

    keys = Item.objects.filter(study=study).values_list("key", flat=True)
    assert shown(run) == {(key, side, 1): 1 for key in keys for side in ("r1", "r2")}
    assert len(llm.requests) == 8
    assert run.sentence == "8 of 8 answered."


def test_a_run_that_grew_is_continued_by_its_new_parameters(study, judge, llm):
    judge_all(study, judge)
    grown = judge_all(study, judge, samples=2, extend=True)
    make_item(study=study, key="zz")

    run = judge_all(study, judge, samples=2)

    assert run.pk == grown.pk
    assert len(llm.requests) == 10


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"setting": "tie"}),
        ({}, {"features": "none"}),
        ({}, {"seed": 99}),
        ({}, {"orders": "r2_first"}),
        ({"samples": 3}, {}),
        ({"reading": "strict"}, {}),
        ({"bias_probe": "none+reflection"}, {}),
        ({"bias_probe": "length"}, {"bias_probe": "length+reflection"}),
    ],
)
def test_what_was_asked_or_read_otherwise_or_more_often_cannot_be_extended(db, before, after):
    study, judge = study_of(1), make_judge(base_url="http://127.0.0.1:9/v1")
    start(study, judge, **{"orders": "r1_first"} | before)

    with pytest.raises(BadRun, match="there are 0"):
        start(study, judge, **{"orders": "r1_first", "samples": 2} | after, extend=True)

    assert JudgeRun.objects.count() == 1


def test_a_run_that_an_older_version_read_is_not_extended(study, judge, monkeypatch):
    judge_all(study, judge)
    monkeypatch.setattr("judging.runs.start.READING_VERSION", 0)

    with pytest.raises(BadRun, match="there are 0"):
        judge_all(study, judge, samples=2, extend=True)
    make_item(study=study, key="zz")
    with pytest.raises(BadRun, match="the reading of replies has changed"):
        judge_all(study, judge, extend=True)


def test_reuse_takes_over_answers_to_the_same_words(study, judge, llm):
    llm.answer = lambda body, n: completion("A]] [[70]]")
    judge_all(study, judge, orders="r1_first", setting="certainty")
    llm.answer = lambda body, n: completion("A]] [[90]]")

    run = judge_all(study, judge, orders="both", setting="certainty", reuse=Reuse.SAME_PROMPT)

    assert (run.state, len(llm.requests), run.tokens) == ("done", 8, 440)
    found = set(run.judgments.values_list("shown_first", "choice", "certainty", "raw_text"))
    assert found == {("r1", "r1", 70, "A]] [[70]]"), ("r2", "r2", 90, "A]] [[90]]")}
    taken = run.judgments.filter(shown_first="r1")
    assert {j.reused_from.prompt_sha256 for j in taken} == {j.prompt_sha256 for j in taken}


def test_samples_never_share_an_answer(study, judge, llm):
    judge_all(study, judge, orders="r1_first")

    run = judge_all(study, judge, orders="r1_first", samples=3, reuse=Reuse.SAME_PROMPT)
    third = judge_all(study, judge, orders="r1_first", samples=4, seed=5, reuse=Reuse.SAME_PROMPT)

    assert len(llm.requests) == 4 + 8 + 4
    for grown in (run, third):
        sources = [j.reused_from_id or j.pk for j in grown.judgments.all()]
        assert len(set(sources)) == len(sources)


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(
    "other", [{"temperature": 0.0}, {"model": "other"}, {"max_tokens": 7}, {"top_p": 0.5}]
)
def test_another_model_or_parameter_is_not_taken_over(study, judge, llm, other):
    judge_all(study, judge)
    second = make_judge(name="second", base_url=llm.url, **other)

    judge_all(study, second, reuse=Reuse.SAME_PROMPT)

    assert len(llm.requests) == 8


def test_what_has_no_answer_is_not_taken_over(study, judge, llm):
    llm.answer = lambda body, n: completion("Hm.") if n <= 20 else completion("[[A]]")
    judge_all(study, judge, orders="r1_first")

    run = judge_all(study, judge, orders="both", reuse=Reuse.SAME_PROMPT)

    assert run.sentence == "8 of 8 answered."
    assert not run.judgments.exclude(reused_from=None).exists()


@pytest.mark.django_db
def test_a_run_names_the_packages_that_asked_its_questions_and_no_other():
    study = study_of(2)
    judge = make_judge(base_url="http://localhost:1/v1")

    plain = start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), enqueue=False)

    assert plain.parameters["software"] == {
        "openai": version("openai"),
        "httpx2": version("httpx2"),
    }
    assert client_versions(Judge(backend="replay"), by_batch=False) == {}
