"""Judges on pages: added, tested and changed by those who may, and with keys that stay secret."""

import html
import io
import json
import logging
import re
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from judging.backends.batch import BatchClient, BatchError
from judging.backends.endpoints import api_key, is_link_local
from judging.catalog.changes import save_judge
from judging.catalog.connection_test import run_connection_test
from judging.errors import BadJudge, InvalidValue
from judging.models import Judge, JudgeRun, Judgment
from judging.runs.judges import add_judge, store_judge
from judging.runs.launch_checks import judges_of
from judging.worker.endpoints import settings_of
from studies.models import StudyLog
from tests.factories import make_item, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion, error
from tests.judging.run_helpers import judge_all, start

SECRET = "sk-very-secret-0123456789"
ADDRESS = "http://127.0.0.1:9/v1"
LIST, ADD, NEW = (reverse(f"judging:{name}", args=["s"]) for name in ("judges", "add-judge", "new"))
FORM = {
    "name": "mine",
    "model": "mock",
    "base_url": ADDRESS,
    "key_from": "none",
    "api_key_env": "",
    "key": "",
    "price_input": "10",
    "price_output": "100",
    "batch_price": "0.5",
    "concurrency": "8",
    "rpm": "",
    "tpm": "",
    "timeout_seconds": "60",
    "outage_seconds": "60",
    "temperature": "0.7",
    "top_p": "0.95",
    "max_tokens": "1024",
    "thinking_tokens": "0",
    "probabilities": "no",
    "own_sources": "openai, gpt",
}


@pytest.fixture
def study(db):
    study = make_study(slug="s")
    make_item(study=study, key="first", question="Tea or coffee?")
    return study


@pytest.fixture
def editor(study):
    return sign_in(study)


@pytest.fixture
def admin(study):
    User.objects.create_superuser("root")
    client = Client()
    client.force_login(User.objects.get(username="root"))
    return client


@pytest.fixture
def keys_allowed(settings):
    settings.JUDGE_STORED_KEYS = True


def page_of(judge, name="judge", *more):
    return reverse(f"judging:{name}", args=["s", judge.pk, *more])


def words(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", response.text)).split())


def submit(client, url=ADD, **fields):
    return client.post(url, FORM | fields)


def test_an_administrator_adds_a_judge_with_every_field_of_the_form(admin, study):
    response = submit(admin, rpm="500", tpm="9000", structured="on", thinking_tokens="50")

    judge = Judge.objects.get()
    assert response.url == page_of(judge)
    assert (judge.name, judge.model, judge.base_url) == ("mine", "mock", ADDRESS)
    assert (judge.rpm, judge.tpm, judge.concurrency, judge.thinking_tokens) == (500, 9000, 8, 50)
    assert (judge.price_input, judge.price_output) == (10, 100)
    assert (judge.structured, judge.own_sources) == (True, ["openai", "gpt"])
    assert judge.created_by.username == "root"
    assert "mine" in words(admin.get(LIST))
    assert StudyLog.objects.get(event="judge added").detail["judge"] == "mine"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"base_url": "gpu:8000"}, "“Address” must be an address like http://localhost:8000/v1"),
        ({"base_url": "http://u:p@gpu/v1"}, "“Address” must hold neither a password nor a query"),
        ({"base_url": "http://169.254.169.254/v1"}, "is a link-local or metadata address"),
        ({"base_url": "http://2852039166/v1"}, "is a link-local or metadata address"),
        ({"base_url": "http://[fe80::1]/v1"}, "is a link-local or metadata address"),
        ({"temperature": "3"}, "less than or equal to 2"),
        ({"price_output": ""}, "Enter both prices or none."),
        ({"key_from": "variable"}, "Enter the name of the variable."),
        ({"name": "-x"}, "begins with a dash"),
        ({"name": "", "model": ""}, "Model: Enter the model as the server names it."),
        ({"name": "", "model": "taken"}, "there is a judge “taken” already"),
        ({"base_url": ""}, "Address: Enter the address of the server."),
        ({"name": "taken"}, "there is a judge “taken” already"),
    ],
)
def test_a_field_at_fault_is_named_and_nothing_is_stored(admin, fields, message):
    make_judge(name="taken", base_url=ADDRESS)

    response = submit(admin, **fields)

    assert response.status_code == 422
    assert message in words(response)
    assert response.text.count("<title>Error: Add a judge")
    assert Judge.objects.count() == 1


