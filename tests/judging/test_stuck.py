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


@pytest.mark.django_db(transaction=True)
def test_a_writer_that_has_ended_refuses_rows_at_once():
    writer = Writer(lambda rows: [None for _ in rows])
    writer.stop()

    with pytest.raises(LedgerFailed, match="has ended"):
        asyncio.run(asyncio.wait_for(writer.write("row"), timeout=5))
