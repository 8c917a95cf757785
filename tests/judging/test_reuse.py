"""Requests that were paid for once, also in another study, are not paid for again."""

import io
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.urls import reverse

from judging.models import Judgment
from judging.runs.reuse import saving_of
from judging.runs.spec import Reuse, RunSpec
from judging.runs.start import start_run
from studies.models import Membership, Study
from tests.factories import make_item, make_persona, make_study
from tests.invariants import broken_invariants
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion
from tests.judging.run_helpers import judge_all

PRICES = {"price_input": Decimal(10), "price_output": Decimal(30)}
WORDS = {"question": "Which one?", "r1": {"text": "Tea"}, "r2": {"text": "Coffee"}}


def study_of(slug: str, *, seed: int = 7, turned: bool = False) -> Study:
    """A study with one item, whose prompts are the same in every study made here."""
    study = make_study(slug=slug, seed=seed)
    words = dict(WORDS)
    if turned:
        words |= {"r1": WORDS["r2"], "r2": WORDS["r1"]}
    make_item(study=study, key="i", persona=make_persona(study=study, key="p"), **words)
    return study


@pytest.fixture
def judge(llm, engine):
    llm.answer = lambda body, n: completion("A]] [[70]]")
    return make_judge(base_url=llm.url, **PRICES)


ASKED = {"setting": "certainty", "orders": "r1_first"}


def test_the_same_request_of_another_study_is_not_paid_for_again(judge, llm):
    first = judge_all(study_of("one"), judge, **ASKED)

    run = judge_all(study_of("two"), judge, **ASKED, reuse=Reuse.IDENTICAL)

    assert (len(llm.requests), run.state, run.spent_nano, run.tokens) == (1, "done", 0, 0)
    taken, source = run.judgments.get(), first.judgments.get()
    assert taken.reused_from == source
    for field in ("choice", "certainty", "raw_text", "model_snapshot", "sent_with", "answered_at"):
        assert getattr(taken, field) == getattr(source, field)
    saving = saving_of(run)
    assert (saving.judgments, saving.tokens) == (1, 110)
    assert saving.dollars == first.spent
    assert saving_of(first) is None


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(
    ("temperature", "reuse", "requests"),
    [
        (0.7, Reuse.IDENTICAL, 2),
        (0.7, Reuse.SAME_PROMPT, 1),
        (0.0, Reuse.IDENTICAL, 1),
        (0.0, Reuse.FRESH, 2),
    ],
)
def test_another_seed_is_another_request_unless_nothing_is_drawn(
    judge, llm, temperature, reuse, requests
):
    judge = make_judge(name="other", base_url=llm.url, temperature=temperature)
    judge_all(study_of("one"), judge, **ASKED)

    judge_all(study_of("two", seed=8), judge, **ASKED, reuse=reuse)

    assert len(llm.requests) == requests


def test_a_choice_follows_the_side_where_the_responses_have_changed_places(judge, llm):
    judge_all(study_of("one"), judge, **ASKED)
    source = Judgment.objects.get()
    Judgment.objects.update(probabilities={"r1": 0.9, "r2": 0.1})
    options = {"setting": "certainty", "orders": "r2_first", "reuse": Reuse.SAME_PROMPT}

    run = judge_all(study_of("two", turned=True), judge, **options)

    taken = run.judgments.get()
    assert len(llm.requests) == 1
    assert (taken.prompt_sha256, taken.reused_from) == (source.prompt_sha256, source)
    assert (source.choice, taken.choice) == ("r1", "r2")  # side A of the prompt, both times
    assert taken.probabilities == {"r2": 0.9, "r1": 0.1}


@pytest.mark.parametrize("other", [{"reading": "strict"}, {"setting": "standard"}])
def test_answers_that_were_asked_or_read_otherwise_are_not_taken(judge, llm, other):
    judge_all(study_of("one"), judge, **ASKED)

    judge_all(study_of("two"), judge, **ASKED | other, reuse=Reuse.SAME_PROMPT)

    assert len(llm.requests) == 2


def test_only_answers_of_studies_that_a_user_may_see_are_taken(judge, llm, client):
    one, two = study_of("one"), study_of("two")
    user = User.objects.create_user("ada")
    Membership.objects.create(study=two, user=user, role=Membership.Role.EDITOR)
    judge_all(one, judge, **ASKED)
    spec = RunSpec(study_id=two.pk, judge_id=judge.pk, **ASKED, reuse=Reuse.IDENTICAL)

    run = start_run(spec, enqueue=False, user=user)
    assert run.judgments.get().reused_from is None

    viewer = Membership.objects.create(study=one, user=user, role=Membership.Role.VIEWER)
    run = start_run(spec, enqueue=False, user=user)
    assert run.judgments.get().reused_from is not None

    client.force_login(user)
    address = reverse("judging:run", args=["two", run.public_id])
    source = reverse("judging:run", args=["one", one.judge_runs.get().public_id])
    page = client.get(address).content.decode()
    assert f'Reused from <a href="{source}">another run</a>' in page
    assert "Reused from other runs</dt><dd>1 judgment<br>" in page
    viewer.delete()
    page = client.get(address).content.decode()
    assert "Reused from a run of another study" in page
    assert source not in page


def test_the_command_reuses_identical_requests_unless_they_shall_be_fresh(judge, llm):
    study_of("one"), study_of("two"), study_of("three")
    shown = io.StringIO()
    options = ["--judge", "judge", "--setting", "certainty", "--inline", "--yes"]
    for study, more in {"one": [], "two": [], "three": ["--fresh"]}.items():
        call_command("judge", study, *options, *more, stdout=shown)

    assert len(llm.requests) == 2
    assert "Reused from other runs: 1, which saved 110 tokens, $0.0013." in shown.getvalue()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "none+reflection"),
        ("none+reflection", "length+reflection"),
        ("length+reflection", "length"),
    ],
)
def test_answers_before_a_reflection_and_after_it_are_not_the_same(judge, llm, before, after):
    judge_all(study_of("one"), judge, **ASKED, bias_probe=before)
    asked = len(llm.requests)

    run = judge_all(study_of("two"), judge, **ASKED, bias_probe=after, reuse=Reuse.SAME_PROMPT)

    taken = run.judgments.get()
    assert taken.reused_from is None
    assert len(llm.requests) - asked == (2 if "reflection" in after else 1)
    assert ("before_reflection" in (taken.details or {})) == ("reflection" in after)
    assert broken_invariants("mixed-runs") == []


def test_answers_with_the_values_that_a_judge_had_earlier_are_not_taken(judge, llm):
    judge_all(study_of("one"), judge, **ASKED)
    type(judge).objects.filter(pk=judge.pk).update(temperature=0.1, structured=True)
    judge.refresh_from_db()

    run = judge_all(study_of("two"), judge, **ASKED, reuse=Reuse.SAME_PROMPT)

    assert run.judgments.get().reused_from is None


def test_answers_that_another_version_read_are_not_taken(judge, llm, monkeypatch):
    judge_all(study_of("one"), judge, **ASKED)
    monkeypatch.setattr("judging.runs.start.READING_VERSION", 0)

    run = judge_all(study_of("two"), judge, **ASKED, reuse=Reuse.SAME_PROMPT)

    assert run.judgments.get().reused_from is None