def test_a_preset_fills_in_the_form(editor):
    page = editor.get(f"{ADD}?preset=gpt-4o-2024-05-13").text

    assert 'value="gpt-4o-2024-05-13"' in page
    assert 'value="https://api.openai.com/v1"' in page
    assert 'value="openai, gpt"' in page
    assert editor.get(f"{ADD}?preset=nothing").status_code == 200


@pytest.mark.parametrize(
    ("role", "status"), [("owner", 200), ("editor", 200), ("viewer", 404), ("", 404)]
)
def test_only_editors_of_a_study_open_the_pages(study, role, status):
    judge = make_judge(base_url=ADDRESS)
    client = sign_in(study, role)

    for url in (LIST, ADD, page_of(judge)):
        assert client.get(url).status_code == status
        assert Client().get(url).status_code == 302
    for action in ("test-judge", "change-judge"):
        allowed = client.post(page_of(judge, action)).status_code
        assert allowed == (status if action == "test-judge" else 404)
    for action in ("retire", "offer", "remove-key", "delete"):
        assert client.post(page_of(judge, "change-offer", action)).status_code == 404
    judge.refresh_from_db()
    assert not judge.is_retired


@pytest.mark.parametrize(
    ("address", "is_added"),
    [
        ("http://127.0.0.1:22/v1", False),
        ("http://gpu1:8000/v1", False),
        ("http://known:8000/v2", False),
        ("http://known:8000/v1", True),
        ("https://api.openai.com/v1", True),
        ("https://models.example/v1", True),
        ("http://models.example:22/v1", True),
        ("http://other.example:8000/v1", False),
        ("http://port.example:8000/v1", True),
        ("http://port.example:22/v1", False),
        ("http://models.example@gpu1/v1", False),
    ],
)
def test_an_editor_adds_judges_only_where_an_administrator_allows_it(
    editor, settings, address, is_added
):
    settings.JUDGE_HOSTS = ["models.example", "port.example:8000"]
    make_judge(name="known", base_url="http://known:8000/v1")

    response = submit(editor, base_url=address)

    assert Judge.objects.filter(name="mine").exists() is is_added
    assert response.status_code == (302 if is_added else 422)


def test_the_permission_to_add_judges_makes_an_administrator_of_judges(study):
    client = sign_in(study)
    user = User.objects.get()
    user.user_permissions.add(Permission.objects.get(codename="add_judge"))

    assert submit(client, base_url="http://gpu1:8000/v1").status_code == 302


@pytest.mark.sampled(keep=3)
@pytest.mark.parametrize(
    "name",
    [
        "SECRET_KEY",
        "DATABASE_URL",
        "CELERY_BROKER_URL",
        "EMAIL_URL",
        "PROLIFIC_API_TOKEN",
        "HOME",
        "AWS_SECRET_ACCESS_KEY",
        "OPENAI_API_KEY",
        "JUDGE_KEY_",
        "judge_key_x",
    ],
)
def test_a_page_names_no_variable_but_those_for_keys_of_judges(admin, editor, monkeypatch, name):
    monkeypatch.setenv(name, SECRET)
    make_judge(name="known", base_url=ADDRESS)

    for client in (admin, editor):
        response = submit(client, key_from="variable", api_key_env=name)

        assert response.status_code == 422
        assert SECRET not in response.text
    assert Judge.objects.count() == 1


def test_variables_for_keys_are_those_with_the_prefix_and_those_listed(admin, settings):
    settings.JUDGE_KEY_VARIABLES = ["TOGETHER_KEY", "TEAM_*"]

    for n, name in enumerate(("JUDGE_KEY_GPU", "TOGETHER_KEY", "TEAM_ONE")):
        submit(admin, name=f"j{n}", key_from="variable", api_key_env=name)
    submit(admin, name="no", key_from="variable", api_key_env="TOGETHER_KEY_2")

    assert list(Judge.objects.order_by("pk").values_list("api_key_env", flat=True)) == [
        "JUDGE_KEY_GPU",
        "TOGETHER_KEY",
        "TEAM_ONE",
    ]


