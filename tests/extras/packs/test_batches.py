"""Asking by batch: handed in once, collected once, at the lower price, whatever dies between."""

import json
from dataclasses import replace
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from extras.packs import batches, ledger
from extras.packs.lines import RawReply
from extras.packs.models import Pack
from extras.packs.provider import BatchClient, BatchError
from judging import tasks
from judging.backends.openai import Server
from judging.errors import BadRun
from judging.models import Attempt, Judgment
from judging.runs import lifecycle
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from judging.selectors import run_cost
from judging.worker import chunks, runtime
from tests.factories import make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion, error
from tests.judging.run_helpers import called_by
from tests.judging.simulated import demo_study, simulated_server
from tests.studies.media_files import import_zip, needs_media, picture, sound, with_media, zipped

pytestmark = pytest.mark.slow

LIMIT = 24


@pytest.fixture(scope="module")
def server():
    with simulated_server("--batch-seconds", "0.2") as simulated:
        yield simulated


@pytest.fixture
def study(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "_SHORTEST_POLL", 0.1)
    monkeypatch.setattr(batches, "_LONGEST_POLL", 0.3)
    return demo_study(tmp_path, items=60)


@pytest.fixture
def judge(server):
    return make_judge(
        base_url=server.url, model="demo-steady", price_input=Decimal(10), price_output=Decimal(30)
    )


def start(study, judge, **options):
    options = {"limit": LIMIT, "setting": "certainty", "by_batch": True} | options
    return start_run(RunSpec(study_id=study.pk, judge_id=judge.pk, **options), enqueue=False)


def finish(run):
    lifecycle.work_off(run_id=run.pk)
    run.refresh_from_db()
    return run


@pytest.mark.nightly
def test_a_run_by_batch_ends_like_any_other_at_half_the_price(study, judge, server):
    before = server.requests()["received"]

    run = finish(start(study, judge))

    assert (run.state, run.judgments.filter(state="done").count()) == ("done", LIMIT)
    assert server.requests()["received"] == before + 1  # the one question that is asked first
    first = run.judgments.order_by("pk").first()
    full = Attempt.objects.filter(judgment=first, outcome="replied").first()
    half = Attempt.objects.filter(judgment__run=run, outcome="replied").exclude(judgment=first)
    for attempt, share in [(full, 1), *[(attempt, 2) for attempt in half]]:
        price = attempt.prompt_tokens * 10_000 + attempt.completion_tokens * 30_000
        assert attempt.cost_nano == price // share
    assert run.spent_nano == sum(
        Attempt.objects.filter(judgment__run=run).values_list("cost_nano", flat=True)
    )
    batch = run.packs.first()
    assert (batch.state, batch.requests, batch.answered) == ("read", LIMIT - 1, LIMIT - 1)


@needs_media
def test_pictures_and_sounds_are_in_the_file(engine, judge, tmp_path, settings, monkeypatch):
    settings.VAR_DIR = tmp_path
    monkeypatch.setattr(batches, "_SHORTEST_POLL", 0.1)
    items = [with_media(n, "x/a.png", "x/b.wav") for n in range(3)]
    files = {"x/a.png": picture(), "x/b.wav": sound()}
    study = make_study(slug="pictures")
    import_zip(study.slug, zipped(tmp_path / "i.zip", items, files))
    judge.takes_images = judge.takes_audio = True
    judge.save()

    run = finish(start(study, judge, limit=None, setting="standard"))

    assert (run.state, run.sentence) == ("done", "3 of 3 answered.")
    assert run.packs.get().requests == 2


@pytest.mark.nightly
def test_unparseable_replies_are_asked_again_in_another_batch(study, judge):
    run = finish(start(study, judge, limit=None, orders="both"))

    assert run.state == "done"
    again = run.judgments.filter(state="done", replies=2).count()
    assert again > 0
    assert run.packs.count() >= 2
    assert run.packs.all()[1].requests >= again


@pytest.mark.nightly
def test_a_file_holds_no_more_bytes_than_a_provider_takes(study, judge, monkeypatch):
    submit = BatchClient.submit
    sizes = []

    def weigh_and_submit(self, file, *, metadata):
        sizes.append((file.stat().st_size, len(file.read_bytes().splitlines())))
        return submit(self, file, metadata=metadata)

    monkeypatch.setattr(BatchClient, "submit", weigh_and_submit)
    monkeypatch.setattr(ledger, "MAX_BYTES", 12_000)

    run = finish(start(study, judge))

    assert run.judgments.filter(state="done").count() == LIMIT
    assert len(sizes) > 2
    assert all(size <= 12_000 for size, _ in sizes)
    asked = Attempt.objects.filter(judgment__run=run).count()
    assert sum(lines for _, lines in sizes) == asked - 1  # one is asked at once


