"""The backend of the workers through every setting, with a model of random weights."""

import importlib.util

import pytest

from judging.models import Attempt
from tests.extras.local_models.real.test_llama_cpp import ENDED, SETTINGS, shares
from tests.extras.local_models.tiny_model import build_tiny_model
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import judge_all

pytestmark = [
    pytest.mark.skipif(
        not importlib.util.find_spec("torch"), reason="needs requirements-gpu.txt: make test-gpu"
    ),
    # torch and transformers warn about their own insides.
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return build_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_ends_and_its_tokens_are_in_the_ledger(
    setting, folder, study, engine, caplog, monkeypatch
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    judge = make_judge(
        backend="transformers",
        model=str(folder),
        max_tokens=8,
        probabilities="beside",
        price_input=1,
        price_output=2,
    )

    run = judge_all(study, judge, setting=setting)

    assert run.state == "done", run.sentence
    assert set(run.judgments.values_list("state", flat=True)) <= ENDED
    ledger = list(Attempt.objects.filter(judgment__run=run))
    assert {attempt.outcome for attempt in ledger} == {"replied"}
    read, written = (
        sum(getattr(attempt, name) for attempt in ledger)
        for name in ("prompt_tokens", "completion_tokens")
    )
    assert run.tokens == read + written
    shares(run)
    assert [record for record in caplog.records if record.exc_info] == []
