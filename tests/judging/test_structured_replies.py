"""Replies in a form: where the server can, as it was found out, and as an offer to runs."""

from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.template.loader import render_to_string
from django.urls import reverse

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report
from judging.backends.parameters import OWN_WAYS, own_form
from judging.catalog.connection_test import run_connection_test
from judging.engine.interface import JudgeQuestion
from judging.engine.messages import from_user
from judging.errors import BadRun
from judging.models import Attempt, Judge, JudgeRun, Judgment, PromptTemplate
from judging.pages.workbench import judge_needs
from judging.protocols.registry import protocol
from judging.runs.judges import add_judge
from judging.runs.structured_replies import go_on_structured, offer_of
from tests.factories import sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion, error
from tests.judging.run_helpers import judge_all, start, states, study_of

FORM_TEXT = '{"answer": "A", "certainty": 70}'
FORM = completion(FORM_TEXT)
NO_SCHEMA = error(400, "response_format of type json_schema is not supported")


def form_of(body):
    return body.get("response_format", {}).get("type")


def schema_server(body, n):
    return FORM if form_of(body) == "json_schema" else completion("Hm.")


def object_server(body, n):
    if form_of(body) == "json_schema":
        return NO_SCHEMA
    is_told = (
        form_of(body) and "JSON object that has this schema" in body["messages"][-1]["content"]
    )
    return FORM if is_told else completion("[[A]] [[70]]")


def text_server(body, n):
    return error(400, "Unknown parameter: 'response_format'") if form_of(body) else TEXT


def deaf_server(body, n):
    return TEXT


def grammar_server(body, n):
    keeps = '("\\"A\\"" | "\\"B\\"") ", " "\\"certainty\\"" ": " ("1" | "2" | ' in body.get(
        "grammar", ""
    )
    return FORM if keeps else TEXT


def choice_server(body, n):
    return FORM if FORM_TEXT in body.get("structured_outputs", {}).get("choice", ()) else TEXT


def old_choice_server(body, n):
    """It refuses what it does not know."""
    if body.keys() & {"grammar", "structured_outputs"}:
        return error(400, "Extra inputs are not permitted")
    return FORM if FORM_TEXT in body.get("guided_choice", ()) else text_server(body, n)


TEXT = completion("[[A]] [[70]]")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("server", "way", "requests", "structured"),
    [
        (schema_server, "json_schema", 1, True),
        (object_server, "json_object", 3, True),
        (grammar_server, "grammar", 3, True),
        (choice_server, "structured_outputs", 4, True),
        (old_choice_server, "guided_choice", 9, True),
        (text_server, "text", 8, False),
        (deaf_server, "text", 6, False),
    ],
)
def test_a_test_finds_out_the_form_and_a_run_asks_in_it(
    llm, engine, server, way, requests, structured
):
    llm.answer = server
    study = study_of(2)
    judge = make_judge(base_url=llm.url, structured=None)

    result = run_connection_test(judge, study)

    judge.refresh_from_db()
    assert (result.form, result.problem, judge.reply_form["way"]) == (way, "", way)
    assert len(llm.requests) == requests
    assert result.prompt_tokens == 100 * sum(server(body, 1).status == 200 for body in llm.requests)
    llm.requests.clear()
    run = judge_all(study, judge, setting="certainty")

    assert states(run) == {"done": 2}
    assert {form_of(body) for body in llm.requests} == {way if way.startswith("json") else None}
    assert all(way in body for body in llm.requests) == (way in OWN_WAYS)
    assert (run.parameters["structured"], run.parameters["form_found"]["way"]) == (structured, way)
    recorded = way if structured and way != "json_schema" else None
    assert run.parameters.get("reply_form") == recorded
    assert ("form_words" in run.words) == (way == "json_object")
    # A later test does not change how a judge with runs is asked.
    llm.answer = schema_server
    run_connection_test(judge, study)
    judge.refresh_from_db()
    assert judge.reply_form["way"] == way
    assert start(study, judge, setting="certainty") == run


def test_a_list_of_replies_has_no_reasons_but_a_grammar_has():
    reasons = JudgeQuestion(1, from_user("?"), protocol=protocol("reason-before"), seed=1)
    assert own_form("guided_choice", reasons) == {}
    assert '": " string' in own_form("grammar", reasons)["grammar"]


def test_a_test_that_fails_says_nothing_about_forms(llm, engine):
    study, judge = study_of(1), make_judge(base_url=llm.url, structured=None)
    for answer in (error(401), completion("I cannot do that.", refusal="no"), error(500)):
        llm.answer = lambda body, n, answer=answer: answer
        assert run_connection_test(judge, study).form == ""
    judge.refresh_from_db()
    assert judge.reply_form == {}


def test_a_new_judge_asks_in_a_form_unless_the_wording_or_the_setting_has_none(llm, engine):
    llm.answer = lambda body, n: FORM if form_of(body) else TEXT
    add_judge(name="new", model="m", base_url=llm.url)
    add_judge(name="paper", preset="llama-3-70b-instruct", base_url=llm.url)
    new, paper = Judge.objects.get(name="new"), Judge.objects.get(name="paper")
    study = study_of(1)
    recovered = PromptTemplate.objects.create(
        study=study,
        name="w",
        setting="certainty",
        template="{{ question }} {{ response_a }} {{ response_b }}",
        template_without_persona="{{ question }} {{ response_a }} {{ response_b }}",
        sha256="0" * 64,
        source="recovered",
    )
    asked = {
        "new": judge_all(study, new, setting="certainty"),
        "levels": start(study, new, setting="levels"),
        "recovered": start(study, new, setting="certainty", wording_id=recovered.pk),
        "paper": judge_all(study, paper, setting="certainty"),
    }
    assert {name: run.parameters["structured"] for name, run in asked.items()} == {
        "new": True,
        "levels": False,
        "recovered": False,
        "paper": False,
    }
    assert [form_of(body) for body in llm.requests] == ["json_schema", None]