@pytest.mark.nightly
def test_a_question_longer_than_a_file_may_be_goes_alone(study, judge, monkeypatch):
    monkeypatch.setattr(ledger, "MAX_BYTES", 1)

    run = finish(start(study, judge, limit=3))

    assert run.state == "done"
    assert list(run.packs.values_list("requests", flat=True)) == [1, 1]


def test_a_crash_before_the_provider_was_told_hands_in_once(study, judge, server, monkeypatch):
    def die(self, file, *, metadata):
        raise KeyboardInterrupt

    run = start(study, judge)
    with monkeypatch.context() as patch:
        patch.setattr(BatchClient, "submit", die)
        with pytest.raises(KeyboardInterrupt):
            batches.advance_run(run_id=run.pk)
    known = len(server.batches())

    finish(run)

    assert len(server.batches()) == known + run.packs.count()
    assert run.judgments.filter(state="done").count() == LIMIT
    assert not run.judgments.filter(attempts__outcome="lost").exists()


def test_a_crash_after_the_provider_was_told_finds_the_batch_by_its_name(
    study, judge, server, monkeypatch
):
    submit = BatchClient.submit

    def submit_and_die(self, file, *, metadata):
        submit(self, file, metadata=metadata)
        raise KeyboardInterrupt

    run = start(study, judge)
    with monkeypatch.context() as patch:
        patch.setattr(BatchClient, "submit", submit_and_die)
        with pytest.raises(KeyboardInterrupt):
            batches.advance_run(run_id=run.pk)
    known = server.batches()
    assert known[0]["metadata"] == {
        "thirdperson_run": run.public_id,
        "thirdperson_batch": run.packs.get().public_id,
    }

    finish(run)

    later = run.packs.count() - 1
    assert len(server.batches()) == len(known) + later  # nothing was handed in, or paid for, twice
    assert run.packs.first().provider_id == known[0]["id"]
    assert run.judgments.filter(state="done").count() == LIMIT


def test_a_crash_while_collecting_stores_the_rest_and_nothing_twice(study, judge, monkeypatch):
    """Also not what was read before the crash and has to be asked again."""
    monkeypatch.setattr(ledger, "PORTION", 10)
    read, unreadable = RawReply.read, set[str]()

    def read_some(self, question, *, is_structured):
        reply = read(self, question, is_structured=is_structured)
        if question.replies or len(unreadable | {self.custom_id}) > 3:
            return reply
        unreadable.add(self.custom_id)
        return replace(reply, text="Hm.")

    monkeypatch.setattr(RawReply, "read", read_some)
    run = start(study, judge)
    batches.advance_run(run_id=run.pk)
    apply, calls = ledger.store_rows, []

    def apply_and_die(rows):
        calls.append(rows)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return apply(rows)

    with monkeypatch.context() as patch:
        patch.setattr(ledger, "store_rows", apply_and_die)
        with pytest.raises(KeyboardInterrupt):
            lifecycle.work_off(run_id=run.pk)
    assert 0 < run.judgments.filter(state="done").count() < LIMIT

    finish(run)

    attempts = Attempt.objects.filter(judgment__run=run)
    assert run.state == "done"
    assert set(attempts.values_list("outcome", flat=True)) == {"replied"}
    assert run.spent_nano == sum(attempts.values_list("cost_nano", flat=True))


@pytest.mark.nightly
def test_what_an_expired_batch_did_not_answer_is_not_paid_for_and_asked_again(study, judge, server):
    run = start(study, judge)
    server.fault("batch_expires")

    finish(run)

    assert run.judgments.filter(state="done").count() == LIMIT
    expired = Attempt.objects.filter(judgment__run=run, outcome="expired")
    assert expired.count() == (LIMIT - 1) - (LIMIT - 1) // 2
    assert set(expired.values_list("cost_nano", flat=True)) == {0}
    assert run.packs.first().sentence.startswith("Expired: ")


@pytest.mark.nightly
def test_what_a_complete_batch_does_not_mention_counts_at_the_most_it_can_have_cost(
    study, judge, server
):
    run = start(study, judge)
    server.fault("batch_loses")

    finish(run)

    assert run.judgments.filter(state="done").count() == LIMIT
    lost = Attempt.objects.filter(judgment__run=run, outcome="lost")
    assert lost.count() == (LIMIT - 1) - (LIMIT - 1) // 2
    assert run_cost(run).estimated == Decimal(sum(lost.values_list("cost_nano", flat=True))) / 10**9


