"""Decision endpoints: what is sent in both formats, what is stored, and what refusals say."""

import asyncio
import base64
import json
from dataclasses import replace
from typing import Annotated, Any, Literal

import openai
import pytest
from django.urls import reverse
from pydantic import BaseModel, ConfigDict, Field

from analysis.exports.rows import judgment_table
from extras.judge_models.decision_formats import CHOICE, WIRES, read_decision
from extras.judge_models.decisions import DecisionsKind
from judging.backends.backend import JudgeSettings
from judging.catalog.connection_test import run_connection_test
from judging.engine.interface import ClosedQuestion, Garbage, JudgeQuestion
from judging.engine.messages import Attachment, Message, from_user, prompt_sha256
from judging.errors import BadJudge
from judging.models import Attempt, Judge
from judging.prompts.asking import certainty_question, messages_of
from judging.protocols.protocol import Certainty, Standard, Tie
from judging.runs.judges import add_judge
from tests.factories import sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion, decision, error, prompt_of
from tests.judging.run_helpers import judge_all, states, study_of

LEVELS = ["uncertain", "moderately_confident", "quite_confident", "confident", "highly_confident"]
ROUTES = {"openai": "/decisions", "systemone": "/systemone"}
pytestmark = pytest.mark.server


@pytest.fixture(params=WIRES)
def wire(request):
    return request.param


@pytest.fixture
def decider(llm, engine, wire):
    """A judge that knows its format, at a server that has only this one."""
    llm.routes = (ROUTES[wire],)
    llm.answer = lambda body, n: decision(body, {"A": 0.8, "B": 0.2})
    return make_judge(
        name="decider",
        backend="decisions",
        model="d",
        base_url=llm.url,
        model_options={"wire": wire},
        price_input=1,
        price_output=0,
    )


def asked(protocol=Standard, *, messages=None):
    certainty = certainty_question("en") if protocol is Certainty else {}
    return JudgeQuestion(
        7,
        messages or from_user("Which “one”?\n\n[Answer]\n[["),
        protocol(),
        seed=3,
        closed=ClosedQuestion("Which response would this person prefer?", **certainty),
    )


PICTURE = Attachment(6, "0" * 64, "image/png", 10, lambda: b"\x89PNG")
CONVERSATION = (
    Message("system", "Take the part of the person."),
    Message("user", "Look:\n[Picture 1]\nEnd.", (PICTURE,)),
)


@pytest.mark.parametrize("question", [asked(), asked(Tie), asked(Certainty)])
@pytest.mark.parametrize("messages", [None, CONVERSATION])
def test_what_is_sent_is_to_the_byte_what_openais_own_client_sends(llm, question, messages):
    llm.routes = ("/decisions",)
    shares = {"A": 0.75, "B": 0.25} | ({"C": 0.0} if question.protocol.offers_tie else {})
    llm.answer = lambda body, n: decision(body, shares)
    question = replace(question, messages=messages or question.messages)
    ours = WIRES["openai"].content("m", question)
    body = json.loads(ours)

    with openai.OpenAI(base_url=llm.url, api_key="k", max_retries=0) as client:
        given = client.decisions.create(model="m", input=body["input"], questions=body["questions"])

    assert set(body) == {"model", "input", "questions"}
    assert json.loads(llm.contents[0]) == body
    assert llm.contents[0] == ours
    told = given.model_dump_json()
    reply = read_decision(told, question, seed=0, status=200, request_id="")
    assert (reply.text, reply.probabilities) == (f"[[{given.answers[0].choice}]]", shares)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SystemOneChoice(_Strict):
    type: Literal["choice"]
    instructions: str = Field(min_length=1)
    criteria: dict[Annotated[str, Field(pattern="^([A-Z]|Yes|No)$")], str | None] = Field(
        min_length=2, max_length=255
    )


class SystemOneScore(_Strict):
    type: Literal["score"]
    instructions: str = Field(min_length=1)
    criteria: list[str] = Field(min_length=2, max_length=10)


class SystemOneRequest(_Strict):
    model: str
    state: str | list[Any] | dict[str, Any]
    images: list[str] | None = Field(default=None, min_length=1)
    questions: dict[str, SystemOneChoice | SystemOneScore] = Field(min_length=1, max_length=64)


