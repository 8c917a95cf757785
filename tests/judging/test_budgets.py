"""What a run costs, and budgets that nothing is spent beyond."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.db import connection, transaction
from django.utils import timezone

from judging.engine.interface import AttemptEnd, BudgetInUse, OverBudget, Parameters, Usage
from judging.errors import BadRun
from judging.models import NANO, Attempt, Judge, JudgeRun, Judgment
from judging.runs import study_content
from judging.runs.campaigns import CampaignPlan, start_campaign
from judging.runs.study_content import remove_judgments
from judging.selectors import run_cost
from judging.worker import chunks, ledger, run_states
from judging.worker.ledger import Closing, Opening
from judging.worker.ledger_statements import apply
from tests.factories import make_item, make_study
from tests.invariants import broken_invariants
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion
from tests.judging.processes import wait_for
from tests.judging.run_helpers import judge_all, start, states, study_of

# One token of a prompt costs a thousandth of a dollar, a reply nothing: what a request costs at
# most is known to the cent.
PRICED = {"price_input": 1000, "price_output": 0}


def billed(llm, *, delay=0.0):
    """A server that bills as many tokens of a prompt as it has words."""

    def answer(body, number):
        tokens = len(body["messages"][0]["content"].split())
        reply = completion("[[A]]")
        reply.body = reply.body.replace(b'"prompt_tokens": 100', b'"prompt_tokens": %d' % tokens)
        return Answer(body=reply.body, delay=delay)

    llm.answer = answer


def bill_of(llm):
    """What all that the server was asked costs, by its own count."""
    words = sum(len(body["messages"][0]["content"].split()) for body in llm.requests)
    return Decimal(words) / 1000


def most_of(run):
    """What its dearest request can cost at most, in dollars, and in tokens."""
    rows = ledger.LedgerRows(run, "x", dict(run.judgments.values_list("pk", "shown_first")))
    questions = chunks.questions_of(run, list(run.judgments.select_related("item")))
    openings = [rows.opening(question, 1, Parameters({})) for question in questions]
    nano = max(opening.most_nano or 0 for opening in openings)
    return Decimal(nano) / NANO, max(opening.most.total for opening in openings)


def test_the_cost_is_what_the_server_says_times_the_price(llm, engine):
    judge = make_judge(base_url=llm.url, price_input=Decimal("2.5"), price_output=10)
    study = study_of(3)

    run = judge_all(study, judge)

    each = Decimal("2.5") * 100 / 10**6 + Decimal(10) * 10 / 10**6
    assert run.spent == run_cost(run).dollars == 3 * each
    assert run.tokens == 330


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("slots", [1, 16, 64])
def test_a_budget_is_never_exceeded_however_many_requests_are_under_way(llm, engine, slots):
    judge = make_judge(base_url=llm.url, concurrency=slots, **PRICED)
    study = study_of(80)
    billed(llm, delay=0.01)
    most, _ = most_of(start(study, judge))
    budget = 3 * most

    run = judge_all(study, judge, budget=budget)

    assert run.state == "stopped_budget"
    assert run.spent == bill_of(llm) <= budget
    assert budget - run.spent < most  # used as far as another one at its most had room
    assert run.sentence.startswith(
        f"The budget of ${budget.normalize():f} is too small for another request: "
        f"${run.spent:.4f} spent, and one more can cost up to $0."
    )
    assert run.sentence.endswith("Start the run again with a higher budget.")
    assert states(run) == {"done": len(llm.requests), "pending": 80 - len(llm.requests)}


def test_a_higher_budget_continues_the_run(llm, engine):
    judge = make_judge(base_url=llm.url, concurrency=4, **PRICED)
    study = study_of(6)
    billed(llm)
    most, _ = most_of(start(study, judge))
    first = judge_all(study, judge, budget=most)
    assert (first.state, len(llm.requests) < 6) == ("stopped_budget", True)

    run = judge_all(study, judge, budget=7 * most)

    assert (run.state, len(llm.requests)) == ("done", 6)


def test_a_budget_without_room_for_one_request_asks_nothing(llm, engine):
    judge = make_judge(base_url=llm.url, **PRICED)
    study = study_of(2)

    run = judge_all(study, judge, budget=Decimal("0.05"))

    assert (run.state, llm.requests) == ("stopped_budget", [])
    assert "$0.0000 spent, and one more can cost up to" in run.sentence


def test_a_budget_in_tokens_needs_no_price(judge, llm):
    study = study_of(40)
    _, most = most_of(start(study, judge))
    budget = most + 500

    run = judge_all(study, judge, token_budget=budget)

    assert run.state == "stopped_budget"
    assert budget - most < run.tokens == 110 * len(llm.requests) <= budget
    assert f"{budget:,} tokens is too small for another request: " in run.sentence


def test_requests_that_fail_after_they_left_are_part_of_the_budget(llm, engine):
    judge = make_judge(base_url=llm.url, concurrency=16, outage_seconds=1, **PRICED)
    study = study_of(20)
    llm.answer = lambda body, n: Answer(drops=True)
    most, _ = most_of(start(study, judge))
    budget = 2 * most

    run = judge_all(study, judge, budget=budget)

    assert run.spent == run_cost(run).estimated <= budget
    assert len(llm.requests) <= 2


def test_a_prompt_counts_at_most_a_token_for_each_byte(judge):
    study = make_study()
    make_item(study=study, question="Was wählt „江南春“?")
    run = start(study, judge)
    question = chunks.questions_of(run, list(run.judgments.all()))[0]

    most = ledger.LedgerRows(run, "x", {question.id: "r1"}).most(question)

    (prompt,) = question.asking
    assert most.prompt_tokens >= len(prompt.text.encode()) > len(prompt.text)
    assert most.completion_tokens == 1024


def test_a_reply_whose_usage_nobody_told_counts_at_most_and_says_so(llm, engine):
    judge = make_judge(base_url=llm.url, thinking_tokens=500, price_input=0, price_output=1)
    study = study_of(1)
    reply = completion("[[A]]")
    llm.answer = lambda body, n: Answer(body=reply.body.replace(b'"usage"', b'"no_usage"'))

    run = judge_all(study, judge)

    # What it thought does not show in its words: all the room that it had.
    assert run.spent == run_cost(run).estimated == Decimal(1524) / 10**6


def test_output_tokens_that_a_server_leaves_out_are_not_free(llm, engine):
    judge = make_judge(base_url=llm.url, price_input=0, price_output=1000)
    body = json.loads(completion("[[A]]").body)
    del body["usage"]["completion_tokens"], body["usage"]["total_tokens"]
    llm.answer = lambda _, n: Answer(body=json.dumps(body).encode())

    run = judge_all(study_of(1), judge)

    assert run.spent == run_cost(run).estimated > 0


def test_tries_that_break_off_count_what_the_server_states(llm, engine):
    judge = make_judge(base_url=llm.url, price_input=1000, price_output=1000)
    failed = {"error": {"code": 502, "message": "x"}, "message": {"content": ""}}
    stated = {"prompt_tokens": 20, "completion_tokens": 0}
    broken = json.dumps({"choices": [failed], "usage": stated}).encode()
    llm.answer = lambda _, n: Answer(body=broken) if n == 1 else completion("[[A]]")

    run = judge_all(study_of(1), judge)

    assert run.spent == Decimal(20 + 110) / 1000
    assert not run_cost(run).estimated


def test_unknown_prices_are_not_free(judge, llm):
    study = study_of(1)

    with pytest.raises(BadRun, match="no price, so budget cannot be checked"):
        start(study, judge, budget=Decimal(1))


def test_a_price_that_is_gone_in_mid_run_ends_a_run_with_a_budget(llm, engine):
    judge = make_judge(base_url=llm.url, price_input=1, price_output=1)
    study = study_of(2)
    run = start(study, judge, budget=Decimal(1))
    Judge.objects.update(price_input=None, price_output=None)

    run = judge_all_again(run)

    assert (run.state, llm.requests) == ("stopped_budget", [])
    assert "has no price" in run.sentence


def judge_all_again(run):
    chunks.judge_chunk(run_id=run.pk)
    run.refresh_from_db()
    return run


# What follows writes to the ledger as several workers do.


@pytest.fixture
def runs(transactional_db):
    """Two runs of one campaign, none of whose requests costs more than 10."""
    study = study_of(30)
    for name in ("one", "two"):
        make_judge(name=name, base_url="http://127.0.0.1:9/v1", price_input=1, price_output=1)
    plan = CampaignPlan("Both", ["one", "two"], orders=["r1_first"])
    campaign = start_campaign(study_id=study.pk, plan=plan, enqueue=False)
    runs = list(campaign.runs.order_by("pk"))
    for run in runs:
        run.judgments.update(state="leased", lease="x", leased_until=timezone.now())
    return SimpleNamespace(campaign=campaign, runs=runs)


def openings_of(run, count, *, start=0, tokens=10):
    return [
        Opening(run.pk, pk, 1, timezone.now(), tokens * NANO, Usage(tokens, 0))
        for pk in run.judgments.order_by("pk").values_list("pk", flat=True)[start : start + count]
    ]


def closing_of(opening, *, spent):
    usage = Usage(spent, 0)
    return Closing(
        opening.run_id,
        0,
        opening.judgment_id,
        "x",
        opening.number,
        AttemptEnd("replied", 1),
        usage,
        False,
        spent * NANO,
        1,
        None,
        choice="",
        probabilities=None,
        details=None,
        earlier=None,
        freezes=False,
    )


def sent():
    return Attempt.objects.filter(outcome="sent").count()


def set_budget(holder, dollars=None, tokens=None):
    type(holder).objects.filter(pk=holder.pk).update(budget=dollars, token_budget=tokens)


@pytest.mark.parametrize("money", [True, False])
def test_what_is_under_way_is_held_until_it_is_known_what_it_cost(runs, money):
    run = runs.runs[0]
    set_budget(run, **({"dollars": 25} if money else {"tokens": 25}))
    first = openings_of(run, 3)

    refusals = apply(first)

    assert [type(refusal) for refusal in refusals] == [type(None), type(None), BudgetInUse]
    # One of them turns out to have cost 4 of its 10: now there is room for the third.
    assert apply([closing_of(first[0], spent=4), first[2]]) == [None, None]
    # Nothing is under way any more, and 12 are spent of 25: one more has room, two have not.
    apply([closing_of(opening, spent=4) for opening in first[1:]])
    more = openings_of(run, 2, start=3)
    assert [type(r) for r in apply(more)] == [type(None), BudgetInUse]
    apply([closing_of(more[0], spent=10)])
    (over,) = apply([more[1]])
    assert isinstance(over, OverBudget)
    assert "one more can cost up to" in str(over) or "one more can use up to" in str(over)


def test_the_budget_of_a_campaign_holds_for_all_its_runs(runs):
    set_budget(runs.campaign, dollars=25)
    one, two = runs.runs
    (mine,) = openings_of(one, 1)
    assert apply([mine, *openings_of(two, 1)]) == [None, None]

    (crowded,) = apply(openings_of(two, 1, start=1))
    assert isinstance(crowded, BudgetInUse)
    apply([closing_of(mine, spent=9)])
    (still,) = apply(openings_of(two, 1, start=1))

    assert isinstance(still, BudgetInUse)
    assert sent() == 1


def test_what_a_killed_worker_had_under_way_is_spent_at_its_most(runs):
    run = runs.runs[0]
    set_budget(run, dollars=25, tokens=100)
    apply(openings_of(run, 2))

    run_states.give_back(run.pk, Judgment.objects.filter(run=run))

    run.refresh_from_db()
    assert (run.spent, run.tokens) == (20, 20)
    (over,) = apply(openings_of(run, 1, start=2))
    assert isinstance(over, OverBudget)


def test_a_request_in_flight_at_the_removal_of_a_person_is_counted_when_it_ends(runs):
    run = runs.runs[0]
    first, second = openings_of(run, 2)
    apply([first, second])
    item = Judgment.objects.get(pk=first.judgment_id).item

    with transaction.atomic():
        remove_judgments(run.study, [item.pk])
    apply([closing_of(first, spent=4), closing_of(second, spent=3)])

    run.refresh_from_db()
    assert (run.spent, run.tokens) == (7, 7)
    assert run.parameters["removed_requests"] == {"nano": 4 * NANO, "tokens": 4, "retries": 0}
    assert broken_invariants("run-totals") == []


def test_a_reply_that_comes_after_its_request_counts_as_lost_is_counted_once(runs):
    run = runs.runs[0]
    set_budget(run, dollars=25, tokens=25)
    first, second = openings_of(run, 2)
    apply([first, second])
    # The worker is alive, but was silent for longer than its lease.
    run_states.give_back(run.pk, Judgment.objects.filter(run=run))

    apply([closing_of(first, spent=4)])

    run.refresh_from_db()
    assert (run.spent, run.tokens, run.retries) == (14, 14, 1)
    assert run_cost(run).dollars == run.spent
    assert apply(openings_of(run, 1, start=2)) == [None]


def test_what_a_batch_holds_is_not_waited_for(runs):
    run = runs.runs[0]
    set_budget(run, dollars=15)
    apply(openings_of(run, 1))
    run.judgments.update(leased_until=timezone.now() + timedelta(days=30))

    (over,) = apply(openings_of(run, 1, start=1))

    assert isinstance(over, OverBudget)
    assert "$10.0000 reserved for open batches" in str(over)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("holder", ["run", "campaign"])
def test_workers_that_write_at_the_same_time_give_no_room_away_twice(runs, holder):
    set_budget(runs.campaign if holder == "campaign" else runs.runs[0], dollars=105)
    gate = threading.Barrier(4)

    def work(number):
        run = runs.runs[number % 2 if holder == "campaign" else 0]
        gate.wait()
        try:
            for opening in openings_of(run, 7, start=number * 7):
                if apply([opening]) == [None]:
                    apply([closing_of(opening, spent=8)])
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))

    spent = sum(JudgeRun.objects.values_list("spent_nano", flat=True)) / NANO
    assert 95 < spent <= 105
    assert sent() == 0


# Everybody who locks a run and its judgments locks the run first.


@pytest.mark.postgres
def test_a_reply_comes_in_the_middle_of_the_removal_of_its_judgment(runs, monkeypatch):
    run = runs.runs[0]
    [opening] = openings_of(run, 1)
    apply([opening])
    item = Judgment.objects.get(pk=opening.judgment_id).item
    closing = closing_of(opening, spent=4)

    with meanwhile(monkeypatch, study_content, "_pass_on", lambda: apply([closing])):
        with transaction.atomic():
            remove_judgments(run.study, [item.pk])

    run.refresh_from_db()
    assert (run.spent, run.parameters["removed_requests"]["nano"]) == (4, 4 * NANO)
    assert broken_invariants("run-totals") == []


@pytest.mark.postgres
def test_a_judgment_is_removed_in_the_middle_of_a_sweep_of_leases(runs, monkeypatch):
    run = runs.runs[0]
    [opening] = openings_of(run, 1)
    apply([opening])
    item = Judgment.objects.get(pk=opening.judgment_id).item
    remove = transaction.atomic(lambda: remove_judgments(run.study, [item.pk]))

    with meanwhile(monkeypatch, run_states, "give_back", remove):
        assert run_states.release_expired(run_id=run.pk) == {run.pk: 30}

    run.refresh_from_db()
    assert (run.spent, run.parameters["removed_requests"]["nano"]) == (10, 10 * NANO)
    assert broken_invariants("run-totals") == []


@contextmanager
def meanwhile(monkeypatch, module, name: str, work: Callable[[], object]) -> Iterator[None]:
    """Before a call of `name`, in a transaction, start `work` elsewhere until it waits for this."""
    original = getattr(module, name)

    def elsewhere():
        try:
            work()
        finally:
            connection.close()

    def someone_waits():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT FROM pg_locks WHERE NOT granted"
                " AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
            )
            return cursor.fetchone() is not None

    with ThreadPoolExecutor(1) as pool:
        started = []

        def begin(*arguments):
            started.append(pool.submit(elsewhere))
            wait_for("a session that waits for this one", someone_waits)
            return original(*arguments)

        monkeypatch.setattr(module, name, begin)
        yield
        started[0].result(timeout=60)
