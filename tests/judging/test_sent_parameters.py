"""What was sent is what is recorded: a parameter is left out only where a server refuses it."""

import html
import json

import pytest
from django.urls import reverse

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report
from analysis.report.citation import methods_paragraph
from analysis.report.sections.methods import run_facts
from judging.models import Attempt, SentParameters
from judging.runs.request_conditions import conditions_of
from tests.factories import make_item, make_items, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion
from tests.judging.run_helpers import judge_all, states, study_of


def page_of(study, run):
    text = (
        sign_in(study, "viewer").get(reverse("judging:run", args=[study.slug, run.public_id])).text
    )
    return " ".join(html.unescape(text).split())


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
        refusal("'temperature' must be at most 0.5", param="temperature", code="invalid_value"),
    ],
    ids=["words of a prompt", "value too large"],
)
def test_a_complaint_that_merely_names_a_parameter_changes_no_later_request(judge, llm, complaint):
    study = make_study()
    make_item(study=study, key="aaa", question="Refused?")
    make_items(study, 3)
    make_judge(concurrency=1)
    llm.answer = lambda body, n: (
        complaint if "Refused?" in body["messages"][0]["content"] else completion("[[A]]")
    )

    run = judge_all(study, judge)

    assert states(run) == {"done": 3, "error": 1}
    sent = [judgment.sent_with.parameters for judgment in run.judgments.filter(state="done")]
    assert [each.keys() for each in sent] == [PARAMETERS] * 3
    # Asked again without these, in case that the complaint was meant.
    assert len(llm.requests) <= 4 + 3


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        (Answer(400, b'{"message": "Bad Request"}'), {"seed"}),
        (Answer(422, b"Unprocessable"), {"temperature", "top_p"}),
    ],
)
def test_what_a_server_refuses_in_any_words_is_left_out_and_recorded(judge, llm, answer, refused):
    study = study_of(60)
    llm.answer = lambda body, n: answer if body.keys() & refused else completion("[[A]]")

    run = judge_all(study, judge)

    assert states(run) == {"done": 60}
    assert len(llm.requests) <= 60 + 40  # as many as were under way when the first was refused
    assert {*llm.requests[-1]} - {"messages"} == PARAMETERS - refused
    for judgment in run.judgments.select_related("sent_with"):
        assert not judgment.sent_with.parameters.keys() & refused
    assert next(iter(conditions_of([run]).values())).sentences


def test_every_attempt_and_answer_says_what_it_was_sent_with(judge, llm):
    study = study_of(20)
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
        "model": "mock",
        "temperature": 0.7,
        "top_p": 0.95,
        "max_tokens": 1024,
        "seed": "one for each question",
    }
    assert without.parameters == {k: v for k, v in full.parameters.items() if k != "temperature"}
    assert set(run.judgments.values_list("sent_with", flat=True)) == {without.pk}
    replied = next(body for body in llm.requests if "temperature" not in body)
    assert replied.keys() - {"messages"} == without.parameters.keys()


def test_an_answer_that_another_run_takes_over_keeps_what_it_was_sent_with(judge, llm):
    study = study_of(2)
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
    study = study_of(1)
    recording = tmp_path / "replies.jsonl"
    recording.write_text('{"prompt": "other", "reply": "A"}\n')
    judge = make_judge(name="recorded", backend="replay", model=str(recording))

    run = judge_all(study, judge)

    assert not Attempt.objects.exclude(sent_with=None).exists()
    assert run.judgments.get().sent_with is None


def test_a_run_whose_requests_were_not_sent_as_set_says_so_on_its_page(judge, llm):
    study = study_of(4)
    make_judge(concurrency=1)
    llm.answer = lambda body, n: (
        NO_TEMPERATURE if n > 2 and "temperature" in body else completion("[[A]]")
    )
    run = judge_all(study, judge)

    page = page_of(study, run)

    assert (
        "The requests differ, because the server refused some settings of the judge: 2 answers "
        "as set; 2 answers without temperature." in page
    )


def test_a_limit_by_its_other_name_is_no_difference(judge, llm):
    study = study_of(2)
    other_name = refusal(
        "Unsupported parameter: 'max_tokens'", param="max_tokens", code="unsupported_parameter"
    )
    llm.answer = lambda body, n: other_name if "max_tokens" in body else completion("[[A]]")

    run = judge_all(study, judge)

    assert states(run) == {"done": 2}
    assert conditions_of([run])[run.pk].sentences == []


def named(model, fingerprint):
    body = json.loads(completion("[[A]]").body)
    return Answer(
        body=json.dumps(body | {"model": model, "system_fingerprint": fingerprint}).encode()
    )


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (named("mock-2", "fp_1"), "named 2 models: mock-1 (3 answers); mock-2 (1 answer)."),
        (named("mock-1", "fp_2"), "by its fingerprint: fp_1 (3 answers); fp_2 (1 answer)."),
    ],
)
def test_a_model_that_changes_in_mid_run_is_told_of(judge, llm, second, words):
    study = study_of(4)
    make_judge(concurrency=1)
    llm.answer = lambda body, n: second if n == 4 else named("mock-1", "fp_1")
    run = judge_all(study, judge)

    page = page_of(study, run)

    assert words in page


def test_a_run_under_the_same_conditions_says_nothing(judge, llm):
    study = study_of(4)
    run = judge_all(study, judge)

    found = conditions_of([run])[run.pk]

    assert found.sentences == []
    assert [(sent.judgments, sent.differs) for sent in found.sent] == [(4, ())]
    assert [(each.judgments, each.model) for each in found.reported] == [(4, "mock-2024-05-13")]


def test_a_report_says_what_was_sent_and_which_models_answered(judge, llm):
    study = study_of(4)
    make_judge(concurrency=1)
    llm.answer = lambda body, n: (
        NO_TEMPERATURE if n > 2 and "temperature" in body else named(f"mock-{n > 4}", "fp")
    )
    judge_all(study, judge)

    report = build_report(load_dataset(study.slug), seed=1, bootstrap=20)

    (entry,) = report["judges"]
    record = entry["record"]
    sent = [
        (s["judgments"], s["differs"], "temperature" in s["parameters"]) for s in record["sent"]
    ]
    assert sent == [(2, [], True), (2, ["without temperature"], False)]
    told = [each["text"] for each in report["limitations"] if each["limit"] == "conditions"]
    assert len(told) == 2
    assert "2 answers as set; 2 answers without temperature" in told[0]
    assert "The server named 2 models" in told[1]
    assert "temperature 0.7 or the server's own" in methods_paragraph(report)
    facts = [value for name, value, _ in run_facts(report, 0) if name == "Conditions"]
    assert facts == record["conditions"]


def test_a_refusal_by_a_content_filter_is_a_refusal_and_no_error(judge, llm):
    study = study_of(3)
    make_judge(concurrency=1)
    filtered = {
        "message": "The response was filtered due to the prompt triggering the content management "
        "policy.",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {"code": "ResponsibleAIPolicyViolation"},
    }
    llm.answer = lambda body, n: (
        Answer(400, json.dumps({"error": filtered}).encode()) if n == 1 else completion("[[A]]")
    )

    run = judge_all(study, judge)

    assert (run.state, states(run)) == ("done", {"done": 2, "refused": 1})
    refused = run.judgments.get(state="refused")
    attempt = refused.attempts.get()
    assert (attempt.outcome, attempt.status_code) == ("replied", 400)
    assert attempt.cost_is_estimate  # a provider may bill what its filter read
    assert "content management policy" in refused.raw_text
