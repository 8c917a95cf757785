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
from judging.runs import lifecycle
from judging.runs.judges import add_judge
from judging.worker.endpoints import serves_key, settings_of
from studies.models import Membership, StudyLog
from tests.factories import make_item, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.judge_pages.pages import ADD, ADDRESS, LIST, SECRET, page_of, submit, words
from tests.judging.llm_server import error
from tests.judging.run_helpers import judge_all, start


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


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_keys_are_entered_by_owners_and_administrators_unless_that_is_switched_off(
    admin, editor, owner, study, settings
):
    settings.JUDGE_HOSTS = ["127.0.0.1"]
    for client, may_enter in ((admin, True), (owner, True), (editor, False)):
        assert ('name="key"' in client.get(ADD).text) is may_enter
        response = submit(client, name=f"j{id(client)}", key_from="stored", key=SECRET)
        assert response.status_code == (302 if may_enter else 422)
        assert SECRET not in response.text
    assert Judge.objects.count() == 2
    fields = {"name": "by program", "model": "m", "base_url": ADDRESS}
    with pytest.raises(InvalidValue, match="owners of the study and administrators enter keys"):
        save_judge(
            judge=None,
            study=study,
            user=User.objects.get(username__startswith="editor"),
            fields=fields,
            key=SECRET,
        )

    settings.JUDGE_STORED_KEYS = False
    assert 'name="key"' not in admin.get(ADD).text
    assert submit(admin, name="off", key_from="stored", key=SECRET).status_code == 422
    assert Judge.objects.count() == 2


@pytest.mark.nightly
def test_another_study_does_not_spend_a_key_that_an_owner_entered(owner, study, llm, settings):
    settings.JUDGE_HOSTS = ["127.0.0.1"]
    other = make_study(slug="other")
    make_item(study=other)
    thief = sign_in(other, role="owner")
    submit(owner, base_url=llm.url, key_from="stored", key=SECRET)
    judge = Judge.objects.get()

    def at(name, *more):
        return reverse(f"judging:{name}", args=["other", *more])

    refusal = "was entered for other studies"
    assert "stored, for other studies" in words(thief.get(at("judges")))
    assert refusal in words(thief.post(at("judge", judge.pk), {"action": "test"}))
    like = f"{at('add-judge')}?like={judge.pk}"
    same = {"name": "like", "base_url": llm.url, "key_from": "same"}
    assert "The same key as" not in thief.get(like).text
    assert submit(thief, like, **same).status_code == 422
    assert submit(thief, like, **same, list="yes").status_code == 422
    with pytest.raises(BadJudge, match=refusal):
        start(other, judge)
    assert llm.requests == []
    assert start(study, judge).state == "queued"
    assert submit(owner, f"{ADD}?like={judge.pk}", **same).status_code == 302


def test_a_shared_key_stays_the_key_of_who_entered_it(owner, editor, study, settings):
    settings.JUDGE_HOSTS = ["127.0.0.1"]
    submit(owner, key_from="stored", key=SECRET)
    first = Judge.objects.get()
    submit(editor, f"{ADD}?like={first.pk}", name="second", key_from="same")
    second = Judge.objects.get(name="second")
    elsewhere = make_study(slug="elsewhere")
    user = User.objects.get(username__startswith="editor")
    Membership.objects.create(study=elsewhere, user=user, role="owner")

    assert (second.created_by, second.key_by) == (user, first.created_by)
    assert serves_key(second, study)
    assert not serves_key(second, elsewhere)


def test_a_key_serves_as_long_as_who_entered_it_belongs_to_the_study(
    owner, admin, study, engine, llm, settings
):
    settings.JUDGE_HOSTS = ["127.0.0.1"]
    submit(owner, base_url=llm.url, key_from="stored", key=SECRET)
    judge = Judge.objects.get()
    run = start(study, judge)
    Membership.objects.filter(user=judge.key_by).update(role="viewer")

    lifecycle.work_off(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, llm.requests) == ("stopped_outage", [])
    assert "was entered for other studies" in run.sentence
    submit(admin, page_of(judge, "change-judge"), base_url=llm.url, key_from="stored", key="sk-2")
    judge.refresh_from_db()
    assert serves_key(judge, study)
    assert serves_key(judge, make_study(slug="any"))
    User.objects.filter(username="root").delete()
    judge.refresh_from_db()
    assert not serves_key(judge, study)


def everything(client, judge, study):
    """All texts of this installation in which a key could appear."""
    yield from (client.get(url).text for url in (LIST, ADD, page_of(judge)))
    yield client.get(page_of(judge, "change-judge")).text
    yield client.get(f"{ADD}?like={judge.pk}").text
    yield client.post(page_of(judge), {"action": "test"}).text
    yield client.get(reverse("judging:list", args=["s"]) + "?format=csv").text
    yield client.get(reverse("studies:detail", args=["s"])).text
    for log in StudyLog.objects.all():
        yield f"{log.event} {json.dumps(log.detail)}"
    dump = io.StringIO()
    call_command("dumpdata", stdout=dump)
    yield dump.getvalue()
    yield repr(judge) + repr(vars(judge)) + repr(settings_of(judge))