@pytest.mark.parametrize("question", [asked(), asked(Tie), asked(Certainty)])
@pytest.mark.parametrize("messages", [None, CONVERSATION])
def test_system_one_is_asked_as_its_schema_says(question, messages):
    question = replace(question, messages=messages or question.messages)

    content = WIRES["systemone"].content("m", question)

    SystemOneRequest.model_validate_json(content)
    body = json.loads(content)
    if messages is None:
        assert body["state"] == question.messages[0].text
    else:
        assert [turn["role"] for turn in body["state"]] == ["system", "user"]
        assert "[Picture 1]" in body["state"][1]["content"]
        assert base64.b64decode(body["images"][0]) == b"\x89PNG"


def test_a_run_stores_the_distribution_and_what_the_server_says_of_it(decider, llm, wire):
    study = study_of(2)
    run = judge_all(study, decider, setting="certainty", orders="both")

    assert run.state == "done", run.sentence
    prompts = {prompt_of(body) for body in llm.requests}
    for judgment in run.judgments.select_related("item"):
        shown = messages_of(run, judgment.item, shown_first=judgment.shown_first)
        assert (shown[0].text in prompts, prompt_sha256(shown)) == (True, judgment.prompt_sha256)
        chosen, other = ("r1", "r2") if judgment.shown_first == "r1" else ("r2", "r1")
        assert judgment.choice == chosen
        assert judgment.probabilities == {chosen: 0.8, other: 0.2}
        assert judgment.certainty is None
        assert judgment.native_certainty == 80
        mass = {"label_mass": 0.9} if wire == "systemone" else {}
        levels = dict(zip(LEVELS, [0.1, 0.1, 0.2, 0.4, 0.2], strict=True))
        assert judgment.details == {"confidence": 0.5, "levels": levels, **mass}
        assert json.loads(judgment.raw_text)["answers"]
        assert judgment.sent_with.parameters == {"model": "d", "wire": wire}
    attempt = Attempt.objects.filter(judgment__run=run).first()
    assert attempt.prompt_tokens == 100
    assert attempt.cached_tokens == (40 if wire == "openai" else 0)
    assert attempt.cost_nano == 100_000
    assert (run.parameters["backend"], run.parameters["temperature"]) == ("decisions", 0)


def test_the_choice_is_only_asked_for_with_a_certainty_where_the_protocol_asks_one(decider, llm):
    study = study_of(1)
    llm.answer = lambda body, n: decision(
        body, dict(zip("ABC", (0.2, 0.3, 0.5), strict=False)) if n == 2 else {"A": 1.0, "B": 0.0}
    )

    judge_all(study, decider)
    tie = judge_all(study, decider, setting="tie")

    questions = [body["questions"] for body in llm.requests]
    assert [len(each) for each in questions] == [1, 1]
    judgment = tie.judgments.get()
    first, second = (0.2, 0.3) if judgment.shown_first == "r1" else (0.3, 0.2)
    assert judgment.choice == "tie"
    assert judgment.probabilities == {"r1": first, "r2": second, "tie": 0.5}


@pytest.mark.sampled(keep=1)
def test_the_native_certainty_is_shown_and_exported_under_its_own_name(decider):
    study = study_of(3)
    run = judge_all(study, decider, setting="certainty")
    editor = sign_in(study, "editor")

    page = editor.get(reverse("judging:run", args=[study.slug, run.public_id])).text
    file = editor.get(reverse("judging:run", args=[study.slug, run.public_id]) + "?format=csv")
    item = editor.get(
        reverse("studies:item", args=[study.slug, run.judgments.first().item.key])
    ).text

    rows = list(judgment_table(study))
    assert [(row["certainty"], row["native_certainty"]) for row in rows] == [(None, 80)] * 3
    assert page.count("native certainty 80.0") == 6  # among the last ones and in the list
    assert "nobody stated it" in page
    assert "Native certainty" in item
    header, first, *_ = file.text.splitlines()
    assert dict(zip(header.split(","), first.split(","), strict=False))["certainty"] == ""
    assert (header.split(",")[-1], first.split(",")[-1]) == ("native_certainty", "80.0")


def test_the_stated_price_is_known_even_if_the_judge_has_none(llm, engine):
    llm.routes = ("/systemone",)
    usage = {"input_tokens": 100, "output_tokens": 1, "cost": 0.00002}
    llm.answer = lambda body, n: decision(body, {"A": 0.8, "B": 0.2}, usage=usage)
    judge = make_judge(backend="decisions", base_url=llm.url, model_options={"wire": "systemone"})

    run = judge_all(study_of(2), judge)

    assert (run.is_billed, run.spent_nano) == (True, 40_000)


