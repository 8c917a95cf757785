from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from judging.backends.backend import api_key
from judging.errors import BadJudge
from judging.models import Judge
from judging.runs.judges import add_judge
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from judging.worker.endpoints import settings_of
from tests.judging.run_helpers import study_of


def add(*arguments):
    out = StringIO()
    call_command("add_judge", *arguments, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_a_judge_is_added_with_the_papers_sampling():
    out = add("llama", "--model", "llama-3", "--base-url", "http://gpu:8000/v1")

    judge = Judge.objects.get()
    assert out == "Judge “llama” added: llama-3 at http://gpu:8000/v1.\n"
    assert (judge.backend, judge.temperature, judge.top_p) == ("openai", 0.7, 0.95)
    assert (judge.price_input, judge.api_key_env) == (None, "")


@pytest.mark.django_db
def test_a_preset_brings_the_papers_snapshot_and_what_it_must_not_judge():
    add("gpt", "--preset", "gpt-4o-2024-05-13")

    judge = Judge.objects.get()
    assert (judge.model, judge.base_url) == ("gpt-4o-2024-05-13", "https://api.openai.com/v1")
    assert set(judge.own_sources) == {"openai", "gpt"}


@pytest.mark.django_db
def test_the_same_call_again_changes_nothing_and_an_option_changes_only_itself():
    add("j", "--model", "m", "--base-url", "http://a/v1", "--concurrency", "4")
    add("j", "--leave-out", "seed")
    add("j", "--leave-out", "")
    assert "is up to date" in add("j", "--model", "m", "--base-url", "http://a/v1")

    add("j", "--base-url", "http://b/v1", "--price-input", "2.5", "--price-output", "10")

    judge = Judge.objects.get()
    assert (judge.base_url, judge.concurrency, judge.model) == ("http://b/v1", 4, "m")
    assert judge.model_options == {}


@pytest.mark.django_db
def test_what_answers_depend_on_cannot_change_once_there_are_runs():
    add("j", "--model", "m", "--base-url", "http://a/v1")
    study = study_of(1)
    start_run(RunSpec(study_id=study.pk, judge_id=Judge.objects.get().pk), enqueue=False)

    with pytest.raises(CommandError, match="has runs, so its model can no longer change"):
        add("j", "--model", "other")

    add("j", "--base-url", "http://b/v1")
    assert Judge.objects.get().model == "m"


@pytest.mark.sampled(keep=1)
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--base-url", "localhost:8000"], "must be an address like"),
        (["--base-url", "ftp://a/v1"], "must be an address like"),
        (["--base-url", "http://ho st/v1"], "must be an address like"),
        (["--base-url", "http://host/v1\x07"], "must be an address like"),
        (["--base-url", "http://[::1/v1"], "must be an address like"),
        (["--base-url", "http://a/v1", "--also-at", "http://h:x/v1"], "--also-at must be an addr"),
        (["--base-url", "http://a/v1", "--leave-out", "model"], "cannot leave out “model”"),
        (["--base-url", "http://u:p@a/v1"], "neither a password nor a query"),
        (["--base-url", "http://a/v1?key=s"], "neither a password nor a query"),
        (["--base-url", "http://a/v1", "--api-key-env", "OPENAI_API_KEY"], "api.openai.com alone"),
        (["--base-url", "http://a/v1", "--temperature", "3"], "--temperature: "),
        (["--base-url", "http://a/v1", "--concurrency", "0"], "--concurrency: "),
        (["--base-url", "http://a/v1", "--price-input", "-1"], "--price-input: "),
        (["--base-url", "http://a/v1", "--price-input", "1"], "Give both prices or none"),
        (
            ["--base-url", "http://a/v1", "--probabilities", "only"],
            "--probabilities with one of: beside",
        ),
    ],
)
def test_a_judge_that_could_not_be_asked_is_refused_with_a_sentence(options, message):
    with pytest.raises(CommandError, match=message):
        add("j", "--model", "m", *options)

    assert not Judge.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("preset", ["command-r-plus", "llama-3-70b-instruct"])