@pytest.fixture
def unread(llm, engine):
    """A run of 24 questions of which the first twelve got no readable reply."""
    llm.answer = schema_server
    study = study_of(24)
    judge = make_judge(base_url=llm.url, concurrency=1, price_input=1, price_output=1)
    run = judge_all(study, judge, setting="certainty", limit=12, budget=Decimal(1))
    assert states(run) == {"unparseable": 12}
    return run


@pytest.mark.nightly
def test_a_run_that_cannot_be_read_goes_on_structured_by_one_press(unread, llm):
    client = sign_in(unread.study)
    page = client.get(reverse("judging:run", args=[unread.study.slug, unread.public_id])).text
    assert "12 of the first 12 questions got a reply that could not be read" in page
    assert any("12 of the first 12" in need.sentence for need in judge_needs(unread.study))
    viewer = sign_in(unread.study, "viewer")
    address = reverse("judging:run", args=[unread.study.slug, unread.public_id])
    assert viewer.post(address, {"action": "structured"}).status_code == 404
    assert JudgeRun.objects.count() == 1  # nothing by itself

    response = client.post(address, {"action": "structured"})

    new = JudgeRun.objects.exclude(pk=unread.pk).get()
    assert response.url.endswith(f"{new.public_id}/")
    assert new.judgments.count() == 12
    assert new.budget == unread.budget - unread.spent
    new = judge_all(unread.study, unread.judge, setting="certainty", limit=12, structured=True)
    assert states(new) == {"done": 12}
    unread.refresh_from_db()
    assert offer_of(unread) is None
    with pytest.raises(BadRun, match="Nothing changed"):
        go_on_structured(run_id=unread.pk)
    # The same command still means the first run, and the report names both conditions.
    assert start(unread.study, unread.judge, setting="certainty", limit=12) == unread
    report = build_report(load_dataset(unread.study.slug), seed=1, bootstrap=20)
    said = {judge["run"]: judge["record"]["conditions"][0] for judge in report["judges"]}
    assert f"goes on from run {unread.key[:12]}, which asked for text" in said[new.key]
    assert f"run {new.key[:12]} goes on with structured replies" in said[unread.key]


@pytest.mark.nightly
def test_the_command_tells_the_offer_and_takes_it(unread, llm):
    command = ["judge", unread.study.slug, "--judge", "judge", "--setting", "certainty"]
    command += ["--limit", "12", "--inline", "--yes"]
    out = StringIO()
    call_command(*command, stdout=out)
    assert "add --structured to this command" in out.getvalue()

    call_command(*command, "--structured", stdout=out)

    new = JudgeRun.objects.exclude(pk=unread.pk).get()
    assert states(new) == {"done": 12}
    assert new.parameters["goes_on_from"] == unread.public_id


@pytest.mark.parametrize(
    ("fields", "setting", "message"),
    [
        ({"backend": "replay", "model": "no-file"}, "certainty", "--structured: nothing enforces"),
        ({}, "levels", "--setting: replies to “levels” have no structured form"),
    ],
)
@pytest.mark.django_db
def test_structured_replies_are_refused_where_there_can_be_none(fields, setting, message):
    make_judge(**fields)
    command = ["judge", study_of(1).slug, "--judge", "judge", "--setting", setting]
    with pytest.raises(CommandError, match=message):
        call_command(*command, "--structured", "--inline", "--yes", stdout=StringIO())


@pytest.mark.nightly
def test_there_is_no_offer_before_ten_or_where_the_server_cannot(unread):
    unread.judge.reply_form = {"way": "text"}
    assert offer_of(unread) is None
    unread.judge.reply_form = {}
    Judgment.objects.filter(run=unread, item__key__gte="i").update(state="refused")
    few = list(Judgment.objects.filter(run=unread).order_by("pk")[:3])
    Judgment.objects.filter(pk__in=[each.pk for each in few]).update(
        state="done", choice="r1", replies=1
    )
    assert offer_of(unread) is None


@pytest.mark.nightly
def test_an_offer_needs_a_budget_that_is_left(unread):
    JudgeRun.objects.filter(pk=unread.pk).update(budget=unread.spent)
    with pytest.raises(BadRun, match="budget of this run is used up"):
        go_on_structured(run_id=unread.pk)
    with pytest.raises(CommandError, match="used up"):
        call_command(
            *("judge", unread.study.slug, "--judge", "judge", "--setting", "certainty"),
            *("--limit", "12", "--inline", "--yes", "--structured"),
            stdout=StringIO(),
        )


def test_a_table_of_requests_shows_reasoning_apart_from_the_reply():
    attempt = Attempt(text="<think>Tea <b>calms</b>.</think>\n[[A]] [[70]]")

    shown = render_to_string("judging/_attempt_reply.html", {"attempt": attempt, "most": 8})

    reply, _, reasoning = shown.partition("<details>")
    assert reply.strip() == "[[A]] […"
    assert "Tea &lt;b&gt;calms&lt;/b&gt;." in reasoning
    assert "think" not in shown
