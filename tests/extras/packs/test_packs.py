"""Packs: requests out, raw replies in, and the same judgments as over the network."""

import asyncio
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analysis.exports.rows import judgment_table
from demo.llm_server import SimulatedServer
from demo.truth import SEED, World
from extras.packs import batches
from extras.packs.lines import CustomId
from extras.packs.models import Pack
from extras.packs.packing import WITH_PACK, write_pack
from extras.packs.reading import import_raw
from judging import tasks
from judging.models import Attempt, Judge, JudgeRun, Judgment
from judging.runs import lifecycle
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from judging.worker import chunks, run_states
from studies.importers.files.bundle import File, file_at
from studies.importers.files.faults import Refused
from studies.models import Study
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion
from tests.judging.run_helpers import judge_all, states
from tests.judging.simulated import demo_study
from tests.judging.with_media import HELLO, SEES, away
from tests.judging.with_media import make as with_files
from tests.judging.with_media import of as contents
from tests.studies.media_files import needs_media

LIMIT = 12
PRICES = {"price_input": Decimal(10), "price_output": Decimal(30)}


def answers(folder: Path, server: Any, *, change=lambda row: row) -> bytes:
    """What `vllm run-batch` writes when a server answers the requests of a pack."""
    lines: list[Any] = []
    for path in sorted(folder.glob("requests*.jsonl")):
        for line in path.read_text().splitlines():
            request = json.loads(line)
            body = json.dumps(request["body"]).encode()
            reply = asyncio.run(server.respond(request["method"], request["url"], body))
            row = {
                "id": f"vllm-{len(lines)}",
                "custom_id": request["custom_id"],
                "response": {
                    "status_code": reply.status,
                    "request_id": f"vllm-batch-{len(lines)}",
                    "body": json.loads(reply.body),
                },
                "error": None,
            }
            lines.append(change(row))
    return b"".join(json.dumps(row).encode() + b"\n" for row in lines if row)


def read(study: Study, *contents: bytes) -> Any:
    files = [File(f"replies-{n}.jsonl", data) for n, data in enumerate(contents, start=1)]
    return import_raw(study_id=study.pk, files=files)


def rounds(spec: RunSpec, study: Study, server: SimulatedServer, folder: Path) -> int:
    """Pack, answer and import until nothing is open; return how many packs that took."""
    for number in range(1, 7):
        run = write_pack(spec, folder / f"pack-{number}").run
        read(study, answers(folder / f"pack-{number}", server))
        run.refresh_from_db()
        if run.state == JudgeRun.State.DONE:
            return number
    raise AssertionError(run.sentence)


def spec_of(study: Study, judge: Judge, **options: Any) -> RunSpec:
    return RunSpec(study_id=study.pk, judge_id=judge.pk, **options)


def names_in(folder: Path) -> list[str]:
    lines = (folder / "requests.jsonl").read_text().splitlines()
    return [json.loads(line)["custom_id"] for line in lines]


def exported(study: Study) -> list[bytes]:
    """The export of judgments, without the time at which each was answered."""
    rows = [dict(row) | {"answered_at": None} for row in judgment_table(study)]
    return [json.dumps(row).encode() for row in rows]