def test_an_editor_uses_a_key_only_where_it_is_used_already(editor, settings):
    settings.JUDGE_HOSTS = ["mine.example"]
    make_judge(name="known", base_url=ADDRESS, api_key_env="JUDGE_KEY_GPU")

    def attempt(**fields):
        return submit(editor, key_from="variable", **fields).status_code

    assert attempt(name="a", api_key_env="JUDGE_KEY_GPU") == 302
    assert attempt(name="b", api_key_env="JUDGE_KEY_OTHER") == 422
    stolen = {"base_url": "http://mine.example/v1", "api_key_env": "JUDGE_KEY_GPU"}
    assert attempt(name="c", **stolen) == 422
    mine = Judge.objects.get(name="a")
    assert submit(editor, page_of(mine, "change-judge"), key_from="variable", **stolen)
    assert submit(editor, page_of(mine, "change-judge"), key_from="keep", **stolen)
    mine.refresh_from_db()
    assert mine.base_url == ADDRESS


def test_no_judge_gets_a_secret_of_this_program_even_by_command():
    settings = settings_of(Judge(name="j", base_url=ADDRESS, api_key_env="SECRET_KEY"))
    with pytest.raises(InvalidValue, match="holds a secret of this program"):
        api_key(settings)


@pytest.mark.django_db
def test_a_command_names_no_secret_of_this_program():
    with pytest.raises(BadJudge, match="holds a secret of this program"):
        add_judge(name="j", model="m", base_url=ADDRESS, api_key_env="DATABASE_URL")


def test_keys_cannot_be_entered_unless_the_administrator_allows_it(admin):
    assert 'name="key"' not in admin.get(ADD).text

    response = submit(admin, key_from="stored", key=SECRET)

    assert response.status_code == 422
    assert SECRET not in response.text
    assert not Judge.objects.exists()


def everything(client, judge, study):
    """All texts of this installation in which a key could appear."""
    yield from (client.get(url).text for url in (LIST, ADD, page_of(judge)))
    yield client.get(page_of(judge, "change-judge")).text
    yield client.get(f"{ADD}?like={judge.pk}").text
    yield client.post(page_of(judge, "test-judge")).text
    yield client.get(reverse("judging:list", args=["s"]) + "?format=csv").text
    yield client.get(reverse("studies:detail", args=["s"])).text
    yield client.get(reverse("admin:judging_judge_change", args=[judge.pk])).text
    yield client.get(reverse("admin:judging_judge_changelist")).text
    for log in StudyLog.objects.all():
        yield f"{log.event} {json.dumps(log.detail)}"
    dump = io.StringIO()
    call_command("dumpdata", stdout=dump)
    yield dump.getvalue()
    yield repr(judge) + repr(vars(judge)) + repr(settings_of(judge))


def test_an_entered_key_is_sent_to_its_server_and_appears_nowhere(
    transactional_db, llm, keys_allowed, caplog
):
    study = make_study(slug="s")
    make_item(study=study)
    User.objects.create_superuser("root")
    admin = Client()
    admin.force_login(User.objects.get())
    # Some servers repeat the key in an error.
    llm.answer = lambda body, n: error(401, f"Incorrect API key provided: {SECRET}")

    with caplog.at_level(logging.DEBUG):
        response = submit(admin, base_url=llm.url, key_from="stored", key=f" {SECRET} ")
        judge = Judge.objects.get()
        texts = [response.text, *everything(admin, judge, study)]

    assert llm.headers[-1]["authorization"] == f"Bearer {SECRET}"
    assert not [text for text in texts if SECRET in text]
    assert SECRET not in caplog.text
    assert judge.sealed_key
    assert api_key(settings_of(judge)) == SECRET
    assert "stored, encrypted" in words(admin.get(page_of(judge)))


@pytest.mark.parametrize("debug", [True, False])
def test_an_error_page_does_not_show_the_key_that_was_entered(
    admin, keys_allowed, settings, monkeypatch, debug, caplog
):
    settings.DEBUG = debug
    admin.raise_request_exception = False

    def fails(key):
        held = f"Bearer {key}"
        raise RuntimeError(f"after {len(held)} characters")

    monkeypatch.setattr("judging.catalog.changes.seal", fails)
    with caplog.at_level(logging.DEBUG):
        response = submit(admin, base_url="http://new/v1", key_from="stored", key=SECRET)

    assert response.status_code == 500
    assert SECRET not in response.text
    assert ("RuntimeError" in response.text) is debug
    assert SECRET not in caplog.text


