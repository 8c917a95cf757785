"""What a run costs, and budgets that are kept."""

from decimal import Decimal

import pytest

from judging.errors import BadRun
from judging.selectors import run_cost
from tests.factories import make_item, make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import Answer, completion
from tests.judging.working import judge_all, start, states


def test_the_cost_is_what_the_server_says_times_the_price(llm, engine):
    judge = make_judge(base_url=llm.url, price_input=Decimal("2.5"), price_output=10)
    study = make_study()
    make_items(study, 3)

    run = judge_all(study, judge)

    each = Decimal("2.5") * 100 / 10**6 + Decimal(10) * 10 / 10**6
    assert run.spent == run_cost(run).dollars == 3 * each
    assert run.tokens == 330


def test_a_budget_is_checked_before_every_request(llm, engine):
    judge = make_judge(base_url=llm.url, price_input=1000, price_output=0, concurrency=1)
    study = make_study()
    make_items(study, 10)

    run = judge_all(study, judge, budget=Decimal("0.25"))  # a request costs 0.10

    assert run.state == "stopped_budget"
    assert run.sentence.startswith("The budget of $0.25 is used up: $0.3000 spent.")
    assert len(llm.requests) == 3
    assert states(run) == {"done": 3, "pending": 7}


def test_a_budget_is_exceeded_by_no_more_than_what_is_under_way(llm, engine):
    judge = make_judge(base_url=llm.url, price_input=1000, price_output=0, concurrency=8)
    study = make_study()
    make_items(study, 60)
    llm.answer = lambda body, n: Answer(body=completion("[[A]]").body, delay=0.01)

    run = judge_all(study, judge, budget=Decimal(2))

    assert run.state == "stopped_budget"
    assert 20 <= len(llm.requests) <= 20 + 8


def test_a_higher_budget_continues_the_run(llm, engine):
    judge = make_judge(base_url=llm.url, price_input=1000, price_output=0, concurrency=1)
    study = make_study()
    make_items(study, 4)
    judge_all(study, judge, budget=Decimal("0.15"))

    run = judge_all(study, judge, budget=Decimal(5))

    assert (run.state, len(llm.requests)) == ("done", 4)


def test_a_budget_in_tokens_needs_no_price(judge, llm):
    study = make_study()
    make_items(study, 40)
    make_judge(concurrency=1)

    run = judge_all(study, judge, token_budget=500)

    assert run.state == "stopped_budget"
    assert "500 tokens" in run.sentence
    assert len(llm.requests) == 5


def test_unknown_prices_are_not_free(judge, llm):
    study = make_study()
    make_item(study=study)

    with pytest.raises(BadRun, match="no price, so a budget cannot be kept: unknown is not free"):
        start(study, judge, budget=Decimal(1))
