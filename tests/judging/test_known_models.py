"""Models with their prices: what is unknown is said, what is old is marked, refusals come first."""

from datetime import date
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import call_command

from judging.backends.known_models import (
    IMAGES,
    TIES,
    known_model,
    known_models,
    price_remark,
    refused,
)
from judging.backends.presets import presets, public_price
from judging.models import Judge
from judging.runs.judges import add_judge, store_judge
from studies.statements import clock
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge

READ = date(2026, 11, 18)


def test_every_model_has_a_known_provider_a_source_and_no_price_of_nothing():
    for name, known in known_models().items():
        assert known.source.startswith("https://"), name
        assert not known.provider or presets()[known.provider].base_url, name
        assert known.price is None or known.price.input > 0 < known.price.output, name
        assert known.price is None or known.price.day <= (known.price.until or date.max), name
    assert {known.group for known in known_models().values()} == {
        *("paper", "hosted", "open", "earlier"),
    }


def test_the_papers_models_are_of_2024():
    days = [known.known.year for known in known_models().values() if known.group == "paper"]

    assert days == [2024] * 4


@pytest.mark.parametrize(
    "name", ["Qwen/Qwen3.8-27B", "qwen3.8-27b", "Qwen3.8-27B", "gpt-6.2-sol-2026-11-17"]
)
def test_a_model_is_known_by_the_names_that_servers_use(name):
    assert known_model(name) is not None
    assert known_model(f"{name}-of-mine") is None


def test_a_price_holds_at_its_provider_alone():
    there = public_price("https://api.openai.com/v1", "gpt-6.2-sol")

    assert there is not None
    assert (there.input, there.day) == (2, READ)
    assert public_price("http://gpu1:8000/v1", "gpt-6.2-sol") is None
    assert public_price("http://gpu1:8000/v1", "google/gemma-4-31B-it") is None


@pytest.mark.parametrize(
    ("day", "until", "words"),
    [
        (date(2026, 11, 1), None, ""),
        (date(2026, 8, 31), None, ""),
        (date(2026, 8, 30), None, "The price is of 30 August 2026, 91 days old. Compare it with "),
        (None, None, "The price has no date. Compare it with https://prices first."),
        (date(2026, 11, 1), date(2026, 11, 28), "The price ended on 28 November 2026."),
    ],
)
def test_a_price_older_than_90_days_is_marked(day, until, words):
    found = price_remark(day, today=date(2026, 11, 29), until=until, source="https://prices")

    assert found.startswith(words)
    assert bool(found) == bool(words)


def test_a_model_says_what_it_refuses_of_what_is_asked():
    assert "finds no ties" in refused("prometheus-eval/prometheus-7b-v2.0", frozenset({TIES}))[0]
    assert refused("prometheus-7b-v2.0", frozenset()) == []
    assert refused("gpt-3.5-turbo-0125", frozenset({IMAGES}))[0].startswith("GPT-3.5 Turbo")
    assert refused("mock", frozenset({TIES, IMAGES})) == []


@pytest.mark.django_db
def test_a_judge_keeps_the_day_of_its_price(monkeypatch):
    preset = make_judge(name="a", preset="gpt-6.2-sol", model="gpt-6.2-sol")
    entered = make_judge(name="b", base_url="http://gpu/v1", price_input=1, price_output=1)
    own = make_judge(name="c", base_url="http://gpu/v1", price_input=0, price_output=0)

    today = clock.now().date()
    assert (preset.price_day, entered.price_day) == (READ, today)
    assert preset.model_options["leave_out"] == "temperature,top_p"
    assert own.price_remark == ""
    entered.price_day = date(2020, 1, 1)
    assert "1 January 2020" in entered.price_remark
    store_judge(entered, {"price_input": Decimal(2)})
    assert (entered.price_day, entered.price_remark) == (today, "")


@pytest.mark.django_db
def test_an_unknown_price_is_said_and_not_zero():
    out = StringIO()
    call_command("add_judge", "m", preset="mistral-large-4", stdout=out)

    assert "Its price is unknown" in out.getvalue()
    assert Judge.objects.get().price_input is None


@pytest.mark.django_db
def test_the_cost_of_a_run_says_first_what_the_model_refuses_and_how_old_its_price_is():
    study = make_study(allow_tie=True)
    make_item(study=study)
    add_judge(
        name="critic",
        preset="prometheus-7b-v2.0",
        base_url="http://gpu1/v1",
        price_input=Decimal(1),
        price_output=Decimal(1),
        price_day=date(2024, 5, 2),
    )

    out = StringIO()
    call_command("judge", study.slug, judge="critic", setting="tie", dry_run=True, stdout=out)

    assert "Note: Prometheus 2 7B always names one of the responses" in out.getvalue()
    assert "Note: critic: The price is of 2 May 2024" in out.getvalue()
    out = StringIO()
    call_command("judge", study.slug, judge="critic", setting="standard", dry_run=True, stdout=out)
    assert "always names" not in out.getvalue()
