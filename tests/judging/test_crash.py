"""A worker that is killed in mid-run: nothing stored is asked again, nothing is lost."""

from collections import Counter

import pytest

from tests.judging.processes import Site, kill, serving, wait_for, workers_that_end

ITEMS, SLOTS = 120, 8
KILL_AT = 30, 60
# Without those that share a request, which a worker writes later.
ANSWERED = """
    SELECT count(*) FROM judging_judgment WHERE state = 'done' AND asked_with_id IS NULL
"""
STORED = "SELECT id, choice, certainty, answered_at FROM judging_judgment WHERE state = 'done'"
SENT = "SELECT id FROM judging_attempt WHERE outcome = 'sent'"
OUTCOMES = "SELECT outcome, count(*) FROM judging_attempt GROUP BY outcome"
ENDED = "SELECT count(*) FROM judging_judgerun WHERE state = 'done'"


def kill_again_and_again(site, workers, kill_at, of) -> tuple[list[set[tuple]], int]:
    """The answers stored at each kill, and how many requests were under way.

    The server answers as many requests as are stored before a kill, and lets the others wait.
    """
    log, gate = site.folder / "requests.log", site.folder / "gate"
    before: list[set[tuple]] = []
    in_flight: set[tuple] = set()  # some may still be there at the next kill
    for target in kill_at:
        stored = site.sql(ANSWERED)[0][0]
        answered = requests_in(log) + target - stored
        gate.write_text(str(answered))
        wait_for(f"{target} answers", lambda: site.sql(ANSWERED)[0][0] >= target)  # noqa: B023
        wait_for("a request under way", lambda: requests_in(log) > answered)  # noqa: B023
        kill(workers[-1])
        before.append(set(site.sql(STORED)))
        assert target <= len(before[-1]) < of
        sent = site.sql(SENT)
        assert len(sent) <= SLOTS
        in_flight.update(sent)
        site.release()
        workers.append(site.worker())
    gate.write_text("1000000")
    return before, len(in_flight)


def requests_in(log):
    return len(log.read_text().splitlines())


@pytest.mark.sampled(keep=1)
@pytest.mark.e2e
@pytest.mark.sqlite  # test_kills is the same on PostgreSQL
@pytest.mark.parametrize("kind", [(), ("--backend", "decisions", "--wire", "systemone")])
def test_a_worker_killed_again_and_again_loses_nothing_and_asks_nothing_stored_again(
    tmp_path, kind
):
    if kind:
        pytest.importorskip("extras.judge_models")
    site, log = Site(tmp_path), tmp_path / "requests.log"
    with serving(log, gate=tmp_path / "gate") as url, workers_that_end() as workers:
        site.prepare("crash", ITEMS, url, "--concurrency", str(SLOTS), *kind)
        workers.append(site.worker())
        site.manage(["judge", "crash", "--judge", "j", "--setting", "certainty"])
        before, in_flight = kill_again_and_again(site, workers, KILL_AT, ITEMS)
        wait_for("the end of the run", lambda: site.sql(ENDED)[0][0] == 1)

        after = set(site.sql(STORED))
        assert len(after) == ITEMS
        assert all(answers <= after for answers in before)
        assert dict(site.sql(OUTCOMES)) == {"replied": ITEMS, "lost": in_flight}
        asked = Counter(log.read_text().splitlines())
        assert len(asked) == ITEMS
        again = sum(asked.values()) - ITEMS
        # An attempt is written before it is sent: killed in between, it never reached the server.
        assert 0 < again <= in_flight
