"""Judges are added on a page, by those who may, at addresses that are allowed."""

import re

import pytest
from django.contrib.auth.models import Permission, User

from judging.backends.presets import presets
from judging.models import Judge
from studies.models import StudyLog
from tests.factories import sign_in
from tests.judging.conftest import make_judge
from tests.judging.judge_pages.pages import ADD, ADDRESS, LIST, page_of, submit, words
from tests.judging.llm_server import completion


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


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"base_url": "gpu:8000"}, "“Address” must be an address like http://localhost:8000/v1"),
        ({"base_url": "http://u:p@gpu/v1"}, "“Address” must hold neither a password nor a query"),
        ({"base_url": "http://169.254.169.254/v1"}, "is a link-local or metadata address"),
        ({"temperature": "3"}, "less than or equal to 2"),
        ({"price_output": ""}, "Enter both prices or none."),
        ({"key_from": "variable"}, "Enter the name of the variable."),
        ({"name": "-x"}, "starts with a dash"),
        (
            {"name": "", "model": ""},
            "Model: Enter the model as the server names it, or press “Fetch models”.",
        ),
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


def checked(page):
    return re.findall(r'name="key_from" value="(\w+)"[^>]* checked', page)


def test_a_preset_chooses_where_the_key_probably_is(admin, editor, monkeypatch):
    for name in ("OPENAI_API_KEY", "JUDGE_KEY_MISTRAL"):
        monkeypatch.delenv(name, raising=False)
    mistral, openai = f"{ADD}?preset=mistral", f"{ADD}?preset=openai"

    assert checked(admin.get(mistral).text) == checked(admin.get(openai).text) == ["stored"]
    assert checked(admin.get(f"{ADD}?preset=vllm").text) == ["none"]
    page = editor.get(mistral).text
    assert checked(page) == ["variable"]
    assert 'name="api_key_env" value="JUDGE_KEY_MISTRAL"' in page
    assert "(ask an administrator)" in page

    monkeypatch.setenv("JUDGE_KEY_MISTRAL", "k")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert checked(admin.get(mistral).text) == ["variable"]
    assert checked(admin.get(openai).text) == ["none"]


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize("name", presets())
def test_the_form_of_every_preset_adds_a_judge_when_it_has_model_and_key(admin, name):
    page = admin.get(f"{ADD}?preset={name}")
    values = {field.name: field.value() for field in page.context["form"]}
    given = {key: value for key, value in values.items() if str(value) not in ("None", "False", "")}
    address = (given.get("base_url") or ADDRESS).replace("YOUR-", "my-")
    given |= {"model": given.get("model", "m"), "base_url": address, "key": "k"}

    response = admin.post(ADD, given | {"key_from": "stored"})

    assert response.status_code == 302, words(response)
    judge = Judge.objects.get()
    assert (judge.base_url, judge.backend) == (address, values["backend"])
    assert judge.concurrency == presets()[name].slots


@pytest.mark.sampled(keep=2)
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


def test_more_addresses_are_entered_one_a_line_and_shown(admin, study):
    submit(admin, more_base_urls=" http://b/v1 \n\nhttp://c/v1\r\n", price_cached_input="2.5")

    judge = Judge.objects.get()
    assert judge.more_base_urls == ["http://b/v1", "http://c/v1"]
    page = words(admin.get(page_of(judge)))
    assert f"{ADDRESS} http://b/v1 http://c/v1" in page
    assert "$2.50 cached in" in page
    assert "http://b/v1\nhttp://c/v1" in admin.get(page_of(judge, "change-judge")).text


def test_a_judge_is_added_named_after_its_model_and_tested_with_one_button(admin, study, llm):
    llm.answer = lambda body, n: completion("[[A]] [[70]]")

    page = submit(admin, name="", model="mock", base_url=llm.url, test="yes")

    judge = Judge.objects.get()
    assert (judge.name, page.status_code) == ("mock", 200)
    assert "The judge works." in words(page)
    assert set(StudyLog.objects.values_list("event", flat=True)) >= {"judge added", "judge tested"}


def test_a_provider_is_chosen_on_the_page(admin, study):
    form = admin.get(f"{ADD}?preset=anthropic").text

    assert 'value="https://api.anthropic.com/v1"' in form
    assert re.search(r'value="openai" selected', form)
