"""Models that were trained to judge: their reply formats, and a planted judge through each."""

import hashlib
import re

import pytest

from judging.errors import ConflictingValue
from judging.protocols.registry import protocol
from judging.wordings import save_wording
from studies.prompts import prompt_languages
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import LlmServer, completion
from tests.judging.run_helpers import judge_all, start

SCORED = {"scores": {"A": 8.0, "B": 6.5}}
KEPT = [
    ("judgelm", "8 6.5\nThe first one is warmer.", "A", SCORED),
    ("judgelm", "\n 3 10 \n", "B", {"scores": {"A": 3.0, "B": 10.0}}),
    ("judgelm", "7 7\nNo difference.", "C", {"scores": {"A": 7.0, "B": 7.0}}),
    ("judgelm", "<think>9 1</think>2 4\nBecause.", "B", {"scores": {"A": 2.0, "B": 4.0}}),
    ("auto-j", "1. Tone: warmer.\nSo, the final decision is Response 1.", "A", {}),
    ("auto-j", "Response 1 is long. So, the final decision is Response 2", "B", {}),
    ("auto-j", "Both fit. So, the final decision is Tie.", "C", {}),
    ("prometheus-2", "Feedback: Response B is rude. [RESULT] A", "A", {}),
    ("prometheus-2", "Both are fine, B is closer. [RESULT] B\n", "B", {}),
    ("prometheus-2", "<think>[RESULT] A</think>Short. [RESULT] B.", "B", {}),
    ("compass-judger", "I weigh both.\n[[A]]", "A", {}),
    ("compass-judger", "[[C]]", "C", {}),
    (
        "compass-judger",
        "- Warmth: A\n- Fit to the profile: B\n- Length: C\nThe profile counts most.\n[[B]]",
        "B",
        {"criteria": {"Warmth": "A", "Fit to the profile": "B", "Length": "C"}},
    ),
]
BROKEN = [
    ("judgelm", "The scores are 8 and 6."),
    ("judgelm", "8\n6"),
    ("judgelm", "8 6 4"),
    ("judgelm", "8/10 6/10"),
    ("judgelm", "11 6"),
    ("judgelm", "0 6"),
    ("judgelm", "85 60\nOn a scale to 100."),
    ("judgelm", "8,5 6"),
    ("judgelm", "Response 1: 8 6"),
    ("judgelm", ""),
    ("auto-j", "Response 1 is better."),
    ("auto-j", "The final decision is Response 3."),
    ("auto-j", "The final decision is Response 12."),
    ("auto-j", "The final decision is Response 1 … the final decision is Response 2."),
    ("auto-j", "<think>So, the final decision is Response 1.</think>Hm."),
    ("prometheus-2", "A"),
    ("prometheus-2", "[RESULT] C"),
    ("prometheus-2", "[RESULT] A or B"),
    ("prometheus-2", "[RESULT] A [RESULT] B"),
    ("prometheus-2", "Write [RESULT] A or [RESULT] B"),
    ("prometheus-2", "[RESULT] 4"),
    ("compass-judger", "A"),
    ("compass-judger", "[[A]] and then [[B]]"),
    ("compass-judger", "[[D]]"),
    ("compass-judger", "- Warmth: A\n- Length: A"),
]


@pytest.mark.parametrize(("name", "reply", "side", "details"), KEPT)
@pytest.mark.parametrize("is_lenient", [False, True])
def test_the_format_of_a_judge_model_is_read(name, reply, side, details, is_lenient):
    verdict = protocol(name).read(reply, is_lenient=is_lenient)

    assert (verdict.side, verdict.certainty, dict(verdict.details)) == (side, None, details)


@pytest.mark.parametrize(("name", "reply"), BROKEN)
@pytest.mark.parametrize("is_lenient", [False, True])
def test_another_format_is_no_judgment(name, reply, is_lenient):
    assert protocol(name).read(reply, is_lenient=is_lenient).side is None


@pytest.mark.parametrize(
    ("name", "reply", "option"),
    [
        ("auto-j", "So, the final decision is Response 2.", "2"),
        ("auto-j", "So, the final decision is Tie", "Tie"),
        ("prometheus-2", "Fine. [RESULT] B", "B"),
        ("compass-judger", "Fine. [[C]]", "C"),
    ],
)
def test_probabilities_are_those_of_the_word_that_decides(name, reply, option):
    asked = protocol(name)

    verdict = asked.read(reply)

    assert verdict.side is not None
    assert reply[verdict.position :].startswith(option)
    assert asked.options(())[verdict.side] == (option,)


def test_scores_have_no_option_probabilities():
    asked = protocol("judgelm")

    assert asked.options(()) == {}
    assert asked.read("8 6").position is None


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("Feedback: warm and short. [RESULT] 4", 4),
        ("It fits. [RESULT] 5.", 5),
        ("<think>[RESULT] 1</think>Fine.\n[RESULT] (3)\n", 3),
        ("[RESULT] 0", None),
        ("[RESULT] 6", None),
        ("[RESULT] 45", None),
        ("[RESULT] 4.5", None),
        ("[RESULT] 4/5", None),
        ("[RESULT] 3 or 4", None),
        ("[RESULT] 3 [RESULT] 4", None),
        ("Score: 4", None),
        ("4", None),
        ("[RESULT] A", None),
    ],
)
def test_a_grade_of_prometheus_is_read_at_its_mark_alone(reply, score):
    asked = protocol("prometheus-2-score")

    assert asked.score(reply) == score
    for lenient in (False, True):
        assert asked.read(reply, is_lenient=lenient).continues is (score is not None)