@pytest.mark.nightly
@pytest.mark.slow
def test_a_pack_gives_the_same_export_as_asking_over_the_network(engine, llm, tmp_path):
    """Byte for byte but for the time; no column of the export holds what a request cost."""
    study = demo_study(tmp_path)
    online = SimulatedServer(World(SEED))

    def reply(body: dict[str, Any], number: int) -> Answer:
        found = asyncio.run(
            online.respond("POST", "/v1/chat/completions", json.dumps(body).encode())
        )
        return Answer(found.status, found.body)

    llm.answer = reply
    judge = make_judge(base_url=llm.url, model="demo-steady", **PRICES)
    options = {"limit": 40, "setting": "certainty", "samples": 2}
    run = judge_all(study, judge, **options)
    expected, sent = exported(study), len(llm.requests)
    bodies = sorted(json.dumps(body, sort_keys=True) for body in llm.requests)
    usage = sorted(
        run.judgments.values_list("attempts__prompt_tokens", "attempts__completion_tokens")
    )
    spent = run.spent_nano
    assert run.judgments.filter(replies__gt=1).exists()  # some were asked again
    Attempt.objects.all().delete()
    Judgment.objects.all().delete()
    JudgeRun.objects.all().delete()

    spec = spec_of(study, judge, **options)
    assert rounds(spec, study, SimulatedServer(World(SEED)), tmp_path) > 1

    run = JudgeRun.objects.get()
    assert exported(study) == expected
    assert len(llm.requests) == sent  # nothing was asked over the network
    packed = [
        json.dumps(json.loads(line)["body"], sort_keys=True)
        for path in tmp_path.glob("pack-*/requests.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert sorted(packed) == bodies
    found = run.judgments.values_list("attempts__prompt_tokens", "attempts__completion_tokens")
    assert sorted(found) == usage
    assert run.spent_nano == spent // 2  # as in a batch


@pytest.fixture
def study(transactional_db) -> Study:
    study = make_study()
    make_items(study, LIMIT)
    return study


@pytest.fixture
def judge(study) -> Judge:
    return make_judge(base_url="http://127.0.0.1:9/v1", model="demo-steady", **PRICES)


class Steady:
    """Answers every request with A."""

    async def respond(self, method: str, path: str, body: bytes) -> Answer:
        return completion("[[A]]")


@pytest.fixture
def server() -> Steady:
    return Steady()


def everything() -> list[Any]:
    """All rows that an import can change."""
    return [
        list(model.objects.order_by("pk").values()) for model in (JudgeRun, Judgment, Attempt, Pack)
    ]


def test_no_worker_asks_what_is_in_a_pack(study, judge, tmp_path, monkeypatch):
    run = write_pack(spec_of(study, judge), tmp_path / "pack").run

    queued: list[int] = []
    assert tasks.recover_runs(at_start=True) == 0
    assert batches.follow_batches(queue=queued.append) == 0
    assert not run_states.release_expired()
    assert chunks.judge_chunk(run_id=run.pk) == 0
    lifecycle.resume_run(run_id=run.pk)
    start_run(spec_of(study, judge), enqueue=False)

    run.refresh_from_db()
    assert (run.state, run.sentence, queued) == ("paused", WITH_PACK, [])
    assert states(run) == {"leased": LIMIT}
    assert set(Attempt.objects.values_list("outcome", flat=True)) == {"sent"}


def test_a_folder_that_cannot_be_written_leaves_no_run(study, judge, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "note.txt").write_text("mine")

    with pytest.raises(Exception, match=r"exists already\. Choose a new or empty folder"):
        write_pack(spec_of(study, judge), tmp_path / "pack")

    assert not JudgeRun.objects.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["pack"]


def test_a_crash_while_writing_leaves_neither_folder_nor_run(study, judge, tmp_path, monkeypatch):
    def die(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("extras.packs.packing.version", die)
    with pytest.raises(KeyboardInterrupt):
        write_pack(spec_of(study, judge), tmp_path / "pack")

    assert not JudgeRun.objects.exists()
    assert not list(tmp_path.iterdir())


def test_a_pack_holds_what_is_needed_to_read_it_and_no_key(study, judge, tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", "sk-very-secret-key")
    Judge.objects.update(api_key_env="JUDGE_KEY")

    pack = write_pack(spec_of(study, judge, orders="both"), tmp_path / "pack")

    assert pack.requests == 2 * LIMIT
    texts = {path.name: path.read_text() for path in (tmp_path / "pack").iterdir()}
    assert set(texts) == {"requests.jsonl", "manifest.json", "README.txt"}
    assert not any("sk-very-secret-key" in text or "JUDGE_KEY" in text for text in texts.values())
    manifest = json.loads(texts["manifest.json"])
    requests = [json.loads(line) for line in texts["requests.jsonl"].splitlines()]
    assert [row["custom_id"] for row in requests] == [
        row["custom_id"] for row in manifest["requests"]
    ]
    assert [row["body"]["seed"] for row in requests] == [
        row["seed"] for row in manifest["requests"]
    ]
    run = JudgeRun.objects.get()
    assert (manifest["run"], manifest["run_key"], manifest["reading"]) == (
        run.public_id,
        run.key,
        "lenient",
    )
    assert manifest["parameters"]["temperature"] == 0.7
    assert manifest["files"][0]["requests"] == 2 * LIMIT
    assert all(len(row["custom_id"]) <= 64 for row in requests)


def test_files_keep_to_the_limits_of_providers(study, judge, tmp_path, monkeypatch):
    monkeypatch.setattr("extras.packs.lines.MAX_REQUESTS", 5)

    write_pack(spec_of(study, judge), tmp_path / "pack")

    sizes = {
        path.name: len(path.read_text().splitlines())
        for path in (tmp_path / "pack").glob("*.jsonl")
    }
    assert sizes == {"requests-001.jsonl": 5, "requests-002.jsonl": 5, "requests-003.jsonl": 2}


def test_a_second_import_changes_nothing(study, judge, server, tmp_path):
    write_pack(spec_of(study, judge), tmp_path / "pack")
    replies = answers(tmp_path / "pack", server)
    first = read(study, replies)
    before = everything()

    second = read(study, replies)

    assert (first.decided, first.known) == (LIMIT, 0)
    assert (second.decided, second.known, second.runs) == (0, LIMIT, ())
    assert everything() == before
    assert JudgeRun.objects.get().sentence == f"{LIMIT} of {LIMIT} answered."


def test_a_second_pack_holds_what_is_open_under_the_same_names(study, judge, server, tmp_path):
    spec = spec_of(study, judge)
    write_pack(spec, tmp_path / "one")
    names = names_in(tmp_path / "one")
    kept = set(names[:3])
    replies = answers(tmp_path / "one", server, change=lambda r: r["custom_id"] in kept and r)
    result = read(study, replies)

    write_pack(spec, tmp_path / "two")

    assert result.missing == LIMIT - 3
    assert names_in(tmp_path / "two") == names[3:]
    assert Attempt.objects.count() == LIMIT
    # Replies to the first pack are as good as those to the second.
    rest = answers(tmp_path / "one", server, change=lambda r: r["custom_id"] not in kept and r)
    assert read(study, rest).decided == LIMIT - 3
    assert JudgeRun.objects.get().state == "done"
    with pytest.raises(Exception, match="nothing to pack"):
        write_pack(spec, tmp_path / "three")


def test_unreadable_replies_stay_open_up_to_the_ceiling(study, judge, server, tmp_path):
    def unreadable(row):
        row["response"]["body"]["choices"][0]["message"]["content"] = "Hm."
        return row

    for number in range(1, 6):
        write_pack(spec_of(study, judge, limit=1), tmp_path / f"{number}")
        result = read(study, answers(tmp_path / f"{number}", server, change=unreadable))
        judgment = Judgment.objects.get()
        expected = "unparseable" if number == 5 else "pending"
        assert (judgment.state, judgment.replies) == (expected, number)
        assert (result.again, result.decided) == (int(number < 5), int(number == 5))

    run = JudgeRun.objects.get()
    assert run.state == "done"
    seeds = [
        json.loads((tmp_path / f"{n}/requests.jsonl").read_text())["body"]["seed"]
        for n in range(1, 6)
    ]
    assert seeds == [seeds[0] + n for n in range(5)]  # as over the network


def test_error_lines_are_counted_and_their_questions_asked_again(study, judge, server, tmp_path):
    names: list[str] = []

    def fail(row):
        names.append(row["custom_id"])
        match len(names):
            case 1:  # a provider's line of a request that was never processed
                return {**row, "response": None, "error": {"code": "batch_expired"}}
            case 2:
                row["response"] |= {"status_code": 500, "body": {"error": {"message": "broken"}}}
            case 3:  # vllm: an error has no body
                return {
                    **row,
                    "response": {"status_code": 400, "request_id": "x", "body": None},
                    "error": {"error": {"message": "too long", "code": 400}},
                }
            case 4:
                row["response"]["body"]["choices"][0]["message"]["refusal"] = "I decline."
        return row

    write_pack(spec_of(study, judge), tmp_path / "pack")
    result = read(study, answers(tmp_path / "pack", server, change=fail))

    outcomes = {
        attempt.judgment_id: (attempt.outcome, attempt.status_code, attempt.judgment.state)
        for attempt in Attempt.objects.select_related("judgment")
    }
    ids = [int(name.rsplit("-", 3)[1]) for name in names]
    assert [outcomes[pk] for pk in ids[:5]] == [
        ("expired", 503, "pending"),
        ("server_error", 500, "pending"),
        ("rejected", 400, "error"),
        ("replied", 200, "refused"),
        ("replied", 200, "done"),
    ]
    assert (result.decided, result.again) == (LIMIT - 2, 2)
    run = JudgeRun.objects.get()
    assert run.state == "paused"
    assert run.sentence.startswith("2 of its questions have no readable reply yet.")


@pytest.mark.parametrize("bad", [[1], [1, 2], [LIMIT]])
def test_an_item_that_a_firewall_blocks_does_not_stop_the_others(
    study, judge, server, tmp_path, bad
):
    names: list[str] = []

    def block(row):
        names.append(row["custom_id"])
        if len(names) in bad:
            row["response"] |= {"status_code": 403, "body": {"message": "You have been blocked"}}
        return row

    def block_the_same(row):
        if row["custom_id"].rsplit("-", 3)[1] in blocked:
            row["response"] |= {"status_code": 403, "body": {"message": "You have been blocked"}}
        return row

    spec = spec_of(study, judge)
    write_pack(spec, tmp_path / "one")
    read(study, answers(tmp_path / "one", server, change=block))
    blocked = {names[number - 1].rsplit("-", 3)[1] for number in bad}
    run = JudgeRun.objects.get()
    if states(run).get("pending"):
        write_pack(spec, tmp_path / "two")
        read(study, answers(tmp_path / "two", server, change=block_the_same))

    run.refresh_from_db()
    assert (run.state, states(run)) == ("done", {"done": LIMIT - len(bad), "error": len(bad)})


def test_a_refused_parameter_is_left_out_of_the_next_pack(study, judge, server, tmp_path):
    def refuse(row):
        message = "Unsupported parameter: 'temperature' is not supported with this model."
        error = {"message": message, "code": "unsupported_parameter", "param": "temperature"}
        row["response"] |= {"status_code": 400, "body": {"error": error}}
        return row

    spec = spec_of(study, judge)
    write_pack(spec, tmp_path / "one")
    read(study, answers(tmp_path / "one", server, change=refuse))
    assert states(JudgeRun.objects.get()) == {"pending": LIMIT}

    write_pack(spec, tmp_path / "two")
    read(study, answers(tmp_path / "two", server))

    run = JudgeRun.objects.get()
    assert states(run) == {"done": LIMIT}
    assert all("temperature" not in j.sent_with.parameters for j in run.judgments.all())


def _other_id(row, name):
    return {**row, "custom_id": name(row["custom_id"])}


BAD = {
    "is not the name of a request of a pack": lambda row: _other_id(row, lambda n: "request-1"),
    "not of this study": lambda row: _other_id(row, lambda n: f"x{n}"),
    "another prompt": lambda row: _other_id(row, lambda n: n[:-16] + "0" * 16),
    "needs custom_id, and response or error": lambda row: {"custom_id": row["custom_id"]},
}


@pytest.mark.parametrize("words", BAD)
def test_a_reply_that_does_not_belong_is_refused_with_its_line(
    study, judge, server, tmp_path, words
):
    write_pack(spec_of(study, judge), tmp_path / "pack")
    rows = [json.loads(line) for line in answers(tmp_path / "pack", server).splitlines()]
    rows[4] = BAD[words](rows[4])
    before = everything()

    with pytest.raises(Refused, match=words) as refused:
        read(study, b"".join(json.dumps(row).encode() + b"\n" for row in rows))

    assert refused.value.faults[0].line == 5
    assert refused.value.faults[0].remedy
    assert everything() == before


def test_doubled_and_cut_off_lines_are_refused(study, judge, server, tmp_path):
    write_pack(spec_of(study, judge), tmp_path / "pack")
    replies = answers(tmp_path / "pack", server)
    before = everything()

    with pytest.raises(Refused, match="Line 13: there is an earlier reply to the same request at"):
        read(study, replies + replies.splitlines(keepends=True)[2])
    with pytest.raises(Refused, match=r"at Line 1 of replies-1\.jsonl"):
        read(study, replies, replies)
    with pytest.raises(Refused, match="Line 12: the file ends in the middle of this line"):
        read(study, replies[:-40])
    with pytest.raises(Refused, match="these are the requests of a pack, not replies"):
        read(study, (tmp_path / "pack/requests.jsonl").read_bytes())
    with pytest.raises(Refused, match="the file is empty"):
        read(study, b"")
    with pytest.raises(Refused, match="the format of this file is unknown"):
        read(study, b'{"a": 1}')

    assert everything() == before
    read(study, replies)
    with pytest.raises(Refused, match="there is an earlier reply to the same request"):
        read(study, replies + replies.splitlines(keepends=True)[2])


def test_another_reply_to_an_answered_request_is_refused(study, judge, server, tmp_path):
    write_pack(spec_of(study, judge), tmp_path / "pack")
    read(study, answers(tmp_path / "pack", server))

    def other(row):
        row["response"]["body"]["choices"][0]["message"]["content"] = "[[B]] after all"
        return row

    with pytest.raises(Refused, match="this request already has a different reply"):
        read(study, answers(tmp_path / "pack", server, change=other))


def test_a_discarded_pack_is_asked_here_and_its_replies_are_refused(
    study, judge, server, tmp_path, llm, engine
):
    Judge.objects.update(base_url=llm.url)
    write_pack(spec_of(study, judge), tmp_path / "pack")

    out = io.StringIO()
    call_command(
        "judge", study.slug, "--judge", "judge", "--discard-pack", "--inline", "--yes", stdout=out
    )

    run = JudgeRun.objects.get()
    assert (run.state, len(llm.requests)) == ("done", LIMIT)
    expired = Attempt.objects.filter(outcome="expired")
    assert (expired.count(), sum(a.cost_nano or 0 for a in expired)) == (LIMIT, 0)
    with pytest.raises(Refused, match="its pack was discarded"):
        read(study, answers(tmp_path / "pack", server))


def test_a_pack_keeps_to_the_budget(study, judge, server, tmp_path):
    pack = write_pack(spec_of(study, judge, budget=Decimal("0.06")), tmp_path / "pack")

    assert 0 < pack.requests < LIMIT
    assert pack.most_nano <= 60_000_000
    assert len((tmp_path / "pack/requests.jsonl").read_text().splitlines()) == pack.requests
    assert states(pack.run) == {"leased": pack.requests, "pending": LIMIT - pack.requests}
    read(study, answers(tmp_path / "pack", server))
    assert JudgeRun.objects.get().sentence.startswith(f"{LIMIT - pack.requests} of its questions")


def test_the_commands_write_a_pack_and_read_its_replies(study, judge, server, tmp_path):
    out = io.StringIO()
    pack = tmp_path / "pack"
    call_command("judge", study.slug, "--judge", "judge", "--pack", str(pack), stdout=out)
    assert f"Wrote {LIMIT} requests of run {JudgeRun.objects.get().public_id} to" in out.getvalue()
    (tmp_path / "replies.jsonl").write_bytes(answers(pack, server))

    files = [str(tmp_path / "replies.jsonl")]
    call_command("import_judgments", study.slug, *files, "--raw", stdout=out)

    assert f"Read {LIMIT} new replies: {LIMIT} decided a judgment." in out.getvalue()
    for options, words in {
        ("--raw", "--judge", "x"): "Leave --judge out",
        (): "Name the judge with --judge",
    }.items():
        with pytest.raises(CommandError, match=words):
            call_command("import_judgments", study.slug, *files, *options)
    with pytest.raises(CommandError, match="not replies") as refused:
        call_command("import_judgments", study.slug, str(pack / "requests.jsonl"), "--raw")
    assert "--skip-faulty" not in str(refused.value)
    to_pack = ("--judge", "judge", "--pack", str(tmp_path / "other"))
    for options, words in {
        ("--probe",): "--pack asks nothing here, so --probe cannot",
    }.items():
        with pytest.raises(CommandError, match=words):
            call_command("judge", study.slug, *to_pack, *options)


def test_a_judge_without_chat_completions_has_no_pack(study, tmp_path):
    (tmp_path / "replies.jsonl").write_text("")
    judge = make_judge(backend="replay", model=str(tmp_path / "replies.jsonl"))

    with pytest.raises(Exception, match="packs need chat completions"):
        write_pack(spec_of(study, judge), tmp_path / "pack")


def test_names_of_requests_are_read_back():
    name = CustomId.of(run="a-b_C1", judgment=12, attempt=3, prompt_sha256="0123456789abcdef" * 4)

    assert str(name) == "a-b_C1-12-3-0123456789abcdef"
    assert CustomId.read(str(name)) == name
    assert [CustomId.read(text) for text in ("", "12-3", "a-1-1-xyz", f"{name}0")] == [None] * 4


@needs_media
def test_pictures_and_sounds_are_in_a_pack(transactional_db, tmp_path, settings):
    settings.VAR_DIR = tmp_path
    study = with_files(tmp_path)

    write_pack(spec_of(study, away(**SEES)), tmp_path / "pack")

    line = (tmp_path / "pack/requests.jsonl").read_text().splitlines()[0]
    parts = json.loads(line)["body"]["messages"][0]["content"]
    assert next(each[1] for each in contents(parts) if isinstance(each, tuple)) == HELLO


def test_files_are_read_from_a_disk(study, judge, server, tmp_path):
    write_pack(spec_of(study, judge), tmp_path / "pack")
    (tmp_path / "replies.jsonl").write_bytes(answers(tmp_path / "pack", server))

    result = import_raw(study_id=study.pk, files=[file_at(tmp_path / "replies.jsonl")])

    assert str(result) == f"Read {LIMIT} new replies: {LIMIT} decided a judgment."
