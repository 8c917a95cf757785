"""Options, revisions and shared beginnings of local models: what needs no torch."""

import random
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from extras.local_models import kind as local_kind
from extras.local_models.kind import (
    ModelOptions,
    TransformersKind,
    check_options,
    content_hash,
    exact_revision,
    read_options,
)
from extras.local_models.model import begins_with_verdict, share
from judging.backends.kinds import backend_kind
from judging.engine.interface import JudgeQuestion
from judging.engine.messages import from_user
from judging.errors import BadJudge, ConflictingValue, InvalidValue
from judging.models import Judge
from judging.protocols.protocol import Standard
from judging.runs.judges import add_judge
from judging.runs.spec import RunSpec
from judging.runs.start import run_for, start_run
from judging.tasks import queue_chunk
from judging.worker.endpoints import settings_of
from tests.factories import make_item, make_items, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import start

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_options_that_are_stored_are_read_again():
    stored = {
        "dtype": "float16",
        "quantisation": "4bit",
        "device_map": "auto",
        "attention": "sdpa",
        "thinking": "off",
        "revision": COMMIT,
        "template.reasoning_effort": "low",
        "template.limit": 3,
    }

    assert read_options(stored).stored() == stored
    assert read_options({}).stored() == {}
    assert read_options({"dtype": "auto"}) == ModelOptions()


@pytest.mark.parametrize(
    ("stored", "code", "says"),
    [
        ({"dtyp": "float16"}, "unknown_option", "there is no option “dtyp”. Use one of: dtype,"),
        ({"dtype": "int4"}, "option_not_allowed", "dtype cannot be “int4”. Use one of: auto,"),
        ({"thinking": True}, "option_not_allowed", "Use one of: auto, on, off"),
        ({"template.x": [1]}, "option_not_plain", "template.x must be true, false, a number"),
        ({"template.x": "y" * 201}, "option_not_plain", "at most 200 characters"),
        ({"template.a-b": 1}, "option_not_a_name", "does not name a switch"),
        ({"template.messages": ""}, "option_reserved", "is set by this program"),
        ({"revision": "main"}, "option_not_exact", "revision “main” is not exact"),
    ],
)
def test_a_wrong_option_is_named(stored, code, says):
    with pytest.raises(InvalidValue) as caught:
        read_options(stored)

    assert (caught.value.field, caught.value.code) == ("model_options", code)
    assert says in str(caught.value)


def test_options_that_exclude_each_other_are_refused():
    plain = ModelOptions(chat_template="none")
    with pytest.raises(ConflictingValue, match="thinking is a switch of the chat template"):
        check_options(replace(plain, thinking="off"), scores=False)
    with pytest.raises(ConflictingValue, match=r"template\.x is a switch"):
        check_options(replace(plain, template=(("x", 1),)), scores=False)
    with pytest.raises(ConflictingValue, match="the first token of a reply is a thought"):
        check_options(ModelOptions(thinking="on"), scores=True)
    check_options(ModelOptions(thinking="on"), scores=False)


def test_an_option_whose_package_is_missing_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("extras.local_models.kind.importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConflictingValue, match=r"“4bit” needs the package bitsandbytes .*install"):
        check_options(ModelOptions(quantisation="4bit"), scores=False)
    check_options(ModelOptions(), scores=False)


def test_a_server_has_no_such_options(db):
    with pytest.raises(BadJudge, match="the backend openai has no option"):
        add_judge(name="j", model="m", model_options={"dtype": "float16"})


@pytest.fixture
def local(db, monkeypatch):
    monkeypatch.setattr(local_kind.importlib.util, "find_spec", lambda name: name)
    return backend_kind("transformers")


def test_a_commit_is_exact_and_a_branch_is_replaced_by_its_commit(local, monkeypatch):
    judge, _ = add_judge(name="j", backend="transformers", model=f"owner/name@{COMMIT}")
    assert judge.model_options == {"revision": COMMIT}

    monkeypatch.setattr("extras.local_models.kind._commit_of", lambda name, branch: "f" * 40)
    judge, _ = add_judge(name="k", backend="transformers", model="owner/name@main")
    assert judge.model_options == {"revision": "f" * 40}
    assert TransformersKind().intended_parameters(settings_of(judge)).values["options"] == {
        "revision": "f" * 40
    }


def test_a_branch_that_nobody_can_look_up_is_refused(local, monkeypatch):
    monkeypatch.setattr("extras.local_models.kind._downloaded", lambda name, branch: "")
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)

    with pytest.raises(CommandError, match="--model: the commit of “owner/name” is not known"):
        call_command("add_judge", "j", backend="transformers", model="owner/name")
    assert not Judge.objects.exists()