def test_a_field_at_fault_does_not_send_the_key_back(admin, keys_allowed):
    for fields in ({"model": ""}, {"base_url": "ftp://x"}, {"key": f"{SECRET} and more"}):
        response = submit(admin, **{"key_from": "stored", "key": SECRET} | fields)

        assert response.status_code == 422
        assert SECRET not in response.text


def test_a_stored_key_is_replaced_and_removed(admin, study, keys_allowed):
    submit(admin, key_from="stored", key=SECRET)
    judge = Judge.objects.get()
    change = page_of(judge, "change-judge")

    submit(admin, change, key_from="keep", concurrency="3")
    judge.refresh_from_db()
    assert (api_key(settings_of(judge)), judge.concurrency) == (SECRET, 3)

    submit(admin, change, key_from="stored", key="sk-another-0123456789")
    judge.refresh_from_db()
    assert api_key(settings_of(judge)) == "sk-another-0123456789"

    admin.post(page_of(judge, "change-offer", "remove-key"))
    judge.refresh_from_db()
    assert (judge.sealed_key, api_key(settings_of(judge))) == ("", "")
    changed = [log.detail["changed"] for log in StudyLog.objects.filter(event="judge changed")]
    assert sorted(changed) == [
        ["concurrency: 3 → 8", "key stored"],
        ["concurrency: 8 → 3"],
        ["key removed"],
    ]


def test_a_stored_key_does_not_follow_a_judge_to_another_address(admin, study, keys_allowed):
    submit(admin, key_from="stored", key=SECRET)
    judge = Judge.objects.get()

    response = submit(
        admin, page_of(judge, "change-judge"), key_from="keep", base_url="http://evil/v1"
    )
    assert "A key is not sent to another address." in words(response)
    root = User.objects.get(username="root")
    with pytest.raises(InvalidValue, match="not sent to another address"):
        save_judge(judge=judge, study=study, user=root, fields={"base_url": "http://evil/v1"})
    fields = {"name": "copy", "model": "m", "base_url": "http://evil/v1"}
    with pytest.raises(InvalidValue, match="not sent to another address"):
        save_judge(judge=None, study=study, user=root, fields=fields, key_of=judge)
    add_judge(name="mine", base_url="http://evil/v1")

    judge.refresh_from_db()
    assert (judge.base_url, judge.sealed_key) == ("http://evil/v1", "")


def test_a_judge_like_another_shares_its_key_at_its_address(admin, editor, keys_allowed):
    submit(admin, key_from="stored", key=SECRET)
    first = Judge.objects.get()

    response = submit(editor, f"{ADD}?like={first.pk}", name="second", key_from="same")

    assert response.status_code == 302
    second = Judge.objects.get(name="second")
    assert api_key(settings_of(second)) == SECRET


def test_a_stored_key_is_unreadable_with_another_secret_or_where_it_is_forbidden(
    admin, study, keys_allowed, settings
):
    submit(admin, key_from="stored", key=SECRET)
    judge = Judge.objects.get()

    settings.SECRET_KEY = "another-" * 8
    with pytest.raises(BadJudge, match="SECRET_KEY of this server has changed"):
        api_key(settings_of(judge))
    result = run_connection_test(judge, study)
    assert result.problem == "The judge cannot be asked."
    assert "The stored key of judge “mine” cannot be read" in result.advice

    settings.JUDGE_STORED_KEYS = False
    with pytest.raises(BadJudge, match="no longer allows stored keys"):
        api_key(settings_of(judge))


@pytest.fixture
def served(transactional_db, llm):
    """A study without items, its editor, and a judge at the server."""
    study = make_study(slug="s")
    judge = make_judge(base_url=llm.url, price_input=10, price_output=100)
    return sign_in(study), judge


def test_the_test_shows_prompt_reply_reading_tokens_and_cost_and_stores_no_judgment(served, llm):
    editor, judge = served
    llm.answer = lambda body, n: completion("B]] [[61]]")

    page = words(editor.post(page_of(judge, "test-judge")))

    assert "The judge works. We read its reply as: B (response 2), certainty 61." in page
    assert "repairs old bicycles" in page
    assert "Tokens in, out 100, 10 Cost $0.0020" in page
    assert "mock-2024-05-13" in page
    assert "a sample, because this study has no items" in page
    assert not Judgment.objects.exists()
    assert not JudgeRun.objects.exists()
    log = StudyLog.objects.get(event="judge tested")
    assert log.detail == {"judge": "judge", "outcome": "passed", "tokens": 110}


