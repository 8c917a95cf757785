"""What watches a run sees every chunk and every request, also the failed ones."""

from contextlib import contextmanager

import pytest

from judging.watching import MORE
from judging.worker import chunks
from tests.judging.llm_server import completion, error
from tests.judging.run_helpers import judge_all, study_of

SEEN: list[object] = []


class Watcher:
    name = "stand-in"

    @contextmanager
    def chunk(self, run):
        def watch(parameters):
            SEEN.append(("sent", parameters.values["model"]))
            return lambda end, reply: SEEN.append(
                (end.outcome, end.status, reply and reply.usage.total)
            )

        SEEN.append(("begins", run.pk))
        yield watch
        SEEN.append("ends")


WATCHER = Watcher()


@pytest.fixture
def seen(monkeypatch) -> list[object]:
    monkeypatch.setattr("judging.watching.MORE", [WATCHER])
    SEEN.clear()
    return SEEN


def test_a_watcher_sees_each_request_within_its_chunk(judge, llm, monkeypatch, seen):
    monkeypatch.setattr(chunks, "CHUNK", 2)
    llm.answer = lambda body, n: error(500) if n == 1 else completion("A]]")

    run = judge_all(study_of(3), judge)

    assert (run.state, seen[0], seen[-1]) == ("done", ("begins", run.pk), "ends")
    assert seen.count("ends") == 2
    assert seen.count(("sent", "mock")) == 4
    ended = [each for each in seen if each[0] == "replied"]
    assert len(ended) == 3
    assert all(tokens for *_, tokens in ended)
    assert len([each for each in seen if each[1:] == (500, None)]) == 1


def test_nothing_watches_unless_an_extra_adds_it():
    assert [watcher.name for watcher in MORE] in ([], ["telemetry"])
