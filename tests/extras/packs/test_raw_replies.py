"""Raw replies of Inspect and promptfoo, in the form that their versions of 2026 write."""

import io
import json
import zipfile
from typing import Any

import pytest

from extras.packs import raw_replies
from extras.packs.folder import CustomId
from extras.packs.packing import write_pack
from extras.packs.reading import import_raw, read_raw
from judging.engine.messages import Message, prompt_sha256
from judging.models import Attempt, Judgment
from judging.runs.spec import RunSpec
from studies.importers.files.bundle import File
from studies.importers.files.faults import Refused
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.studies.test_child import children  # noqa: F401

ITEMS = 3


@pytest.fixture
def study(transactional_db):
    study = make_study()
    make_items(study, ITEMS)
    return study


@pytest.fixture
def pack(study, tmp_path) -> list[dict[str, Any]]:
    """The requests of a pack with two samples of each question."""
    return requests_of(study, tmp_path, "judge")


def requests_of(study, tmp_path, name: str) -> list[dict[str, Any]]:
    judge = make_judge(name=name, base_url="http://127.0.0.1:9/v1")
    spec = RunSpec(study_id=study.pk, judge_id=judge.pk, samples=2)
    write_pack(spec, tmp_path / name)
    lines = (tmp_path / name / "requests.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def sample(request: dict[str, Any], number: int, *, name: str = "", **more: Any) -> dict[str, Any]:
    messages = request["body"]["messages"]
    reply = {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "Hm: B"}]}
    reply["content"].append({"type": "text", "text": "[[A]]"})
    return {
        "id": name or request["custom_id"],
        "epoch": 1,
        "input": messages[-1]["content"],
        "messages": [*messages, reply],
        "output": {
            "model": "gpt-2026-01-01",
            "choices": [{"message": reply, "stop_reason": "stop"}],
            "usage": {"input_tokens": 90, "output_tokens": 7, "input_tokens_cache_read": 10},
        },
        "uuid": f"uuid-{number}",
        "attachments": {},
        **more,
    }


def log(samples: list[Any], **config: Any) -> dict[str, Any]:
    evaluation = {"run_id": "r", "model": "openai/gpt", "model_generate_config": config}
    return {"version": 2, "status": "success", "eval": evaluation, "samples": samples}


def zipped(document: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({k: document[k] for k in ("eval", "status")}))
        for number, each in enumerate(document["samples"]):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(each))
    return out.getvalue()


def results(requests: list[dict[str, Any]], *, named: bool, **config: Any) -> dict[str, Any]:
    rows = [
        {
            "id": f"result-{number}",
            "prompt": {"raw": json.dumps(request["body"]["messages"]), "label": "p"},
            "provider": {"id": "openai:chat:gpt", "label": ""},
            "response": {
                "output": "[[A]]",
                "tokenUsage": {"total": 107, "prompt": 100, "completion": 7, "numRequests": 1},
                "finishReason": "stop",
            },
            "vars": {"custom_id": request["custom_id"]} if named else {},
        }
        for number, request in enumerate(requests)
    ]
    providers = [{"id": "openai:chat:gpt", "config": config}]
    return {"evalId": "e", "results": {"results": rows}, "config": {"providers": providers}}


def read(study, document: Any, *, run: str = "") -> Any:
    data = document if isinstance(document, bytes) else json.dumps(document, indent=2).encode()
    return import_raw(study_id=study.pk, files=[File("log", data)], run=run)


def written(study, requests, form: str) -> Any:
    samples = [sample(request, number) for number, request in enumerate(requests)]
    unnamed = [sample(request, number, name="s") for number, request in enumerate(requests)]
    return {
        "inspect": lambda: log(samples),
        "inspect, by prompt": lambda: log(unnamed),
        "inspect, zipped": lambda: zipped(log(samples)),
        "promptfoo": lambda: results(requests, named=True),
        "promptfoo, by prompt": lambda: results(requests, named=False),
    }[form]()


@pytest.mark.parametrize(
    "form",
    ["inspect", "inspect, by prompt", "inspect, zipped", "promptfoo", "promptfoo, by prompt"],
)
def test_logs_give_judgments_with_their_tokens_and_only_once(study, pack, form):
    document = written(study, pack, form)

    result = read(study, document)
    again = read(study, document)

    assert (result.decided, again.known, again.runs) == (2 * ITEMS, 2 * ITEMS, ())
    assert set(Judgment.objects.values_list("state", "raw_text")) == {("done", "[[A]]")}
    tokens = Attempt.objects.values_list("prompt_tokens", "completion_tokens", "outcome")
    assert list(tokens) == [(100, 7, "replied")] * 2 * ITEMS
    model = "gpt-2026-01-01" if form.startswith("inspect") else ""
    assert set(Judgment.objects.values_list("model_snapshot", flat=True)) == {model}