def test_the_test_asks_an_item_of_the_study_in_the_studys_setting(served, llm):
    _, judge = served
    study = make_study(slug="t", ask_certainty=False)
    make_item(study=study, key="first", question="Tea or coffee?")
    client = sign_in(study)

    page = words(client.post(reverse("judging:test-judge", args=["t", judge.pk])))

    assert "Item first" in page
    assert "Setting Standard" in page
    prompt = llm.requests[0]["messages"][0]["content"]
    assert "Tea or coffee?" in prompt
    assert "how certain" not in prompt


@pytest.mark.parametrize(
    ("answer", "problem", "advice"),
    [
        (error(401, "no"), "The server wants a key.", "Change the judge and give it a key."),
        (error(404, "The model x does not exist", "model_not_found"), "no model “mock”", "/v1"),
        (error(429, "slow down"), "The server asks us to wait.", "Test again in a minute"),
        (error(402, "pay"), "The account has no credit left.", "Add credit"),
        (error(500, "oh"), "The server reports an error of its own.", "look at its log"),
        (error(400, "too odd"), "The server did not accept the question.", "too odd"),
        (Answer(body=b"<html>"), "The server answers, but not like a model.", "ends in /v1"),
        (Answer(drops=True), "did not accept", "connection lost"),
        (completion("Well."), "The reply names no response.", "up to five times"),
        (completion("I cannot do that."), "The model declined to answer.", "missing, not as wrong"),
        (completion("[[A]]"), "The reply states no certainty.", "structured output"),
        (
            completion("<think>", finish_reason="length"),
            "used all its tokens for thinking",
            "Raise the thinking tokens",
        ),
        (completion("It is", finish_reason="length"), "The reply was cut off", "reply tokens"),
    ],
)
def test_a_problem_is_said_in_plain_words_with_what_to_do(served, llm, answer, problem, advice):
    editor, judge = served
    llm.answer = lambda body, n: answer

    response = editor.post(page_of(judge, "test-judge"))

    assert response.status_code == 200
    assert problem in words(response)
    assert advice in words(response)
    assert "<title>Error: " in response.text


def test_a_server_that_is_not_there_or_slow_or_forbidden_is_said(served, llm, monkeypatch):
    editor, judge = served
    llm.answer = lambda body, n: Answer(delay=1.0)
    monkeypatch.setattr("judging.catalog.connection_test.SECONDS", 0.1)
    assert "No reply within 0 seconds." in words(editor.post(page_of(judge, "test-judge")))

    store_judge(judge, {"base_url": "http://127.0.0.1:1/v1"})
    page = words(editor.post(page_of(judge, "test-judge")))
    assert "No connection to http://127.0.0.1:1/v1." in page

    # A name that means a link-local address at the time of the request.
    monkeypatch.setattr("judging.backends.connections.is_link_local", lambda address: True)
    store_judge(judge, {"base_url": llm.url})
    before = len(llm.requests)
    page = words(editor.post(page_of(judge, "test-judge")))
    assert "This address is not allowed." in page
    assert len(llm.requests) == before


def test_a_missing_variable_is_said_before_and_by_the_test(served, llm, monkeypatch):
    editor, judge = served
    store_judge(judge, {"api_key_env": "JUDGE_KEY_NONE"})

    assert "JUDGE_KEY_NONE, which is not set on this web server" in words(
        editor.get(page_of(judge))
    )
    page = words(editor.post(page_of(judge, "test-judge")))
    assert "the environment variable JUDGE_KEY_NONE is empty" in page
    assert llm.requests == []


def test_hostile_texts_of_a_server_are_shown_as_text(served, llm):
    editor, judge = served
    llm.answer = lambda body, n: completion("<script>alert(1)</script> [[A]] [[50]]")

    page = editor.post(page_of(judge, "test-judge")).text

    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        ("169.254.169.254", True),
        ("::ffff:169.254.169.254", True),
        ("fe80::1%eth0", True),
        ("fd00:ec2::254", True),
        ("100.100.100.200", True),
        ("127.0.0.1", False),
        ("10.0.0.4", False),
        ("8.8.8.8", False),
    ],
)
def test_link_local_and_metadata_addresses_are_known(address, is_one):
    assert is_link_local(address) is is_one


