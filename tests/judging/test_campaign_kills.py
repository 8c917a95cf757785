"""A campaign of wordings, framings, orders and judges whose worker is killed twice."""

from collections import Counter

import pytest

from tests.judging.processes import Site, kill, serving, wait_for, workers_that_end, write_items

ITEMS = 4
JUDGES = ("one", "two", "three")
WORDINGS = {
    "short": "{{ persona }}\n{{ question }}A: {{ response_a }}\nB: {{ response_b }}\n[[",
    "plain": "{{ persona }}\n{{ question }}{{ response_a }} or {{ response_b }}? [[",
    "kind": "Please read: {{ persona }}\n{{ question }}{{ response_a }} / {{ response_b }} [[",
}
# 3 judges × 4 wordings × 2 framings × 2 orders
QUESTIONS = len(JUDGES) * (len(WORDINGS) + 1) * 2 * 2 * ITEMS
KILL_AT = 50, 120
TOKENS = 110  # that the server counts for each request
PLAN = """
name = "multiverse"
judges = ["one", "two", "three"]
orders = ["r1_first", "r2_first"]
wordings = ["", "short", "plain", "kind"]
framings = ["observer", "persona"]
"""


@pytest.mark.nightly  # With --all. test_crash kills workers.
@pytest.mark.e2e
@pytest.mark.sqlite  # test_kills kills workers on PostgreSQL
def test_a_campaign_killed_twice_is_complete_and_costs_what_the_server_counted(tmp_path):
    site, log = Site(tmp_path), tmp_path / "requests.log"
    with serving(log, delay=0.1) as url, workers_that_end() as workers:
        write_items(tmp_path / "items.jsonl", ITEMS)
        (tmp_path / "plan.toml").write_text(PLAN)
        for name, text in WORDINGS.items():
            (tmp_path / f"{name}.txt").write_text(text)
        prices = ["--price-input", "1", "--price-output", "1", "--concurrency", "4"]
        site.migrate()
        site.manage(
            ["import_items", "c", str(tmp_path / "items.jsonl"), "--create"],
            *(["import_wording", "c", str(tmp_path / f"{n}.txt"), "--name", n] for n in WORDINGS),
            *(["add_judge", j, "--model", j, "--base-url", url, *prices] for j in JUDGES),
        )
        workers.append(site.worker())
        site.manage(["campaign", "c", str(tmp_path / "plan.toml")])

        answered = "SELECT count(*) FROM judging_judgment WHERE state = 'done'"
        in_flight = 0
        for target in KILL_AT:
            wait_for(f"{target} answers", lambda: site.sql(answered)[0][0] >= target)  # noqa: B023
            kill(workers[-1])
            sent = "SELECT count(*) FROM judging_attempt WHERE outcome = 'sent'"
            in_flight += site.sql(sent)[0][0]
            site.release()
            workers.append(site.worker())
        open_ = "SELECT count(*) FROM judging_judgerun WHERE state <> 'done'"
        wait_for("the end of the campaign", lambda: site.sql(open_)[0][0] == 0, seconds=240)

        runs = "SELECT count(*), count(DISTINCT prompt_hash || orders) FROM judging_judgerun"
        assert site.sql(runs) == [(48, 16)]
        assert site.sql(answered) == [(QUESTIONS,)]
        outcomes = dict(site.sql("SELECT outcome, count(*) FROM judging_attempt GROUP BY outcome"))
        assert outcomes == {"replied": QUESTIONS, **({"lost": in_flight} if in_flight else {})}
        asked = Counter(log.read_text().splitlines())
        requests = sum(asked.values())
        # An attempt is written before it is sent: killed in between, it never reached the server.
        assert QUESTIONS <= requests <= QUESTIONS + in_flight
        paid = "SELECT sum(prompt_tokens + completion_tokens), sum(cost_nano) FROM judging_attempt"
        tokens, nano = site.sql(f"{paid} WHERE outcome = 'replied'")[0]
        assert (tokens, nano) == (QUESTIONS * TOKENS, QUESTIONS * TOKENS * 1000)
        # What the server may have worked on for a dead worker counts at its most.
        lost = site.sql(f"{paid} WHERE outcome = 'lost'")[0][1] or 0
        assert lost >= (requests - QUESTIONS) * TOKENS * 1000
        spent = site.sql("SELECT sum(spent_nano) FROM judging_judgerun")[0][0]
        assert spent == nano + lost
