"""Two workers that share a budget, one of which is killed: nothing is spent beyond it."""

from decimal import Decimal

import pytest

from tests.judging.processes import Site, kill, serving, wait_for, workers_that_end

ITEMS, SLOTS, BUDGET = 200, 16, 12
EACH = Decimal("0.1")  # the server bills 100 tokens of a prompt, at a thousandth of a dollar each


@pytest.mark.nightly  # With --all. test_crash kills workers.
@pytest.mark.e2e
@pytest.mark.sqlite  # test_budgets writes to the ledger from several threads on PostgreSQL
def test_two_workers_one_of_them_killed_never_spend_more_than_the_budget(tmp_path):
    site, log = Site(tmp_path), tmp_path / "requests.log"
    with serving(log, delay=0.2) as url, workers_that_end() as workers:
        prices = ["--price-input", "1000", "--price-output", "0"]
        site.prepare("money", ITEMS, url, "--concurrency", str(SLOTS), *prices)
        workers += [site.worker(log=name) for name in ("one.log", "two.log")]
        site.manage(["judge", "money", "--judge", "j", "--budget", str(BUDGET), "--yes"])
        answered = "SELECT count(*) FROM judging_judgment WHERE state = 'done'"
        wait_for("20 answers", lambda: site.sql(answered)[0][0] >= 20)
        kill(workers[0])
        site.release()
        state = "SELECT state FROM judging_judgerun"
        wait_for("the end of the run", lambda: site.sql(state)[0][0] == "stopped_budget")
        sent = "SELECT count(*) FROM judging_attempt WHERE outcome = 'sent'"
        wait_for("the last answers", lambda: site.sql(sent)[0][0] == 0)

        ((nano, sentence),) = site.sql("SELECT spent_nano, sentence FROM judging_judgerun")
        asked = len(log.read_text().splitlines())
        assert asked * EACH <= Decimal(nano) / 10**9 <= BUDGET
        assert "is too small for another request" in sentence
        # How much of the rest the killed worker had reserved depends on the machine.
        assert asked > 20