def test_a_judge_that_runs_have_used_keeps_its_model_and_the_runs_their_costs(
    engine, llm, settings
):
    study = make_study(slug="s")
    make_item(study=study)
    judge = make_judge(base_url=llm.url)
    unpriced = judge_all(study, judge)
    User.objects.create_superuser("root")
    admin = Client()
    admin.force_login(User.objects.get())
    change = page_of(judge, "change-judge")
    same = {"name": "judge", "base_url": llm.url, "own_sources": ""}

    page = words(admin.get(change))
    assert "Runs have used this judge, so its name, model and sampling stay as they are." in page
    assert submit(admin, change, **same, temperature="1.5", model="other").status_code == 302

    judge.refresh_from_db()
    assert (judge.model, judge.temperature, judge.price_input) == ("mock", 0.7, 10)
    run_page = reverse("judging:run", args=["s", unpriced.public_id])
    assert "Cost unknown (no price)" in words(admin.get(run_page))

    priced = judge_all(study, judge, samples=2)
    assert priced.spent_nano > 0
    before = priced.spent_nano
    submit(admin, change, **same, price_input="1", price_output="1")
    priced.refresh_from_db()
    assert priced.spent_nano == before
    response = submit(admin, change, **same | {"price_input": "", "price_output": ""})
    assert "so it cannot be removed" in words(response)


def test_a_change_is_in_the_log_of_every_study_whose_runs_use_the_judge(admin, study):
    judge = make_judge(base_url=ADDRESS)
    other = make_study(slug="other")
    make_item(study=other)
    start(other, judge)

    submit(admin, page_of(judge, "change-judge"), name="judge", own_sources="")

    logged = StudyLog.objects.filter(event="judge changed")
    assert set(logged.values_list("study__slug", flat=True)) == {"s", "other"}


def test_a_retired_judge_is_not_offered_and_a_used_one_not_deleted(admin, study):
    judge, unused = make_judge(base_url=ADDRESS), make_judge(name="unused", base_url=ADDRESS)
    start(study, judge)
    new = reverse("judging:new", args=["s"])
    assert 'value="judge"' in admin.get(new).text

    admin.post(page_of(judge, "change-offer", "retire"))
    assert 'value="judge"' not in admin.get(new).text
    assert "Retired" in words(admin.get(LIST))
    admin.post(page_of(judge, "change-offer", "offer"))
    assert 'value="judge"' in admin.get(new).text

    response = admin.post(page_of(judge, "change-offer", "delete"), follow=True)
    assert "cannot be deleted. Retire it instead." in words(response)
    admin.post(page_of(unused, "change-offer", "delete"))
    assert set(Judge.objects.values_list("name", flat=True)) == {"judge"}


def test_the_creator_changes_a_judge_and_another_editor_does_not(study, settings):
    settings.JUDGE_HOSTS = ["127.0.0.1"]
    creator, other = sign_in(study), sign_in(study)
    submit(creator)
    judge = Judge.objects.get()

    assert other.get(page_of(judge, "change-judge")).status_code == 404
    assert other.post(page_of(judge, "change-offer", "retire")).status_code == 404
    assert submit(creator, page_of(judge, "change-judge"), rpm="7").status_code == 302
    judge.refresh_from_db()
    assert judge.rpm == 7


def test_the_list_takes_the_same_queries_for_one_judge_and_for_many(
    editor, study, django_assert_num_queries
):
    make_judge(name="first", base_url=ADDRESS)
    editor.get(LIST)
    with connection.execute_wrapper(counter := Counted()):
        editor.get(LIST)
    one = len(counter.statements)
    for n in range(30):
        make_judge(name=f"j{n}", base_url=ADDRESS)
    with django_assert_num_queries(one):
        page = editor.get(LIST)
    assert page.text.count('data-label="Server"') == 20
    assert "Page 1 of 2" in words(page)


class Counted:
    def __init__(self):
        self.statements = []

    def __call__(self, execute, sql, params, many, context):
        self.statements.append(sql)
        return execute(sql, params, many, context)


def test_new_runs_start_from_what_the_study_asks(study):
    make_judge(base_url=ADDRESS)

    def ticked(**fields):
        for name, value in fields.items():
            setattr(study, name, value)
        study.save()
        page = sign_in(study).get(reverse("judging:new", args=["s"])).text
        return re.findall(r'name="settings" value="(\w+)"[^>]* checked', page)

    assert ticked(ask_certainty=True, allow_tie=False) == ["certainty"]
    assert ticked(ask_certainty=False, allow_tie=False) == ["standard"]
    assert ticked(ask_certainty=True, allow_tie=True) == ["certainty", "tie"]


