"""What was sent is what is recorded: a parameter is left out only where a server refuses it."""

import json

import pytest

from judging.models import Attempt, SentParameters
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion
from tests.judging.working import judge_all, states

PARAMETERS = {"model", "temperature", "top_p", "max_tokens", "seed"}


def refusal(message, *, param=None, code=None, status=400):
    """An error as OpenAI and those who follow it write one."""
    told = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Answer(status, json.dumps({"error": told}).encode())


NO_TEMPERATURE = refusal(
    "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) "
    "value is supported.",
    param="temperature",
    code="unsupported_value",
)


@pytest.mark.parametrize(
    "complaint",
    [
        refusal("This prompt asks about the temperature of a seed, which is against our policy."),
        refusal("'max_tokens' or 'max_completion_tokens' is too large: 1024."),
        refusal("max_tokens is too large", param="max_tokens", code="invalid_value"),
        refusal("'temperature' must be at most 0.5", param="temperature", code="invalid_value"),
        refusal("This question about top_p and response_format is too long.", param="messages"),
    ],
    ids=["words of a prompt", "both limits", "limit too large", "value too large", "long"],
)
def test_a_complaint_that_merely_names_a_parameter_changes_no_request(judge, llm, complaint):
    study = make_study()
    make_items(study, 4)
    make_judge(concurrency=1)
    llm.answer = lambda body, n: complaint if n == 1 else completion("[[A]]")

    run = judge_all(study, judge)

    assert states(run) == {"done": 3, "error": 1}
    assert all(body.keys() - {"messages"} == PARAMETERS for body in llm.requests)
    assert len(llm.requests) == 4


def test_every_attempt_and_answer_says_what_it_was_sent_with(judge, llm):
    study = make_study()
    make_items(study, 20)
    make_judge(concurrency=2)
    llm.answer = lambda body, n: NO_TEMPERATURE if "temperature" in body else completion("[[A]]")

    run = judge_all(study, judge)

    assert states(run) == {"done": 20}
    sent = {
        (attempt.outcome, "temperature" in attempt.sent_with.parameters)
        for attempt in Attempt.objects.select_related("sent_with")
    }
    assert sent == {("rejected", True), ("replied", False)}
    without, full = SentParameters.objects.order_by("pk").reverse()
    assert full.parameters == {
        "model": "mock", "temperature": 0.7, "top_p": 0.95, "max_tokens": 1024,
        "seed": "one for each question",
    }  # fmt: skip
    assert without.parameters == {k: v for k, v in full.parameters.items() if k != "temperature"}
    assert set(run.judgments.values_list("sent_with", flat=True)) == {without.pk}
    replied = next(body for body in llm.requests if "temperature" not in body)
    assert replied.keys() - {"messages"} == without.parameters.keys()


def test_an_answer_that_another_run_takes_over_keeps_what_it_was_sent_with(judge, llm):
    study = make_study()
    make_items(study, 2)
    llm.answer = lambda body, n: NO_TEMPERATURE if "temperature" in body else completion("[[A]]")
    first = judge_all(study, judge, orders="r1_first")

    second = judge_all(study, judge, orders="both", reuse=True)

    reused = second.judgments.exclude(reused_from=None)
    assert reused.count() == 2
    assert set(reused.values_list("sent_with", flat=True)) == set(
        first.judgments.values_list("sent_with", flat=True)
    )
    assert None not in reused.values_list("sent_with", flat=True)


def test_recorded_answers_were_sent_with_nothing(engine, tmp_path):
    study = make_study()
    make_items(study, 1)
    recording = tmp_path / "replies.jsonl"
    recording.write_text('{"prompt": "other", "reply": "A"}\n')
    judge = make_judge(name="recorded", backend="replay", model=str(recording))

    run = judge_all(study, judge)

    assert not Attempt.objects.exclude(sent_with=None).exists()
    assert run.judgments.get().sent_with is None