def test_an_entered_key_is_sent_to_its_server_and_appears_nowhere(transactional_db, llm, caplog):
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
    admin, settings, monkeypatch, debug, caplog
):
    settings.DEBUG = debug
    admin.raise_request_exception = False

    def fails(key):
        held = f"Bearer {key}"
        raise RuntimeError(f"after {len(held)} characters")

    monkeypatch.setattr("judging.catalog.access.seal", fails)
    with caplog.at_level(logging.DEBUG):
        response = submit(admin, base_url="http://new/v1", key_from="stored", key=SECRET)

    assert response.status_code == 500
    assert SECRET not in response.text
    assert ("RuntimeError" in response.text) is debug
    assert SECRET not in caplog.text


@pytest.mark.nightly
def test_a_field_at_fault_does_not_send_the_key_back(admin):
    for fields in ({"model": ""}, {"base_url": "ftp://x"}, {"key": f"{SECRET} and more"}):
        response = submit(admin, **{"key_from": "stored", "key": SECRET} | fields)

        assert response.status_code == 422
        assert SECRET not in response.text


@pytest.mark.nightly
def test_a_stored_key_is_replaced_and_removed(admin, study):
    submit(admin, key_from="stored", key=SECRET)
    judge = Judge.objects.get()
    change = page_of(judge, "change-judge")

    submit(admin, change, key_from="keep", concurrency="3")
    judge.refresh_from_db()
    assert (api_key(settings_of(judge)), judge.concurrency) == (SECRET, 3)

    submit(admin, change, key_from="stored", key="sk-another-0123456789")
    judge.refresh_from_db()
    assert api_key(settings_of(judge)) == "sk-another-0123456789"
    tested = submit(admin, change, key_from="stored", key="sk-another-0123456789", test="yes")
    assert f"No connection to {ADDRESS}" in words(tested)

    admin.post(page_of(judge), {"action": "remove_key"})
    judge.refresh_from_db()
    assert (judge.sealed_key, api_key(settings_of(judge))) == ("", "")
    changed = [
        [change for change in log.detail["changed"] if not change.startswith("price_day")]
        for log in StudyLog.objects.filter(event="judge changed")
    ]
    assert sorted(changed) == [
        ["concurrency: 3 → 8", "key stored"],
        ["concurrency: 8 → 3"],
        ["key removed"],
        ["key stored"],
    ]


def test_a_stored_key_does_not_follow_a_judge_to_another_address(admin, study):
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


def test_a_judge_like_another_shares_its_key_at_its_address(admin, editor):
    submit(admin, key_from="stored", key=SECRET)
    first = Judge.objects.get()

    response = submit(editor, f"{ADD}?like={first.pk}", name="second", key_from="same")

    assert response.status_code == 302
    second = Judge.objects.get(name="second")
    assert api_key(settings_of(second)) == SECRET


def test_a_stored_key_is_unreadable_with_another_secret_or_where_it_is_forbidden(
    admin, study, settings
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


def test_a_key_that_was_typed_counts_more_than_the_button_above_it(admin):
    submit(admin, key=SECRET)
    submit(admin, name="other", api_key_env="JUDGE_KEY_GPU")

    mine, other = Judge.objects.order_by("pk")
    assert api_key(settings_of(mine)) == SECRET
    assert other.api_key_env == "JUDGE_KEY_GPU"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("where", ["client_for", "_Guarded.handle_async_request"])
def test_a_test_that_fails_in_this_program_shows_no_key(
    admin, settings, monkeypatch, where, caplog
):
    settings.DEBUG = True
    submit(admin, key_from="stored", key=SECRET)

    def fails(*arguments, **named):
        raise RuntimeError("broken")

    monkeypatch.setattr(f"judging.backends.connections.{where}", fails)
    with caplog.at_level(logging.DEBUG):
        response = admin.post(page_of(Judge.objects.get()), {"action": "test"})

    assert response.status_code == 200
    assert "The test failed in this program." in words(response)
    assert SECRET not in response.text + caplog.text


def test_an_address_that_is_added_is_checked_by_its_user_and_gets_no_key_of_another(
    admin, editor, study
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
        "judging/catalog/access.py",
        "judging/catalog/changes.py",
        "judging/catalog/connection_test.py",
        "judging/models/judges.py",
        "judging/pages/judge_forms.py",
        "judging/pages/judge_views.py",
        "judging/runs/judges.py",
        "judging/worker/endpoints.py",
        "templates/judging/judge.html",
    }


def test_a_secret_header_is_sent_and_shown_nowhere(engine, admin, study, llm):
    llm.answer = lambda body, n: error(400, f"no such key: {SECRET}")
    fields = {"base_url": llm.url, "secret_headers": f"Api-Key={SECRET}", "structured": "off"}

    refused = submit(admin, **fields, model="")
    assert SECRET not in refused.text
    assert "api-key" in refused.text.lower()
    assert submit(admin, **fields).status_code == 302

    judge = Judge.objects.get()
    pages = [
        admin.post(page_of(judge), {"action": "test"}),
        admin.get(page_of(judge, "change-judge")),
    ]
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
