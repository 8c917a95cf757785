"""Nobody waits for ever: not for a request that never ends, not for a writer that is gone."""

import asyncio

import pytest

from judging.engine.openai import OpenAIBackend
from judging.engine.protocol import LedgerFailed
from judging.models import Judgment
from judging.services import chunks, runs
from judging.services.writer import Writer
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion


@pytest.mark.django_db(transaction=True)
def test_questions_of_a_chunk_that_does_not_move_are_asked_again(llm, engine, monkeypatch):
    study = make_study()
    make_items(study, 3)
    judge = make_judge(base_url=llm.url, timeout_seconds=1, outage_seconds=1)
    monkeypatch.setattr(chunks, "_RENEW_SECONDS", 0.05)
    monkeypatch.setattr(chunks, "_RESERVE_SECONDS", 0.0)
    ask = OpenAIBackend.ask
    never_ended: list[int] = []

    async def ask_or_hang(self, question, *, seed):
        if not never_ended:
            never_ended.append(question.id)
            await asyncio.Event().wait()
        return await ask(self, question, seed=seed)

    monkeypatch.setattr(OpenAIBackend, "ask", ask_or_hang)

    run = runs.start_run(study_id=study.pk, judge_id=judge.pk, enqueue=False)
    runs.work_off(run_id=run.pk)

    run.refresh_from_db()
    assert run.state == "done"
    assert set(run.judgments.values_list("state", flat=True)) == {Judgment.State.DONE}
    stuck = Judgment.objects.get(pk=never_ended[0])
    assert list(stuck.attempts.values_list("outcome", flat=True)) == ["lost", "replied"]


def test_a_row_that_cannot_be_written_takes_neither_the_others_nor_the_writer_down():
    written = []

    def apply(rows):
        if "bad" in rows:
            raise ValueError("no such character")
        written.extend(rows)
        return [None for _ in rows]

    async def scenario():
        rows = [writer.write(row) for row in ("good", "bad", "fair")]
        return await asyncio.wait_for(asyncio.gather(*rows, return_exceptions=True), timeout=5)

    writer = Writer(apply)
    try:
        good, bad, fair = asyncio.run(scenario())
        asyncio.run(asyncio.wait_for(writer.write("later"), timeout=5))
    finally:
        writer.stop()

    assert (good, fair) == (None, None)
    assert isinstance(bad, LedgerFailed)
    assert written == ["good", "fair", "later"]


@pytest.mark.django_db(transaction=True)
def test_half_a_character_and_a_nul_in_a_reply_are_stored_without(llm, engine):
    llm.answer = lambda body, n: completion("[[A]] \ud83d\x00!")
    study = make_study()
    make_items(study, 1)
    judge = make_judge(base_url=llm.url)

    run = runs.start_run(study_id=study.pk, judge_id=judge.pk, enqueue=False)
    runs.work_off(run_id=run.pk)

    assert run.judgments.get().raw_text == "[[A]] ?!"


@pytest.mark.django_db(transaction=True)
def test_a_writer_that_has_ended_refuses_rows_at_once():
    writer = Writer(lambda rows: [None for _ in rows])
    writer.stop()

    with pytest.raises(LedgerFailed, match="has ended"):
        asyncio.run(asyncio.wait_for(writer.write("row"), timeout=5))