@pytest.mark.parametrize("cost", [-1, "0.1", float("nan"), float("inf"), True, 10**9])
def test_a_price_that_is_none_leaves_that_of_the_judge(cost):
    usage = {"input_tokens": 100, "output_tokens": 1, "cost": cost}
    shares = {"A": 1.0, "B": 0.0}
    body = {"answers": {CHOICE: {"type": "choice", "probabilities": shares}}, "usage": usage}

    reply = read_decision(json.dumps(body), asked(), seed=0, status=200, request_id="")

    assert (reply.usage.prompt_tokens, reply.usage.cost) == (100, None)


def test_what_the_server_bills_counts_more_than_the_price_of_the_judge(decider, llm):
    usage = {"input_tokens": 100, "output_tokens": 1, "cost": 0.00002}
    llm.answer = lambda body, n: decision(body, {"A": 0.8, "B": 0.2}, usage=usage)

    run = judge_all(study_of(1), decider)

    assert run.spent_nano == Attempt.objects.get().cost_nano == 20_000


def test_a_refused_question_is_a_refusal_and_no_error(decider, llm):
    refusal = {"type": "refusal"}
    llm.answer = lambda body, n: decision(body, {"A": 0.8, "B": 0.2}, choice=refusal)

    run = judge_all(study_of(2), decider)

    assert states(run) == {"refused": 2}
    assert len(llm.requests) == 2


def read(shares, *, told=None, seed=0, **more):
    choice = {"type": "choice", "probabilities": shares, "choice": told} | more
    body = {"answers": {CHOICE: choice}}
    return read_decision(json.dumps(body), asked(), seed=seed, status=200, request_id="")


@pytest.mark.parametrize(
    ("shares", "told", "seed", "text", "vendor"),
    [
        ({"A": 0.5, "B": 0.5}, "B", 0, "[[B]]", None),  # it may know more decimals
        ({"A": 0.5, "B": 0.5}, None, 0, "[[A]]", None),
        ({"A": 0.5, "B": 0.5}, None, 1, "[[B]]", None),
        ({"A": 0.5, "B": 0.5}, ["B"], 1, "[[B]]", None),
        ({"A": 0.3, "B": 0.7}, "A", 0, "[[B]]", "A"),  # the distribution counts
        ({"A": 0.66, "B": 0.33}, "A", 0, "[[A]]", None),  # rounded by the server
    ],
)
def test_the_largest_probability_counts_and_the_server_decides_between_equal_ones(
    shares, told, seed, text, vendor
):
    reply = read(shares, told=told, seed=seed)

    assert reply.text == text
    assert reply.details.get("vendor_choice") == vendor
    assert sum(reply.probabilities.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        (None, "no probabilities"),
        ("A", "no probabilities"),
        ({}, "probability of “A” is missing"),
        ({"A": 1.0}, "probability of “B” is missing"),
        ({"A": 0.7, "B": 0.7}, "add up to 1.400"),
        ({"A": 0.1, "B": 0.1}, "add up to 0.200"),
        ({"A": float("nan"), "B": 1.0}, "probability of “A” is nan"),
        ({"A": float("inf"), "B": 1.0}, "probability of “A” is inf"),
        ({"A": -0.5, "B": 1.5}, "probability of “A” is -0.5"),
        ({"A": "0.5", "B": 0.5}, "probability of “A” is 0.5"),
        ({"A": True, "B": False}, "probability of “A” is True"),
        ({"A": 10**400, "B": 0.5}, "probability of “A” is 1"),
        ({"A": 0.5, "B": 0.2, "D": 0.3}, "“D”, which was not asked for"),
        ([{"value": "A", "probability": 1.0}, {"value": True, "probability": 0.0}], "“True”"),
        ([{"value": "A", "probability": 0.5}, {"value": "A", "probability": 0.5}], "“A”"),
        ([1, 2], "“None”"),
    ],
)
def test_a_distribution_that_is_none_is_garbage_with_a_sentence(shares, words):
    with pytest.raises(Garbage, match=r"the answer is of no use") as caught:
        read(shares)

    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("[]", "no decision"),
        ("{", "no decision"),
        ("<html>Sign in</html>", "no decision"),
        ('{"answers": null}', "no decision"),
        ('{"answers": [null]}', "no decision"),
        ('{"answers": {"choice": 3}}', "no decision"),
        ('{"answers": []}', "“choice” is missing"),
        ('{"answers": [{"name": "other"}]}', "“choice” is missing"),
        ('{"answers": [{"type": "predicate", "probability": 1}]}', "of the type “predicate”"),
        (completion("[[A]]").body.decode(), "no decision"),
    ],
)
def test_an_answer_of_another_form_is_garbage_with_a_sentence(body, words):
    with pytest.raises(Garbage, match=words):
        read_decision(body, asked(), seed=0, status=200, request_id="")


