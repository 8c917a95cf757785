"""A worker that is killed while a judge ranks sets: nothing is asked again, all is paid once."""

from collections import Counter

import pytest

from tests.judging.processes import Site, serving, wait_for, workers_that_end, write_items
from tests.judging.test_crash import (
    ENDED,
    OUTCOMES,
    SLOTS,
    STORED,
    kill_again_and_again,
)

SETS, PAIRS = 40, 3  # of three responses each
TOKENS = 110  # that the server counts for each request


@pytest.mark.nightly  # With --all. test_crash kills workers.
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