def test_a_batch_that_the_provider_refuses_stops_the_run_and_costs_nothing(study, judge, server):
    run = start(study, judge)
    server.fault("batch_fails")

    finish(run)

    assert run.state == "stopped_outage"
    assert "refused the batch: The file cannot be read (simulated)." in run.sentence
    assert run.packs.get().state == "failed"
    rejected = Attempt.objects.filter(judgment__run=run, outcome="rejected")
    assert rejected.count() == LIMIT - 1
    assert not run.judgments.exclude(state__in=["pending", "done"]).exists()


def test_a_server_without_batches_is_said_to_have_none(study, llm):
    judge = make_judge(name="live only", base_url=llm.url)
    run = start(study, judge)

    finish(run)

    assert run.state == "stopped_outage"
    assert run.sentence.startswith("The server does not accept a batch:")


@pytest.mark.nightly
def test_a_batch_never_holds_more_than_the_budget_has_room_for(study, judge):
    run = start(study, judge, token_budget=12_000)
    batches.advance_run(run_id=run.pk)

    batch = run.packs.get()
    assert 0 < batch.requests < LIMIT
    run.refresh_from_db()
    assert run.tokens + batch.most_tokens <= 12_000

    finish(run)

    assert run.state == "stopped_budget"
    assert run.tokens <= 12_000


def test_a_run_that_is_cancelled_cancels_its_batch_and_keeps_what_came(study, judge, server):
    run = start(study, judge)
    batches.advance_run(run_id=run.pk)
    lifecycle.cancel_run(run_id=run.pk)

    batches.advance_run(run_id=run.pk)
    assert server.batches()[0]["status"] in {"cancelling", "cancelled", "completed"}
    while run.packs.filter(state__in=Pack.OPEN).exists():
        batches.advance_run(run_id=run.pk)

    run.refresh_from_db()
    assert run.state == "cancelled"
    assert run.judgments.filter(state="done").count() > 1
    assert not run.judgments.filter(state="leased").exists()
    client = BatchClient(Server(base_url=server.url, api_key="", timeout=9))
    provider_id = run.packs.get().provider_id
    ended = client.status(provider_id)
    client.cancel(provider_id)  # too late, as it is when a batch ends while it is cancelled
    assert client.status(provider_id) == ended


def test_the_sweep_and_live_workers_leave_a_batch_alone(study, judge):
    run = start(study, judge)
    batches.advance_run(run_id=run.pk)
    Judgment.objects.filter(run=run, state="leased").update(leased_until="2020-01-01T00:00Z")

    assert called_by(tasks.recover_runs) == []
    assert run.judgments.filter(state="leased").count() == LIMIT - 1
    assert chunks.judge_chunk(run_id=run.pk) == 0
    finish(run)


def test_the_beat_queues_a_step_for_each_run_with_batches(study, judge):
    run = start(study, judge)
    queued: list[int] = []

    assert batches.follow_batches(queue=queued.append) == 1
    assert queued == [run.pk]
    finish(run)
    assert batches.follow_batches(queue=queued.append) == 0


def test_only_judges_behind_a_server_are_asked_by_batch(study, tmp_path):
    (tmp_path / "replies.jsonl").write_text("")
    recorded = make_judge(name="r", backend="replay", model=str(tmp_path / "replies.jsonl"))

    with pytest.raises(BadRun, match="Judge “r” cannot be asked by batch"):
        start(study, recorded)


def test_the_command_and_the_page_show_the_batches(study, judge, server, admin_client):
    out = StringIO()

    call_command(
        "judge",
        "demo",
        "--judge",
        "judge",
        "--batch",
        "--inline",
        "--limit",
        "5",
        stdout=out,
        stderr=StringIO(),
    )

    assert "5 of 5 answered" in out.getvalue()
    run = study.judge_runs.get()
    page = admin_client.get(reverse("judging:run", args=["demo", run.public_id]))
    assert run.packs.first().provider_id in page.content.decode()


def test_a_command_that_cannot_hand_in_fails(study, llm):
    make_judge(name="live only", base_url=llm.url)

    with pytest.raises(CommandError, match="does not accept a batch"):
        call_command(
            "judge",
            "demo",
            "--judge",
            "live only",
            "--batch",
            "--inline",
            "--limit",
            "3",
            stdout=StringIO(),
            stderr=StringIO(),
        )


def test_a_provider_that_is_down_may_be_asked_again():
    client = BatchClient(Server(base_url="http://127.0.0.1:9/v1", api_key="", timeout=9))

    with pytest.raises(BatchError, match="cannot be reached") as caught:
        client.status("batch-1")

    assert not caught.value.is_final


