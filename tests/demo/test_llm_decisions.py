"""Decision endpoints of the simulated server: answers in both formats, and what they refuse."""

import json
import subprocess
import sys
from typing import Any

import openai
import pytest
import requests

from demo.judges import Judges
from demo.truth import World
from tests.demo.prompts import prompt_of


@pytest.fixture(scope="module", params=[(), ("--decisions-only",)], ids=["any", "decisions-only"])
def server(request):
    command = [sys.executable, "-m", "demo.llm_server", "--port", "0", *request.param]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process.stdout.readline().strip(), bool(request.param)
    process.terminate()
    assert process.wait(timeout=60) == 0
    process.stdout.close()


CHOICE: Any = {
    "type": "choice",
    "name": "choice",
    "instructions": "Which?",
    "choices": [{"value": "A"}, {"value": "B"}],
}
SCORE: Any = {
    "type": "score",
    "name": "sure",
    "instructions": "How sure?",
    "levels": [{"label": "low"}, {"label": "high"}],
}


def test_both_formats_answer_with_what_the_judge_would_decide(server):
    address, _ = server
    world = World()
    prompt = prompt_of(world, world.items[0])
    side, _ = Judges(world).verdict("demo-decider", prompt)

    with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as client:
        given = client.decisions.create(
            model="demo-decider", input=prompt, questions=[CHOICE, SCORE]
        )
    body = {
        "model": "demo-decider",
        "state": prompt,
        "questions": {
            "choice": {"type": "choice", "instructions": "?", "criteria": {"A": None, "B": None}},
            "sure": {"type": "score", "instructions": "?", "criteria": ["low", "high"]},
            "yes": {"type": "noul", "instructions": "?", "criteria": None},
        },
    }
    told = requests.post(f"{address}/systemone", json=body, timeout=60).json()

    choice, score = given.answers
    assert "simulated" in given.model
    assert choice.choice == told["answers"]["choice"]["choice"] == side
    shares = {each.value: each.probability for each in choice.probabilities}
    assert shares == told["answers"]["choice"]["probabilities"]
    assert sum(shares.values()) == pytest.approx(1)
    assert [each.value for each in score.probabilities] == [0, 1]
    assert list(told["answers"]["sure"]["probabilities"]) == ["0", "1"]
    assert told["diagnostics"]["choice"]["label_mass"] == 0.97


OPENAI = {"model": "demo-decider", "input": "A or B?", "questions": [CHOICE]}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (OPENAI | {"temperature": 1}, "temperature"),
        (OPENAI | {"questions": []}, "questions"),
        (OPENAI | {"questions": [CHOICE] * 401}, "questions"),
        (OPENAI | {"questions": [CHOICE | {"colour": 1}]}, "questions[0].colour"),
        (OPENAI | {"questions": [CHOICE | {"type": "rank"}]}, "questions[0].type"),
        (OPENAI | {"questions": [CHOICE | {"choices": [{"value": "A"}]}]}, "questions[0].choices"),
        (
            OPENAI | {"questions": [CHOICE | {"choices": [{"value": str(n)} for n in range(256)]}]},
            "questions[0].choices",
        ),
        (
            OPENAI
            | {"questions": [CHOICE | {"choices": [{"value": "Response A"}, {"value": "B"}]}]},
            "questions[0].choices",
        ),
        (OPENAI | {"questions": [SCORE | {"levels": [{"label": "x"}]}]}, "questions[0].levels"),
        (
            OPENAI | {"questions": [SCORE | {"levels": [{"label": str(n)} for n in range(11)]}]},
            "questions[0].levels",
        ),
    ],
)
def test_what_the_documentation_refuses_is_refused_with_the_part_at_fault(server, body, param):
    address, _ = server

    answer = requests.post(f"{address}/decisions", json=body, timeout=60)

    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param


def test_system_one_takes_fewer_questions_and_names_the_question_at_fault(server):
    address, _ = server
    question = {"type": "choice", "instructions": "?", "criteria": {"A": None, "B": None}}
    body = {"model": "demo-decider", "state": "A or B?"}

    many = {"questions": {str(number): question for number in range(65)}}
    odd = {"questions": {"q": question | {"choices": []}}}
    answers = [
        requests.post(f"{address}/systemone", json=body | each, timeout=60) for each in (many, odd)
    ]

    assert [each.status_code for each in answers] == [400, 400]
    assert [each.json()["error"]["param"] for each in answers] == [
        "questions",
        "questions.q.choices",
    ]


def test_a_host_of_decision_models_refuses_chat_models_everywhere(server):
    address, is_only = server
    decided = requests.post(
        f"{address}/decisions", json=OPENAI | {"model": "demo-steady"}, timeout=60
    )
    chat = {"model": "demo-steady", "messages": [{"role": "user", "content": "A or B?"}]}
    written = requests.post(f"{address}/chat/completions", json=chat, timeout=60)
    decider = requests.post(
        f"{address}/chat/completions", json=chat | {"model": "demo-decider"}, timeout=60
    )

    assert decided.status_code == (400 if is_only else 200), json.dumps(decided.json())
    assert written.status_code == (404 if is_only else 200)
    assert decider.status_code == 404