def test_fewer_answers_than_questions_are_garbage():
    one = {"answers": [{"type": "choice", "probabilities": {"A": 1.0, "B": 0.0}}]}

    with pytest.raises(Garbage, match="“certainty” is missing"):
        read_decision(json.dumps(one), asked(Certainty), seed=0, status=200, request_id="")


def test_garbage_is_asked_again_and_stays_in_the_ledger(decider, llm):
    def answer(body, n):
        return decision(body, {"A": 0.8, "B": 0.8 if n == 1 else 0.2})

    llm.answer = answer
    run = judge_all(study_of(1), decider)

    outcomes = Attempt.objects.order_by("number").values_list("outcome", flat=True)
    assert [*outcomes] == ["garbage", "replied"]
    assert states(run) == {"done": 1}


def of(status, message, **more):
    return Answer(status, json.dumps({"error": {"message": message, **more}}).encode())


ERRORS = [
    (
        of(400, "label 'A' is not one distinct token after this model's chat prompt"),
        "splits a label",
    ),
    (of(400, "a read is the reply's first token, so thinking must be off"), "thinks before"),
    (of(400, "these chat options end the prompt differently"), "chat template"),
    (of(501, "The structured decisions API does not support LlamaForCausalLM."), "no way to read"),
    (of(400, "m is a chat model. This host serves decision models only."), "decision models only"),
    (of(404, "Not Found"), "no decision endpoint at"),
    (Answer(404, b'{"detail": "Not Found"}'), "no decision endpoint at"),
    (of(400, "Invalid value.", param="questions[0].choices"), "“questions[0].choices”"),
]


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(("answer", "words"), ERRORS)
def test_what_the_server_refuses_says_what_to_do_in_the_test_and_on_the_run(
    llm, engine, answer, words
):
    llm.routes = ("/decisions",)
    llm.answer = lambda body, n: answer
    judge = make_judge(backend="decisions", base_url=llm.url, model_options={"wire": "openai"})
    study = study_of(1)

    tested = run_connection_test(judge, study)
    run = judge_all(study, judge)

    assert words in tested.problem
    assert tested.advice
    assert words in run.sentence
    assert run.state == "stopped_outage"


def test_a_model_that_is_not_there_and_a_prompt_that_is_too_long_are_told_apart(llm, engine):
    llm.routes = ("/decisions",)
    judge = make_judge(backend="decisions", base_url=llm.url, model_options={"wire": "openai"})
    study = study_of(1)

    llm.answer = lambda body, n: of(404, "The model `mock` does not exist.", param="model")
    assert "has no model “mock”" in run_connection_test(judge, study).problem
    llm.answer = lambda body, n: of(400, "input is too long", param="input")
    run = judge_all(study, judge)

    assert states(run) == {"error": 1}
    assert run.state == "done"


def test_adding_a_judge_without_a_format_finds_it(llm, engine, wire):
    llm.routes = (ROUTES[wire],)
    llm.answer = lambda body, n: decision(body, {"A": 0.8, "B": 0.2})

    judge = make_judge(backend="decisions", base_url=llm.url)

    assert Judge.objects.get().model_options == {"wire": wire}
    assert judge.model_options == {"wire": wire}
    paths = ["/v1/decisions"] if wire == "openai" else ["/v1/decisions", "/v1/systemone"]
    assert llm.paths == paths
    assert len(json.dumps(llm.requests[0])) < 400


def test_the_connection_test_finds_the_format_that_the_judge_lacks(llm, engine, wire):
    judge = make_judge(backend="decisions", base_url=llm.url)
    assert judge.model_options == {}
    llm.routes = (ROUTES[wire],)
    llm.answer = lambda body, n: decision(body, {"A": 0.8, "B": 0.2})

    tested = run_connection_test(judge, study_of(1))

    assert tested.problem == ""
    assert tested.reading == "A (response 1), native certainty 80.0"
    assert Judge.objects.get().model_options == {"wire": wire}