def test_a_folder_is_known_by_its_content(tmp_path):
    for name, text in (("config.json", "{}"), ("sub/weights", "1"), (".cache/x", "hidden")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    first = exact_revision(str(tmp_path))

    assert first.startswith("sha256:")
    (tmp_path / ".cache" / "x").write_text("changed")
    assert content_hash(tmp_path) == first
    (tmp_path / "sub" / "weights").write_text("2")
    assert content_hash(tmp_path) != first
    (tmp_path / "sub" / "weights").write_text("1")
    (tmp_path / "sub" / "weights").rename(tmp_path / "weights")
    assert content_hash(tmp_path) != first


def test_the_command_sets_and_removes_options(local, capsys):
    command = ("add_judge", "j", "--backend", "transformers", "--model", f"o/n@{COMMIT}")
    call_command(
        *command, "--option", "dtype=float16", "--option", "template.enable_thinking=false"
    )
    judge = Judge.objects.get()
    assert judge.model_options == {
        "dtype": "float16",
        "template.enable_thinking": False,
        "revision": COMMIT,
    }
    assert f"revision {COMMIT}" in capsys.readouterr().out

    call_command("add_judge", "j", "--option", "dtype=", "--option", "attention=eager")
    judge.refresh_from_db()
    assert judge.model_options == {
        "attention": "eager",
        "template.enable_thinking": False,
        "revision": COMMIT,
    }
    with pytest.raises(CommandError, match="--option: there is no option “dtypes”"):
        call_command("add_judge", "j", "--option", "dtypes=float16")


def test_options_make_another_run_and_are_part_of_its_record(local):
    study = make_study()
    make_items(study, 1)
    keys = set()
    for name in ("auto", "float16"):
        judge, _ = add_judge(
            name="j", backend="transformers", model=f"o/n@{COMMIT}", model_options={"dtype": name}
        )
        run = run_for(study, judge, RunSpec(study_id=study.pk, judge_id=judge.pk))
        keys.add(run.key)
    assert len(keys) == 2
    assert run.parameters["model_options"] == {"dtype": "float16", "revision": COMMIT}


def test_prompts_are_split_where_they_begin_to_differ():
    one, other = [1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 9, 9]

    shared = share([one, other, one])

    assert shared.beginnings == [[1, 2, 3, 4]]
    assert (shared.of, shared.rests) == ([0, 0, 0], [[5, 6, 7], [9, 9], [5, 6, 7]])


@pytest.mark.parametrize("prompts", [[[1, 2]], [[1, 2, 3], [4, 5, 6]], [[1], [1]]])
def test_prompts_that_share_too_little_are_left_whole(prompts):
    assert share(prompts) is None


def test_shared_beginnings_lose_and_add_no_token_and_compute_less():
    rng = random.Random(3)
    found = 0
    for _ in range(300):
        starts = [[rng.randrange(3) for _ in range(rng.randrange(1, 30))] for _ in range(3)]
        prompts = [
            rng.choice(starts) + [rng.randrange(3) for _ in range(rng.randrange(1, 9))]
            for _ in range(rng.randrange(1, 9))
        ]
        if (split := share(prompts)) is None:
            continue
        found += 1
        whole = [split.beginnings[split.of[n]] + rest for n, rest in enumerate(split.rests)]
        assert whole == prompts
        assert all(split.rests)
        cost = sum(len(rows) * max(map(len, rows)) for rows in (split.beginnings, split.rests))
        assert cost < len(prompts) * max(map(len, prompts))
    assert found > 50


def test_the_page_of_a_local_judge_shows_its_revision_and_options(local):
    study = make_study()
    judge, _ = add_judge(
        name="j",
        backend="transformers",
        model=f"o/n@{COMMIT}",
        model_options={"quantisation": "4bit"},
    )

    page = sign_in(study).get(reverse("judging:judge", args=[study.slug, judge.pk]))

    text = " ".join(re.sub(r"<[^>]+>", " ", page.content.decode()).split())
    assert f"Revision {COMMIT}" in text
    assert "Option quantisation 4bit" in text


@pytest.fixture
def admin(local):
    """A superuser, and a study."""
    study = make_study()
    client = Client()
    client.force_login(User.objects.create_superuser("ada", password="a good long secret"))
    return client, study


def submit(client, url, **fields):
    defaults = {
        "name": "quiet",
        "model": f"o/n@{COMMIT}",
        "model_options": "quantisation=4bit\ntemplate.enable_thinking = false",
        "concurrency": "16",
        "temperature": "0.7",
        "top_p": "0.95",
        "max_tokens": "64",
        "thinking_tokens": "0",
        "timeout_seconds": "120",
        "outage_seconds": "120",
        "probabilities": "no",
    }
    return client.post(url, defaults | fields)


def test_an_administrator_adds_and_changes_a_local_judge_on_a_page(admin):
    client, study = admin
    add = reverse("judging:add-judge", args=[study.slug])
    assert "Local model" in client.get(add).content.decode()

    assert submit(client, f"{add}?preset=local").status_code == 302

    judge = Judge.objects.get()
    assert (judge.backend, judge.concurrency, judge.price_input) == ("transformers", 16, 0)
    options = {"quantisation": "4bit", "template.enable_thinking": False, "revision": COMMIT}
    assert judge.model_options == options
    change = reverse("judging:change-judge", args=[study.slug, judge.pk])
    assert "template.enable_thinking=false" in client.get(change).content.decode()
    assert submit(client, change, model_options="dtype=float16").status_code == 302
    judge.refresh_from_db()
    assert judge.model_options == {"dtype": "float16", "revision": COMMIT}
    copy = submit(client, f"{add}?like={judge.pk}", name="copy", model_options="")
    assert copy.status_code == 302
    assert Judge.objects.get(name="copy").model_options == {"revision": COMMIT}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"model_options": "dtype"}, "“dtype” is not NAME=VALUE."),
        ({"model_options": "dtype=int4"}, "“Options”: dtype cannot be “int4”"),
        ({"model": "o/n@main"}, "“Model”: the commit of “o/n@main” is not known"),
        ({"model": ""}, "Enter a folder or the name of a model."),
    ],
)
def test_what_is_wrong_with_a_local_judge_is_said_at_its_field(admin, fields, says, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    client, study = admin

    page = submit(
        client, reverse("judging:add-judge", args=[study.slug]) + "?preset=local", **fields
    )

    assert page.status_code == 422
    assert says in page.content.decode()
    assert not Judge.objects.exists()


def test_options_are_fixed_once_a_run_has_used_the_judge(admin):
    client, study = admin
    make_items(study, 1)
    judge, _ = add_judge(name="j", backend="transformers", model=f"o/n@{COMMIT}")
    start(study, judge)
    change = reverse("judging:change-judge", args=[study.slug, judge.pk])

    answer = submit(client, change, name="j", model_options="dtype=float16", concurrency="8")

    assert answer.status_code == 302
    judge.refresh_from_db()
    assert (judge.concurrency, judge.model_options) == (8, {"revision": COMMIT})


def test_an_editor_neither_adds_nor_changes_a_local_judge(local):
    study = make_study()
    judge, _ = add_judge(name="j", backend="transformers", model=f"o/n@{COMMIT}")
    editor = sign_in(study)
    add = reverse("judging:add-judge", args=[study.slug])

    assert "Local model" not in editor.get(add).content.decode()
    for url in (
        f"{add}?preset=local",
        reverse("judging:change-judge", args=[study.slug, judge.pk]),
    ):
        assert editor.get(url).status_code == 404
    assert "quantisation" not in editor.get(f"{add}?like={judge.pk}").content.decode()


def test_a_new_model_with_options_has_no_revision_of_the_old_one(local):
    add_judge(name="j", backend="transformers", model=f"o/n@{COMMIT}")

    judge, _ = add_judge(name="j", model=f"o/n@{'d' * 40}", model_options={"dtype": "float32"})

    assert judge.model_options == {"dtype": "float32", "revision": "d" * 40}


@pytest.mark.parametrize("model", ["/no/such/folder", "./models/x", "~/models/x", "a/b/c", "C:\\x"])
def test_a_folder_that_is_not_there_is_named_in_a_sentence(local, model):
    with pytest.raises(BadJudge, match=r"there is no folder “.*” on this machine"):
        add_judge(name="j", backend="transformers", model=model)


@pytest.mark.parametrize("model", ["owner/name--x", "owner/name.", "name@main"])
def test_a_name_that_the_hub_does_not_know_is_a_sentence(local, monkeypatch, model):
    class Hub:
        def model_info(self, name, *, revision, timeout):
            raise ValueError("the name is refused")

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(HfApi=Hub))

    with pytest.raises(BadJudge, match="is not known: the name is refused") as caught:
        add_judge(name="j", backend="transformers", model=model)

    assert "Error" not in str(caught.value)


