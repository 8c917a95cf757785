"""The real model through the proxy of litellm, which changes requests and replies on their way."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator

import pytest
import requests

from tests.extras.local_models.real.conftest import MODEL, ROOT, check_ledger
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import judge_all
from tests.servers import free_port

KEY = "sk-0123456789abcdef0123456789abcdef"
PROXY = shutil.which("litellm", path=f"{ROOT}/.venv/litellm/bin:{os.environ.get('PATH', '')}")


@pytest.fixture
def proxy(llm, served, tmp_path, monkeypatch) -> Iterator[str]:
    if PROXY is None:
        pytest.skip("the proxy of litellm is not installed: make litellm")
    to = {"model": f"openai/{MODEL}", "api_base": llm.url, "api_key": "none"}
    config = {
        "model_list": [{"model_name": "small", "litellm_params": to}],
        "litellm_settings": {"num_retries": 0},
    }
    (tmp_path / "config.yaml").write_text(json.dumps(config))  # which is YAML too
    port = free_port()
    command = [PROXY, "--config", str(tmp_path / "config.yaml"), "--port", str(port)]
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment = kept | {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": KEY}
    monkeypatch.setenv("PROXY_API_KEY", KEY)
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1"], env=environment, stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{port}"
    try:
        end = time.monotonic() + 300
        while not answers(f"{url}/health/liveliness"):
            assert process.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < end
            time.sleep(0.2)
        yield f"{url}/v1"
    finally:
        process.terminate()
        process.wait(timeout=30)


def answers(url):
    try:
        return requests.get(url, timeout=2).ok
    except requests.RequestException:
        return False


def test_forms_probabilities_and_tokens_arrive_through_the_proxy(proxy, study, llm, served, engine):
    judge = make_judge(
        base_url=proxy,
        model="small",
        api_key_env="PROXY_API_KEY",
        structured=True,
        probabilities="beside",
        temperature=0,
        max_tokens=48,
        concurrency=2,
        price_input=1,
        price_output=2,
    )

    run = judge_all(study, judge, setting="certainty", orders="both")

    assert run.state == "done", run.sentence
    assert {body["response_format"]["type"] for body in llm.requests} == {"json_schema"}
    for judgment in run.judgments.all():
        assert judgment.state == "done", judgment.raw_text
        assert 1 <= judgment.certainty <= 100
        if shares := judgment.probabilities:
            assert sum(shares.values()) == pytest.approx(1, abs=1e-3)
            assert judgment.choice == max(shares, key=shares.get)
        else:
            assert "no_probabilities" in judgment.details
    check_ledger(run, llm, served)