def test_replies_by_prompt_are_given_to_the_samples_in_order(study, pack):
    read(study, results(pack[:1], named=False))
    other = results(pack[:1], named=False)
    other["results"]["results"][0]["id"] = "another reply with the same words"

    read(study, other)

    done = Judgment.objects.filter(state="done")
    assert sorted(done.values_list("sample", flat=True)) == [1, 2]
    assert len({judgment.item_id for judgment in done}) == 1
    other["results"]["results"][0]["id"] = "a third reply"
    with pytest.raises(Refused, match="no open request of a pack has this prompt"):
        read(study, other)


def test_a_prompt_that_several_runs_wait_for_needs_the_run(study, pack, tmp_path):
    requests_of(study, tmp_path, "other")
    document = results(pack, named=False)

    with pytest.raises(Refused, match="2 runs have this prompt"):
        read(study, document)
    run = CustomId.read(pack[0]["custom_id"]).run

    assert read(study, document, run=run).runs == (run,)


@pytest.mark.parametrize("by", ["inspect", "promptfoo"])
def test_replies_made_with_other_parameters_are_refused(study, pack, by):
    document = log([sample(pack[0], 1)], temperature=0.0)
    if by == "promptfoo":
        document = results(pack[:1], named=True, temperature=0.0)

    with pytest.raises(Refused, match=r"made with temperature 0\.0, but the pack requires 0\.7"):
        read(study, document)


def test_a_changed_prompt_is_refused_although_the_name_is_right(study, pack):
    changed = sample(pack[0], 1)
    changed["messages"][0] = {"role": "user", "content": "Something else?"}

    with pytest.raises(Refused, match="the reply is to a different prompt"):
        read(study, log([changed]))


def test_a_sample_that_failed_leaves_its_question_open(study, pack):
    failed = sample(pack[0], 1, output={"choices": []}, error={"message": "Timeout"})

    result = read(study, log([failed]))

    assert (result.again, result.decided) == (1, 0)
    attempt = Attempt.objects.exclude(outcome="sent").get()
    assert (attempt.outcome, attempt.error) == ("server_error", "HTTP 503: Timeout")


def test_attached_texts_and_single_prompts_are_read():
    text = "x" * 300
    one = sample({"custom_id": "s", "body": {"messages": [{"role": "user", "content": "-"}]}}, 1)
    one |= {"messages": [], "input": "attachment://abc", "attachments": {"abc": text}}

    (reply,) = raw_replies.read_log("log", log([one]))

    assert reply.prompt_sha256 == prompt_sha256([Message("user", text)])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (json.dumps(log([{}])), "Sample 1: it has no messages, or no readable output"),
        (json.dumps(results([], named=True)), "the file has no replies"),
        (json.dumps({"results": {"results": [{}]}}), "Result 1: it has no prompt"),
        (json.dumps(log([{}]), indent=1)[:-30], "the file ends in the middle of its JSON"),
        ("hello", "line 1 is not JSON"),
    ],
)
def test_damaged_files_are_refused(study, data, words):
    with pytest.raises(Refused, match=words):
        import_raw(study_id=study.pk, files=[File("log", data.encode())])


def test_a_log_packed_with_zstandard_says_what_to_do(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    data = bytearray(zipped(log([])))
    for mark in (b"PK\x01\x02", b"PK\x03\x04"):  # the way of packing in each header
        at = data.index(mark) + (10 if mark == b"PK\x01\x02" else 8)
        data[at : at + 2] = (93).to_bytes(2, "little")

    with pytest.raises(Refused, match=r"packed with Zstandard.*inspect log convert --to json"):
        list(read_raw(File("log.eval", bytes(data))))


def test_names_of_requests_are_read_back():
    name = CustomId.of(run="a-b_C1", judgment=12, attempt=3, prompt_sha256="0123456789abcdef" * 4)

    assert str(name) == "a-b_C1-12-3-0123456789abcdef"
    assert CustomId.read(str(name)) == name
    assert [CustomId.read(text) for text in ("", "12-3", "a-1-1-xyz", f"{name}0")] == [None] * 4


@pytest.mark.nightly
def test_a_large_log_is_read_by_a_child(children, tmp_path):  # noqa: F811
    samples = [{"id": n, "x": "y" * 900} for n in range(900)]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"status": "success", "eval": {}, "samples": samples}))

    assert len(list(read_raw(File(path.name, path)))) > 800
    assert children