def test_new_runs_with_one_judge_tick_it(editor):
    judge = make_judge(base_url=ADDRESS)
    make_judge(name="other", base_url=ADDRESS)

    page = editor.get(reverse("judging:new", args=["s"]) + f"?judge={judge.pk}").text

    assert re.findall(r'name="judges" value="(\w+)"[^>]* checked', page) == ["judge"]


def test_the_estimate_before_the_first_reply_has_a_time(editor):
    make_judge(base_url=ADDRESS, price_input=1, price_output=1, rpm=1)
    plan = {"name": "x", "judges": ["judge"], "settings": ["certainty"], "features": ["all"]}

    page = editor.post(
        reverse("judging:new", args=["s"]),
        plan | {"orders": "both", "samples": "1", "estimate": "yes"},
    )

    assert "2 minutes" in words(page)


def test_a_key_that_was_typed_counts_more_than_the_button_above_it(admin, keys_allowed):
    submit(admin, key=SECRET)
    submit(admin, name="other", api_key_env="JUDGE_KEY_GPU")

    mine, other = Judge.objects.order_by("pk")
    assert api_key(settings_of(mine)) == SECRET
    assert other.api_key_env == "JUDGE_KEY_GPU"


@pytest.mark.parametrize("where", ["Connections.__init__", "Connections.post"])
def test_a_test_that_fails_in_this_program_shows_no_key(
    admin, keys_allowed, settings, monkeypatch, where, caplog
):
    settings.DEBUG = True
    submit(admin, key_from="stored", key=SECRET)

    def fails(self, *arguments, **named):
        raise RuntimeError("broken")

    monkeypatch.setattr(f"judging.backends.connections.{where}", fails)
    with caplog.at_level(logging.DEBUG):
        response = admin.post(page_of(Judge.objects.get(), "test-judge"))

    assert response.status_code == 200
    assert "The test failed in this program." in words(response)
    assert SECRET not in response.text + caplog.text


def test_few_modules_handle_the_stored_key():
    root = Path(__file__).resolve().parents[2]
    found = {
        str(path.relative_to(root))
        for folder in ("analysis", "annotation", "config", "judging", "studies", "templates")
        for path in (root / folder).rglob("*.*")
        if path.suffix in (".py", ".html")
        and "migrations" not in path.parts
        and "sealed_key" in path.read_text(encoding="utf-8")
    }

    assert found == {
        "config/operations/doctor/judge_checks.py",
        "judging/catalog/changes.py",
        "judging/catalog/connection_test.py",
        "judging/catalog/study_part.py",
        "judging/models/judges.py",
        "judging/pages/judge_forms.py",
        "judging/pages/judge_views.py",
        "judging/runs/judges.py",
        "judging/worker/endpoints.py",
        "templates/judging/judge.html",
    }


def test_progress_counts_what_is_done_and_not_what_is_being_asked(editor, study):
    make_item(study=study, key="second")
    run = start(study, make_judge(base_url=ADDRESS))
    Judgment.objects.filter(run=run, item__key="first").update(
        state="leased", leased_until=timezone.now()
    )

    page = editor.get(reverse("judging:run", args=["s", run.public_id]))

    assert "Done 0 of 2 Left 2" in words(page)
    assert '<progress max="2" value="0"' in page.text


def test_a_launch_check_and_a_batch_ask_no_link_local_address(study, monkeypatch):
    judge = make_judge(base_url="http://metadata.example/v1")
    start(study, judge)
    monkeypatch.setattr(
        "judging.backends.endpoints.socket.getaddrinfo",
        lambda *arguments, **named: [(2, 1, 6, "", ("169.254.169.254", 80))],
    )

    (check,) = judges_of(study)
    assert "These judges do not answer: judge." in check.text
    client = BatchClient(base_url=judge.base_url, api_key="")
    with pytest.raises(BatchError, match="is a link-local or metadata address"):
        client.status("batch_1")
    client.close()