def test_failing_that_the_first_request_finds_it_once_for_all_workers(llm, engine):
    judge = make_judge(backend="decisions", base_url=llm.url)
    llm.routes = ("/systemone",)
    llm.answer = lambda body, n: decision(body, {"A": 0.8, "B": 0.2})
    study = study_of(3)

    run = judge_all(study, judge)

    assert states(run) == {"done": 3}
    judge.refresh_from_db()
    assert judge.model_options == {"wire": "systemone"}
    assert Attempt.objects.count() == len(llm.paths) - 2  # two were of adding it
    refused = Attempt.objects.filter(outcome="rejected")
    assert refused.count() <= 2  # as many as are sent before the first answer
    # The same call again continues the same run, although the judge knows more now.
    assert judge_all(study, judge).pk == run.pk
    assert Attempt.objects.filter(outcome="replied").count() == 3


def test_a_server_that_knows_only_system_one_at_the_other_address_is_found(llm, engine):
    def answer(body, n):
        return decision(body, {"A": 0.8, "B": 0.2}) if "state" in body else error(422, "state?")

    llm.routes, llm.answer = ("/alpha/decisions",), answer
    base = f"{llm.url}/alpha/decisions"

    make_judge(backend="decisions", base_url=base)

    assert Judge.objects.get().model_options == {"wire": "systemone"}
    assert llm.paths == ["/v1/alpha/decisions"] * 2


def test_a_judge_is_stored_with_what_its_endpoint_needs_and_nothing_else(llm, engine):
    fields = {"backend": "decisions", "model": "m", "base_url": llm.url}
    judge, _ = add_judge(name="d", **fields, temperature=0.7)

    assert (judge.probabilities, judge.temperature, judge.max_tokens) == ("only", 0, 16)
    with pytest.raises(BadJudge, match="wire must be openai or systemone"):
        add_judge(name="e", **fields, model_options={"wire": "x"})
    with pytest.raises(BadJudge, match="no option “colour”"):
        add_judge(name="e", **fields, model_options={"colour": "red"})
    with pytest.raises(BadJudge, match="no option “wire”"):
        add_judge(name="e", **fields | {"backend": "openai"}, model_options={"wire": "openai"})


def test_the_format_of_a_judge_with_runs_can_change_like_its_address(decider, wire):
    judge_all(study_of(1), decider)
    other = next(name for name in WIRES if name != wire)

    judge, _ = add_judge(name="decider", model_options={"wire": other})

    assert judge.model_options == {"wire": other}


def test_reflection_and_p_true_ask_a_second_closed_question(decider, llm):
    def answer(body, n):
        is_second = "Yes" in json.dumps(body["questions"])
        return decision(body, {"Yes": 0.7, "No": 0.3} if is_second else {"A": 1, "B": 0})

    llm.answer = answer
    study = study_of(1)

    again = judge_all(study, decider, bias_probe="none+reflection").judgments.get()
    p_true = judge_all(study, decider, setting="p-true").judgments.get()

    assert (again.choice, again.native_certainty) == (again.shown_first, 100)
    assert (p_true.choice, p_true.details["p_true"]) == (p_true.shown_first, 0.7)


def test_a_request_without_a_closed_question_is_refused_here(llm, wire):
    options = (("wire", wire),)
    settings = JudgeSettings(name="d", model="m", base_url=llm.url, model_options=options)

    async def ask():
        backend = DecisionsKind().connect(settings)()
        question = replace(asked(), closed=None)
        await backend.ask(question, seed=0, parameters=backend.parameters())

    with pytest.raises(Exception, match="chooses between answers"):
        asyncio.run(ask())
    assert llm.paths == []


def test_the_budget_holds_even_if_the_server_reads_the_prompt_for_each_question(decider, llm):
    def answer(body, n):
        tokens = len(body["questions"]) * (len(prompt_of(body).encode()) + 500)
        usage = {"input_tokens": tokens, "output_tokens": 2}
        return decision(body, {"A": 0.8, "B": 0.2}, usage=usage)

    llm.answer = answer
    run = judge_all(study_of(6), decider, setting="certainty", token_budget=12_000)

    assert run.state == "stopped_budget"
    assert 0 < run.tokens <= 12_000
    assert run.judgments.filter(state="done").count() == len(llm.requests) >= 2