def test_a_preset_that_openai_does_not_offer_is_not_asked_for_there(preset):
    with pytest.raises(CommandError, match=f"--preset {preset} needs --base-url") as refused:
        add("j", "--preset", preset)
    assert refused.value.returncode == 2
    assert not Judge.objects.exists()

    add("j", "--preset", preset, "--base-url", "http://gpu1:8000/v1")
    add("j", "--preset", preset)  # it has an address now

    assert Judge.objects.get().base_url == "http://gpu1:8000/v1"


@pytest.mark.django_db
def test_a_preset_leaves_a_judge_its_address():
    add("j", "--model", "m", "--base-url", "http://gateway/v1")

    out = add("j", "--preset", "gpt-4o-2024-05-13")

    assert out == "Judge “j” is up to date: gpt-4o-2024-05-13 at http://gateway/v1.\n"


@pytest.mark.django_db
def test_an_unknown_preset_names_those_there_are():
    with pytest.raises(BadJudge, match=r"gpt-4o-2024-05-13, gpt-3\.5-turbo-0125, command-r-plus"):
        add_judge(name="j", preset="gpt-9")


@pytest.mark.django_db
def test_a_preset_brings_address_key_slots_and_prices_to_a_new_judge_alone():
    add("local", "--preset", "ollama", "--model", "m")
    add("far", "--preset", "ollama", "--model", "m", "--base-url", "http://gpu1:11434/v1")
    add("mistral", "--preset", "mistral", "--model", "m")
    add("other", "--preset", "mistral", "--model", "m", "--base-url", "http://gpu1/v1")

    local, far, mistral, other = Judge.objects.order_by("pk")
    assert (local.base_url, local.concurrency, local.price_input) == (
        "http://localhost:11434/v1",
        4,
        0,
    )
    assert (far.base_url, far.price_output) == ("http://gpu1:11434/v1", 0)
    assert (mistral.api_key_env, mistral.model_options) == (
        "JUDGE_KEY_MISTRAL",
        {"leave_out": "seed"},
    )
    assert other.api_key_env == ""
    add("local", "--concurrency", "9", "--price-input", "1", "--price-output", "1")
    assert "is up to date" in add("local", "--preset", "ollama", "--model", "m")
    local.refresh_from_db()
    assert (local.concurrency, local.price_input) == (9, 1)


@pytest.mark.django_db
def test_a_public_price_is_named_with_its_day_and_gives_way_to_an_entered_one():
    out = add("j", "--preset", "openai", "--model", "gpt-5.4-mini-2026-03-17")
    assert "Prices as of 4 May 2026. Compare them with https://" in out
    assert Judge.objects.get().price_cached_input is not None

    command = ("--preset", "openai", "--model", "gpt-5.4-mini")
    assert "Prices as of" not in add("k", *command, "--price-input", "1", "--price-output", "2")
    entered = Judge.objects.get(name="k")
    assert (entered.price_input, entered.price_cached_input) == (1, None)


@pytest.mark.django_db
def test_a_part_of_an_address_that_everybody_has_to_replace_is_refused():
    with pytest.raises(CommandError, match="--base-url: replace YOUR-RESOURCE in https://YOUR-R"):
        add("a", "--preset", "azure", "--model", "m")
    address = "https://mine.openai.azure.com/openai/v1"
    add("a", "--preset", "azure", "--model", "m", "--base-url", address)

    judge = Judge.objects.get()
    assert (judge.base_url, judge.api_key_env) == (address, "JUDGE_KEY_AZURE")


def test_the_openai_key_goes_to_openai_and_no_key_to_others(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k-openai")
    monkeypatch.setenv("MINE", "k-mine")

    assert api_key(settings_of(Judge(base_url="https://api.openai.com/v1"))) == "k-openai"
    assert api_key(settings_of(Judge(base_url="https://api.openai.com.evil.org/v1"))) == ""
    assert api_key(settings_of(Judge(base_url="http://api.openai.com/v1"))) == ""
    assert api_key(settings_of(Judge(base_url="http://gpu:8000/v1"))) == ""
    assert (
        api_key(settings_of(Judge(base_url="http://gpu:8000/v1", api_key_env="MINE"))) == "k-mine"
    )