def test_the_time_of_replies_is_read_once_for_each_judge(editor, study):
    make_judge(base_url=ADDRESS)
    persona = study.personas.get()
    persona.features = [
        {"key": key, "label": key, "value": "x", "text": key} for key in ("a", "b", "c", "d")
    ]
    persona.save()
    plan = {"name": "x", "judges": ["judge"], "settings": ["certainty"], "orders": "both"}

    def queries(*features):
        with connection.execute_wrapper(counter := Counted()):
            editor.post(NEW, plan | {"features": features, "samples": "1", "estimate": "yes"})
        return counter.statements

    once, sweep = queries("all"), queries("all", "leave-one-out")
    reads = [sql for sql in sweep if '"judging_judgerun"."tokens" > ' in sql]

    assert len(reads) == 1
    assert len(sweep) > len(once)


def test_a_run_that_continues_at_another_address_records_both(admin, study):
    judge = make_judge(base_url=ADDRESS)
    run = start(study, judge)
    finished = start(study, judge, samples=2)
    JudgeRun.objects.filter(pk=finished.pk).update(state="done", sentence="x")

    change = {"name": "judge", "own_sources": "", "base_url": "http://127.0.0.1:10/v1"}
    assert submit(admin, page_of(judge, "change-judge"), **change).status_code == 302

    page = words(admin.get(reverse("judging:run", args=["s", run.public_id])))
    assert "Server http://127.0.0.1:9/v1, then http://127.0.0.1:10/v1" in page
    page = words(admin.get(reverse("judging:run", args=["s", finished.public_id])))
    assert "Server http://127.0.0.1:9/v1 Temperature" in page


def test_more_addresses_are_entered_one_a_line_and_shown(admin, study):
    submit(admin, more_base_urls=" http://b/v1 \n\nhttp://c/v1\r\n", price_cached_input="2.5")

    judge = Judge.objects.get()
    assert judge.more_base_urls == ["http://b/v1", "http://c/v1"]
    page = words(admin.get(page_of(judge)))
    assert f"{ADDRESS} http://b/v1 http://c/v1" in page
    assert "$2.50 cached in" in page
    assert "http://b/v1\nhttp://c/v1" in admin.get(page_of(judge, "change-judge")).text


def test_an_address_that_is_added_is_checked_by_its_user_and_gets_no_key_of_another(
    admin, editor, study, keys_allowed
):
    assert "may use the addresses of OpenAI" in words(
        submit(editor, base_url="https://api.openai.com/v1", more_base_urls="http://evil/v1")
    )
    submit(admin, key_from="stored", key=SECRET)
    judge = Judge.objects.get()

    response = submit(
        admin, page_of(judge, "change-judge"), key_from="keep", more_base_urls="http://b/v1"
    )

    assert response.status_code == 422
    judge.refresh_from_db()
    assert judge.more_base_urls == []
    with pytest.raises(InvalidValue):
        save_judge(
            judge=judge,
            study=study,
            user=User.objects.get(username="root"),
            fields={"more_base_urls": ["http://b/v1"]},
        )


def test_the_connection_test_asks_every_address(admin, study, llm):
    llm.answer = lambda body, n: completion("[[A]] [[70]]")
    judge = make_judge(base_url=llm.url, more_base_urls=["http://127.0.0.1:9/v1"])

    result = run_connection_test(judge, study)

    assert result.outcome == "problem"
    assert (result.problem, result.address) == ("", llm.url)
    assert result.others[0].problem == "No connection to http://127.0.0.1:9/v1."
    assert "No connection to http://127.0.0.1:9/v1." in words(
        admin.post(page_of(judge, "test-judge"))
    )


def test_a_judge_is_added_named_after_its_model_and_tested_with_one_button(admin, study, llm):
    llm.answer = lambda body, n: completion("[[A]] [[70]]")

    page = submit(admin, name="", model="mock", base_url=llm.url, test="yes")

    judge = Judge.objects.get()
    assert (judge.name, page.status_code) == ("mock", 200)
    assert "The judge works." in words(page)
    assert set(StudyLog.objects.values_list("event", flat=True)) >= {"judge added", "judge tested"}


def test_a_provider_is_chosen_on_the_page(admin, study):
    form = admin.get(f"{ADD}?preset=anthropic").text
    assert 'value="https://api.anthropic.com"' in form
    assert re.search(r'value="anthropic" selected', form)

    submit(admin, backend="anthropic", base_url="https://api.anthropic.com")
    assert Judge.objects.get().backend == "anthropic"
    assert "at most 1" in words(
        submit(
            admin,
            name="hot",
            backend="anthropic",
            base_url="https://api.anthropic.com",
            temperature="1.5",
        )
    )
