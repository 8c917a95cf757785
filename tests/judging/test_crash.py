"""A worker that is killed in mid-run: nothing stored is asked again, nothing is lost."""

from collections import Counter

import pytest

from tests.judging.processes import Site, kill, serving, wait_for, workers_that_end, write_items

ITEMS, SLOTS = 120, 8
KILL_AT = 30, 60
SETS, PAIRS = 40, 3  # of three responses each
TOKENS = 110  # that the server counts for each request
# Without the other pairs of a set, which a worker writes later.
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


@pytest.mark.sampled(keep=2, group="kills")
@pytest.mark.e2e
@pytest.mark.sqlite  # test_kills is the same on PostgreSQL
def test_a_worker_killed_again_and_again_loses_nothing_and_asks_nothing_stored_again(tmp_path):
    site, log = Site(tmp_path), tmp_path / "requests.log"
    with serving(log, gate=tmp_path / "gate") as url, workers_that_end() as workers:
        write_items(tmp_path / "items.jsonl", ITEMS)
        site.migrate()
        site.manage(
            ["import_items", "crash", str(tmp_path / "items.jsonl"), "--create"],
            ["add_judge", "j", "--model", "m", "--base-url", url, "--concurrency", str(SLOTS)],
        )
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


@pytest.mark.sampled(keep=2, group="kills")
@pytest.mark.e2e
@pytest.mark.sqlite
def test_rankings_of_sets_survive_kills_and_cost_what_the_server_counted(tmp_path):
    site, log = Site(tmp_path), tmp_path / "requests.log"
    with serving(log, gate=tmp_path / "gate") as url, workers_that_end() as workers:
        write_items(tmp_path / "items.jsonl", SETS, words=("yes", "no", "maybe"))
        site.migrate()
        judge = ["add_judge", "j", "--model", "m", "--base-url", url, "--concurrency", str(SLOTS)]
        items = ["import_items", "sets", str(tmp_path / "items.jsonl"), "--create"]
        site.manage(
            [*items, "--option", "pairs=all"],
            [*judge, "--price-input", "1", "--price-output", "1"],
        )
        workers.append(site.worker())
        site.manage(["judge", "sets", "--judge", "j", "--setting", "listwise", "--yes"])
        before, in_flight = kill_again_and_again(site, workers, (8, 20), SETS * PAIRS)
        wait_for("the end of the run", lambda: site.sql(ENDED)[0][0] == 1)

        after = set(site.sql(STORED))
        assert len(after) == SETS * PAIRS
        assert all(answers <= after for answers in before)
        lone = "SELECT count(*) FROM judging_judgment WHERE asked_with_id IS NULL"
        assert site.sql(lone) == [(SETS,)]
        outcomes = {"replied": SETS, **({"lost": in_flight} if in_flight else {})}
        assert dict(site.sql(OUTCOMES)) == outcomes
        asked = Counter(log.read_text().splitlines())
        requests = sum(asked.values())
        assert len(asked) == SETS
        assert SETS <= requests <= SETS + in_flight
        paid = "SELECT sum(prompt_tokens + completion_tokens), sum(cost_nano) FROM judging_attempt"
        tokens, nano = site.sql(f"{paid} WHERE outcome = 'replied'")[0]
        assert (tokens, nano) == (SETS * TOKENS, SETS * TOKENS * 1000)
        # What the server may have worked on for a dead worker counts at its most.
        lost = site.sql(f"{paid} WHERE outcome = 'lost'")[0][1] or 0
        assert lost >= (requests - SETS) * TOKENS * 1000
        assert site.sql("SELECT sum(spent_nano) FROM judging_judgerun") == [(nano + lost,)]
