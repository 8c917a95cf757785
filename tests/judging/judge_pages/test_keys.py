"""Keys of judges: which may be used, and that those that are entered stay secret."""

import io
import json
import logging
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from judging.backends.backend import api_key
from judging.catalog.changes import save_judge
from judging.catalog.connection_test import run_connection_test
from judging.errors import BadJudge, InvalidValue
from judging.models import Attempt, Judge
from judging.runs.judges import add_judge
from judging.worker.endpoints import settings_of
from studies.models import StudyLog
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge
from tests.judging.judge_pages.pages import ADD, ADDRESS, LIST, SECRET, page_of, submit, words
from tests.judging.llm_server import error
from tests.judging.run_helpers import judge_all


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


def test_few_modules_handle_the_stored_key():
    root = Path(__file__).resolve().parents[3]
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
        "judging/models/judges.py",
        "judging/pages/judge_forms.py",
        "judging/pages/judge_views.py",
        "judging/runs/judges.py",
        "judging/worker/endpoints.py",
        "templates/judging/judge.html",
    }


@pytest.mark.usefixtures("keys_allowed")
def test_a_secret_header_is_sent_and_shown_nowhere(engine, admin, study, llm):
    llm.answer = lambda body, n: error(400, f"no such key: {SECRET}")
    fields = {"base_url": llm.url, "secret_headers": f"Api-Key={SECRET}", "structured": "off"}

    refused = submit(admin, **fields, model="")
    assert SECRET not in refused.text
    assert "api-key" in refused.text.lower()
    assert submit(admin, **fields).status_code == 302

    judge = Judge.objects.get()
    pages = [admin.post(page_of(judge, "test-judge")), admin.get(page_of(judge, "change-judge"))]
    assert llm.headers[0]["api-key"] == SECRET
    assert "authorization" not in llm.headers[0]
    run = judge_all(study, judge)
    told = [page.text for page in pages] + list(Attempt.objects.values_list("error", flat=True))
    told += [str(run.parameters), str(vars(judge)), str(list(StudyLog.objects.values()))]
    assert SECRET not in " ".join(map(str, told))
    assert run.parameters["model_options"]["secret_headers"] == ["api-key"]

    # Runs have used it: a value can change, a name cannot, and a name alone keeps the value.
    change = page_of(judge, "change-judge")
    before = judge.sealed_headers
    assert submit(admin, change, base_url=llm.url, secret_headers="api-key=").status_code == 302
    judge.refresh_from_db()
    assert judge.sealed_headers == before
    assert submit(admin, change, base_url=llm.url, secret_headers="api-key=n3w").status_code == 302
    other = submit(admin, change, base_url=llm.url, secret_headers="other=abc")
    assert "its headers keep their names" in words(other)
    moved = submit(admin, change, base_url=f"{llm.url}/x", secret_headers="api-key=")
    assert "enter the value of api-key" in words(moved)