@pytest.mark.parametrize(("second", "choice"), [("2", "A"), ("4", "C"), ("5", "B")])
def test_the_higher_grade_wins_and_equal_ones_are_a_tie(second, choice):
    verdict = protocol("prometheus-2-score").read(
        f"Well. [RESULT] {second}", earlier=("Good. [RESULT] 4",)
    )

    assert verdict.side == choice
    assert verdict.details == {"scores": {"A": 4, "B": int(second)}}


@pytest.mark.parametrize("language", ["en", "de"])
def test_each_response_is_graded_alone_in_the_language_of_the_study(judge, llm, language):
    study = make_study(language=language)
    (tied,) = make_items(study, 1, r1={"text": "warm one"}, r2={"text": "warm two"})
    (better,) = make_items(study, 1, r1={"text": "cold one"}, r2={"text": "warm two"})
    llm.answer = lambda body, n: completion(
        f"So. [RESULT] {4 if 'warm' in body['messages'][0]['content'] else 2}"
    )

    run = judge_all(study, judge, setting="prometheus-2-score", orders="both")

    chosen = {(row.item.key, row.choice) for row in run.judgments.select_related("item")}
    assert chosen == {(tied.key, "tie"), (better.key, "r2")}
    assert len(llm.requests) == 8
    heading = {"en": "[Response]", "de": "[Antwort]"}[language]
    for body in llm.requests:
        (message,) = body["messages"]
        assert message["content"].count(heading) == 1
        assert len(re.findall("warm one|cold one|warm two", message["content"])) == 1


@pytest.mark.parametrize(
    "name", ["judgelm", "auto-j", "prometheus-2", "prometheus-2-score", "compass-judger"]
)
def test_a_german_study_asks_judge_models_in_german_with_the_marks_of_their_formats(name):
    marks = {
        "judgelm": "in die erste Zeile",
        "auto-j": "“So, the final decision is Response 1.”",
        "prometheus-2": "[RESULT] A oder [RESULT] B",
        "prometheus-2-score": "[RESULT]",
        "compass-judger": "[[C]]",
    }
    asked = protocol(name)

    assert set(asked.languages) == set(prompt_languages())
    prompt = asked.texts("de").prompt
    assert marks[name] in prompt
    assert "[Antwort" in prompt
    assert "Response A" not in prompt
    assert asked.texts("sv").prompt == ""


def says(name: str, preferred: int) -> str:
    """The reply in the format of a model that prefers response 1 or 2, or neither (0)."""
    letter = "CAB"[preferred]
    return {
        "judgelm": ("5 5", "9 4", "4 9")[preferred] + "\nIt suits this person.",
        "auto-j": "So, the final decision is " + ("Tie.", "Response 1.", "Response 2.")[preferred],
        "prometheus-2": f"It suits this person. [RESULT] {letter}",
        "compass-judger": f"- Fit: {letter}\nIt suits this person.\n[[{letter}]]",
    }[name]


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["judgelm", "auto-j", "prometheus-2", "compass-judger"])
def test_a_planted_judge_is_found_through_the_server_in_both_orders(name, judge, llm: LlmServer):
    study = make_study()
    warm, cold = {"text": "A warm answer."}, {"text": "A cold answer."}
    tied = make_items(study, 1, r1=warm, r2=cold) if protocol(name).offers_tie else []
    wanted = {item.key: "tie" for item in tied}
    wanted |= {item.key: "r1" for item in make_items(study, 2, r1=warm, r2=cold)}
    wanted |= {item.key: "r2" for item in make_items(study, 3, r1=cold, r2=warm)}

    def answer(body, n):
        prompt = body["messages"][0]["content"]
        if any(item.question in prompt for item in tied):
            return completion(says(name, 0))
        return completion(says(name, 1 if prompt.index("warm") < prompt.index("cold") else 2))

    llm.answer = answer
    run = judge_all(study, judge, setting=name, orders="both")

    judgments = list(run.judgments.select_related("item"))
    assert len(judgments) == 2 * len(wanted)
    assert {(each.item.key, each.choice) for each in judgments} == set(wanted.items())
    sent = {hashlib.sha256(b["messages"][0]["content"].encode()).hexdigest() for b in llm.requests}
    assert sent == {each.prompt_sha256 for each in judgments}
    assert all(
        bool((each.details or {}).get("scores")) == (name == "judgelm") for each in judgments
    )


def test_the_words_of_the_user_replace_those_of_the_protocol(judge, llm: LlmServer):
    study = make_study()
    make_items(study, 1)
    template = "You are a strict grader.\n{{ persona }}\n1: {{ response_a }}\n2: {{ response_b }}"
    wording = save_wording(
        study_id=study.pk,
        name="as trained",
        setting="judgelm",
        template=template,
    )
    llm.answer = lambda body, n: completion("3 8")

    run = judge_all(study, judge, setting="judgelm", wording_id=wording.pk, orders="r1_first")

    assert run.judgments.get().choice == "r2"
    [prompt] = [body["messages"][0]["content"] for body in llm.requests]
    assert prompt.startswith("You are a strict grader.\n")
    assert "two scores" not in prompt


@pytest.mark.django_db
def test_a_run_cannot_choose_how_such_a_model_is_addressed():
    study = make_study()
    make_items(study, 1)
    with pytest.raises(ConflictingValue, match="addresses the model in its own way"):
        start(
            study,
            make_judge(base_url="http://127.0.0.1:9/v1"),
            framing="persona",
            setting="judgelm",
        )