REJECTIONS = [
    (error(401, "no such key"), 1, "refuses the key"),
    (error(400, "x/y is not a valid model ID"), 1, "knows no such model"),
    (error(400, "Model Not Exist"), 1, "knows no such model"),
    (error(402, "Insufficient balance"), 1, "no quota left"),
    (error(400, "Bad request"), 9, "rejected the first 3 questions"),
]


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(("answer", "requests", "words"), REJECTIONS)
def test_a_file_is_not_handed_in_where_the_first_questions_were_rejected(
    study, llm, monkeypatch, answer, requests, words
):
    llm.answer = lambda body, n: answer
    monkeypatch.setattr(BatchClient, "submit", lambda *args, **options: pytest.fail("handed in"))
    judge = make_judge(name="rejecting", base_url=llm.url, model="mock", concurrency=1)

    run = finish(start(study, judge))

    assert (run.state, len(llm.requests), run.packs.count()) == ("stopped_outage", requests, 0)
    assert words in run.sentence


def test_a_first_question_that_alone_is_rejected_does_not_keep_the_others(study, llm, monkeypatch):
    llm.answer = lambda body, n: error(400, "too long") if n == 1 else completion("[[A]] [[7]]")
    handed_in = []

    def submit(self, file, *, metadata):
        handed_in.extend(file.read_text().splitlines())
        raise BatchError("that is enough", is_final=True)

    monkeypatch.setattr(BatchClient, "submit", submit)
    judge = make_judge(name="picky", base_url=llm.url, model="mock", concurrency=1)

    run = finish(start(study, judge))

    assert (len(llm.requests), len(handed_in)) == (2, LIMIT - 2)
    assert run.sentence == "that is enough"


def test_a_file_is_sent_as_its_ledger_says_though_another_process_hands_it_in(
    study, llm, monkeypatch
):
    """What the first question taught the process that died is in the ledger, not in its memory."""
    refusal = error(400, "Unsupported parameter: 'temperature'")
    llm.answer = lambda body, n: refusal if "temperature" in body else completion("[[A]] [[7]]")
    lines: list[dict[str, object]] = []

    def die(self, file, *, metadata):
        raise KeyboardInterrupt

    def submit(self, file, *, metadata):
        lines.extend(json.loads(line)["body"] for line in file.read_text().splitlines())
        raise BatchError("that is enough", is_final=True)

    run = start(study, make_judge(name="other", base_url=llm.url, model="mock"))
    with monkeypatch.context() as patch:
        patch.setattr(BatchClient, "submit", die)
        with pytest.raises(KeyboardInterrupt):
            batches.advance_run(run_id=run.pk)
    runtime.shut_down()
    monkeypatch.setattr(BatchClient, "submit", submit)
    monkeypatch.setattr(BatchClient, "find", lambda self, *, metadata: "")
    Pack.objects.update(busy_until=None)

    batches.advance_run(run_id=run.pk)

    assert len(lines) == LIMIT - 1
    assert all("temperature" not in body and "seed" in body for body in lines)
    sent = Attempt.objects.filter(judgment__run=run, number=1).exclude(outcome="replied")
    assert {"temperature" in attempt.sent_with.parameters for attempt in sent[2:]} == {False}


def test_a_batch_that_an_older_version_handed_in_is_collected(study, judge, monkeypatch):
    """Its requests have names without the run and the prompt."""
    run = start(study, judge)
    batches.advance_run(run_id=run.pk)
    content = BatchClient.content

    def with_older_names(self, file_id):
        rows = [json.loads(line) for line in content(self, file_id).splitlines()]
        for row in rows:
            row["custom_id"] = "-".join(row["custom_id"].rsplit("-", 3)[1:3])
        return b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    monkeypatch.setattr(BatchClient, "content", with_older_names)
    finish(run)

    assert run.judgments.filter(state="done").count() == LIMIT
    assert not Attempt.objects.exclude(outcome="replied").exists()


def test_lines_of_a_provider_that_cannot_be_read_are_passed_over(study, judge, monkeypatch):
    """A line ends only at a line feed: replies may hold other line ends."""
    run = start(study, judge)
    batches.advance_run(run_id=run.pk)
    content = BatchClient.content

    def damaged(self, file_id):
        rows = [json.loads(line) for line in content(self, file_id).splitlines()]
        for row in rows:
            choice = row["response"]["body"]["choices"][0]
            choice["message"]["content"] += "\u2028\x85 Because."
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        return "\n".join(["", "{", "[]", '{"response": {}}', "7", *lines]).encode()

    monkeypatch.setattr(BatchClient, "content", damaged)
    finish(run)

    assert run.judgments.filter(state="done").count() == LIMIT
    assert not Attempt.objects.exclude(outcome="replied").exists()