@pytest.mark.django_db
def test_a_local_judge_without_its_packages_is_told_how_to_install_them(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(CommandError, match=r"pip install -r requirements-gpu\.txt.*vllm serve"):
        call_command("add_judge", "j", backend="transformers", model="m")

    assert not Judge.objects.exists()


@pytest.mark.django_db
def test_the_work_of_a_local_judge_goes_to_the_workers_with_a_gpu(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    sent = []
    monkeypatch.setattr(
        "judging.tasks.judge_chunk.apply_async", lambda args, **route: sent.append((args, route))
    )
    study = make_study()
    make_item(study=study)
    local = make_judge(name="local", backend="transformers", model=f"m@{'0' * 40}")
    remote = make_judge(name="remote", base_url="http://127.0.0.1:9/v1")
    runs = [
        start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), enqueue=False)
        for judge in (local, remote)
    ]

    for run in runs:
        queue_chunk(run.pk)

    assert sent == [((runs[0].pk,), {"queue": "gpu"}), ((runs[1].pk,), {"queue": "judging"})]


@pytest.mark.parametrize(
    ("reply", "counts"),
    [
        ("[[A]]", True),
        ("A]] It is short.", True),
        ("**B**", True),
        ("The answer is: B", False),
        ("Hm.", False),
    ],
)
def test_a_model_in_the_worker_has_scored_the_beginning_of_its_reply(reply, counts):
    question = JudgeQuestion(1, from_user("?"), Standard(), seed=0, is_lenient=True)

    assert begins_with_verdict(question, reply, is_cut=False) == counts
