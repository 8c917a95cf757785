"""The simulated server as a process of its own, over real HTTP."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import openai
import pytest
import requests

from demo.judges import Judges
from demo.truth import World
from judging.backends.completions import option_probabilities
from tests.demo.prompts import prompt_of


@pytest.fixture(scope="module")
def server():
    process = subprocess.Popen(
        [sys.executable, "-m", "demo.llm_server", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.terminate()
    assert process.wait(timeout=60) == 0
    process.stdout.close()


@pytest.fixture(scope="module")
def prompt():
    world = World()
    return prompt_of(world, world.items[0])


def ask(server, prompt, model="demo-steady", **options):
    body = {"model": model, "messages": [{"role": "user", "content": prompt}], **options}
    return requests.post(f"{server}/chat/completions", json=body, timeout=60)


def spoil(server, fault, **options):
    url = server.removesuffix("/v1") + "/simulate/faults"
    requests.post(url, json={"fault": fault, **options}, timeout=60).raise_for_status()


def test_the_openai_client_gets_models_answers_and_usage(server, prompt):
    with openai.OpenAI(base_url=server, api_key="none", max_retries=0) as client:
        models = [model.id for model in client.models.list()]
        messages = [{"role": "user", "content": prompt}]
        reply = client.chat.completions.create(model="demo-steady", messages=messages)

    assert models == ["demo-steady", "demo-boastful", "demo-lefty", "demo-decider"]
    assert "]]" in reply.choices[0].message.content
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert "simulated" in reply.model


def test_what_the_server_says_depends_on_prompt_and_seed_alone(server):
    world = World()
    judges = Judges(world)
    prompts = [prompt_of(world, item, setting="standard") for item in world.items[:60]]

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda text: ask(server, text).json(), prompts))

    texts = [reply["choices"][0]["message"]["content"] for reply in replies]
    assert texts == [judges.reply("demo-steady", text, attempt=1) for text in prompts]


def test_two_questions_in_one_prompt_get_their_own_answers_in_any_order(server):
    world = World()
    judges = Judges(world)
    prompts = (prompt_of(world, item) for item in world.items)
    spoilt = next(
        text
        for text in prompts
        if "]]" not in judges.reply("demo-steady", text, attempt=1)
        and "]]" in judges.reply("demo-steady", text, attempt=2)
    )

    seeds = (10, 20, 11, 21)
    said = [ask(server, spoilt, seed=seed).json() for seed in seeds]

    readable = ["]]" in reply["choices"][0]["message"]["content"] for reply in said]
    assert readable == [False, False, True, True]


@pytest.mark.parametrize(
    ("fault", "status"), [("rate_limit", 429), ("server_error", 500), ("garbage", 200)]
)
def test_a_fault_spoils_as_many_answers_as_asked_and_then_ends(server, prompt, fault, status):
    spoil(server, fault, times=2, seconds=3)

    replies = [ask(server, prompt) for _ in range(3)]

    assert [reply.status_code for reply in replies] == [status, status, 200]
    assert replies[0].headers.get("Retry-After") == ("3" if fault == "rate_limit" else None)
    assert "choices" not in replies[0].text
    assert "choices" in replies[2].json()


def test_a_server_that_is_down_closes_the_connection(server, prompt):
    spoil(server, "down")

    with pytest.raises(requests.ConnectionError):
        ask(server, prompt)
    assert ask(server, prompt).status_code == 200


def test_a_model_that_it_does_not_have_is_an_error_and_any_prompt_is_answered(server):
    prompt = "What is the capital of France?"
    reply = ask(server, prompt, "gpt-4o")
    answered = ask(server, prompt)

    assert "(simulated:" in answered.json()["choices"][0]["message"]["content"]
    assert reply.status_code == 404
    assert reply.json()["error"]["message"]


def test_a_port_that_is_taken_ends_the_server_with_a_sentence(server):
    port = server.removesuffix("/v1").rpartition(":")[2]

    process = subprocess.run(
        [sys.executable, "-m", "demo.llm_server", "--port", port],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert process.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in process.stderr
    assert "--port" in process.stderr


def test_log_probabilities_are_those_of_the_letter_and_only_on_request(server, prompt):
    asked = ask(server, prompt, logprobs=True, top_logprobs=5, seed=1).json()["choices"][0]
    plain = ask(server, prompt, seed=1).json()["choices"][0]

    text = asked["message"]["content"]
    tokens = asked["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens) == text
    found, why = option_probabilities(
        text, asked["logprobs"], options={"r1": ("A",), "r2": ("B",)}, position=text.index("]]") - 1
    )
    assert why == ""
    assert max(found.values()) > 0.5
    assert plain["logprobs"] is None
