"""A worker that is killed in mid-run: nothing stored is asked again, nothing is lost."""

import os
import signal
import subprocess
import sys
from collections import Counter

import pytest

from tests.judging.processes import ROOT, Site, wait_for, write_items

ITEMS, SLOTS = 120, 8
KILL_AT = 30, 60


@pytest.mark.e2e
@pytest.mark.sqlite  # test_kills is the same on PostgreSQL
def test_a_worker_killed_again_and_again_loses_nothing_and_asks_nothing_stored_again(tmp_path):
    site = Site(tmp_path)
    log = tmp_path / "requests.log"
    log.touch()
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.judging.llm_server", "--log", str(log), "--delay", "0.15"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    workers = []
    try:
        url = server.stdout.readline().strip()
        write_items(tmp_path / "items.jsonl", ITEMS)
        site.migrate()
        site.manage(
            ["import_items", "crash", str(tmp_path / "items.jsonl"), "--create"],
            ["add_judge", "j", "--model", "m", "--base-url", url, "--concurrency", "8"],
        )
        workers.append(site.worker())
        site.manage(["judge", "crash", "--judge", "j", "--setting", "certainty"])

        answered = "SELECT count(*) FROM judging_judgment WHERE state = 'done'"
        stored = "SELECT id, choice, certainty, answered_at FROM judging_judgment"
        before: list[set[tuple]] = []
        in_flight = 0
        for target in KILL_AT:
            wait_for(f"{target} answers", lambda: site.sql(answered)[0][0] >= target)  # noqa: B023
            os.killpg(workers[-1].pid, signal.SIGKILL)
            workers[-1].wait()
            before.append(set(site.sql(f"{stored} WHERE state = 'done'")))
            assert target <= len(before[-1]) < ITEMS
            sent = "SELECT count(*) FROM judging_attempt WHERE outcome = 'sent'"
            now_in_flight = site.sql(sent)[0][0]
            assert now_in_flight <= SLOTS
            in_flight += now_in_flight
            # Instead of waiting until the dead worker's leases run out.
            site.sql(
                "UPDATE judging_judgment SET leased_until = '2020-01-01 00:00:00'"
                " WHERE state = 'leased'"
            )
            workers.append(site.worker())
            site.sweep()
        ended = "SELECT count(*) FROM judging_judgerun WHERE state = 'done'"
        wait_for("the end of the run", lambda: site.sql(ended)[0][0] == 1)

        after = set(site.sql(f"{stored} WHERE state = 'done'"))
        assert len(after) == ITEMS
        assert all(answers <= after for answers in before)
        outcomes = dict(site.sql("SELECT outcome, count(*) FROM judging_attempt GROUP BY outcome"))
        assert outcomes == {"replied": ITEMS, "lost": in_flight}
        asked = Counter(log.read_text().splitlines())
        assert len(asked) == ITEMS
        again = sum(asked.values()) - ITEMS
        # An attempt is written before it is sent: killed in between, it never reached the server.
        assert 0 < again <= in_flight
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.terminate()
                worker.wait(timeout=60)
        server.kill()
        server.wait()
        server.stdout.close()
