"""Short statements, as small models write them, replies that name both sides, and cut replies."""

import re
import time
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judging.engine.interface import JudgeQuestion
from judging.engine.messages import from_user, without_cut_end, without_thoughts
from judging.protocols.parsing import parse_reply
from judging.protocols.protocol import Certainty
from judging.protocols.registry import protocol
from judging.protocols.statements import FIRST, LAST, readable
from tests.sampling import examples


def read(reply):
    return parse_reply(reply, offers_tie=False, asks_certainty=True, is_lenient=True)


STATEMENTS = """
The answer is: A
The answer is (A).
The answer is **A**.
The correct answer is A.
The right choice is: A
The best response is: A
The preferred response is: Response A
The most likely answer is: A
The answer to this question is: [A]
Therefore, the answer is: A
Sure! The answer is: A
My final answer is: A
The person's choice is: A
The response is: A
Based on the profile, the answer is: A
A)
A).
(A)
A:
"A"
Option A
Option: A
Answer: A)
Response A
I would choose A.
I would choose option A.
I'd go with response A.
Sure, I would choose A.
The person would choose: A
The person would prefer: Response A
They should choose response A.
Based on the profile, the person would choose: A
A is the answer.
Response A is the correct answer.
A edges it because it names a price.
It is A.
Response A, fairly sure.
Ich würde auf Antwort A tippen.
Die richtige Antwort ist: A
La respuesta correcta es A.
La bonne réponse est A.
答案是：A
The answer is:|A
The answer is:|[Response A]
The answer is: A||The person likes dogs.
The answer is: A||Explanation: Response B is too long.
The answer is: A||Response B is good, but response A is better.
A)||The answer is: A
A) Take the bus.
A – The person likes dogs.
Option A, because the person likes dogs.
I would recommend response A.
Response A is the most suitable.
Prediction: A
[[A]]||The person would choose A.
Response A: Take the bus.|Response B: Take the train.||The correct answer is: Response A
""".strip().splitlines()


def _letter(letters: dict[str, str], found: re.Match[str]) -> str:
    return letters[found[0]]


@pytest.mark.parametrize("reply", STATEMENTS)
def test_a_short_statement_is_read_with_the_place_of_its_letter(reply):
    reply = reply.replace("|", "\n")

    for side, other in (("A", "B"), ("B", "A")):
        # Letters that begin a word stay.
        letters = {"A": side, "B": other}
        text = re.sub(r"[AB](?![a-z])", partial(_letter, letters), reply)
        verdict = read(text)
        assert verdict.side == side, text
        assert text[verdict.position] == side


NONE = """
A)|The answer is: B
A||The answer is B.
A.|I would choose B.
Option A.||The correct answer is: B
[A]||I would choose response A, as it is short. I would choose response B, as it is long.
They should choose response B.||They like dogs, so they should choose response A.
You should choose response B, which has a band.||The person is busy. They should choose response A.
You should choose response A.||The answer is: B
The person prefers response B. The correct response would be response A, which is longer.
The best answer is A. The correct answer is: B
The answer is: A|The answer is: B
I would choose A. I would choose B.
The answer is: A or B
The answer is: A and B
Option A|Option B
The answer is not A.
The incorrect answer is: A
The less suitable response is: A
The typical answer is: A
If the person is old, the answer is: A
It is unclear whether the correct answer is: A
The answer is: A person who likes dogs would like both.
A is correct about the price.
A is the answer of an expert.
A. This is not for her.
A) Take the bus.|B) Take the train.
The answer is: [[A]]||The answer is: [[B]]
[[A]] is my choice. My choice is [[B]].
[[A]]||The answer is: B
[[A]]||I would choose response B.
""".strip().splitlines()


@pytest.mark.parametrize("reply", NONE)
def test_a_reply_that_names_both_sides_or_none_as_its_answer_has_none(reply):
    assert read(reply.replace("|", "\n")).side is None


@pytest.mark.parametrize(
    ("reply", "certainty"),
    [
        ("Response B edges it. I'd put my certainty at 58 out of 100.", 58),
        ("[[B]] (≈70)", 70),
        ("Ich würde auf Antwort B tippen, zu 60 Prozent sicher.", 60),
        ("[[B]] because 70 people said so", None),
    ],
)
def test_a_certainty_is_read_next_to_the_verdict(reply, certainty):
    assert (read(reply).side, read(reply).certainty) == ("B", certainty)


@pytest.mark.parametrize(
    ("reply", "side", "certainty"),
    [
        ("Final answer: B. Confidence: 8", "B", None),
        ("Final answer: B. Confidence: 80.", "B", None),
        ("Final answer: B. Confidence: 80%", "B", 80),
        ("[[B]] [[80]]", "B", 80),
        ("[[B]] [[8", "B", None),
        ("[[B]] 80", "B", None),
        ("B", None, None),
        ("The answer is B", None, None),
        ("I would choose Response B", None, None),
        ("The answer is B.", "B", None),
        ('{"answer": "B", "certainty": 8', "B", None),
    ],
)
def test_of_a_cut_reply_the_last_word_or_number_is_not_read(reply, side, certainty):
    question = JudgeQuestion(1, from_user("?"), Certainty(), seed=0, is_lenient=True)

    verdict = question.read(reply, is_structured=False, is_cut=True)

    assert (verdict.side, verdict.certainty) == (side, certainty)
    assert reply.startswith(without_cut_end(reply))


def test_an_object_without_an_end_was_cut_whatever_the_server_says():
    question = JudgeQuestion(1, from_user("?"), Certainty(), seed=0, is_lenient=True)

    verdict = question.read('{"answer": "B", "certainty": 8', is_structured=False)

    assert (verdict.side, verdict.certainty) == ("B", None)


CUT_IN_OPTIONS = """
A) Take the bus and
A) Take the bus.|B
A) Take the bus.||B) Take
(A) Take the bus. It is
A. Take the bus because
Option A: Take the bus
Response A: It is short.|
- A: It is short and
1. [[A]]: It is concise
[[A]]: It is concise.|[[
I must choose A or
I must choose A o
I would choose A,
Answer: A or
Answer: A /
Choose one: [[A]] or
Choose one: [[A]] or [[
Choose one: [[A]], [[
Choose one: [[A]] [[50]] or [[
The answer is A
{"answer": "A or
{"answer": "A",
The answer is "A" or "
[A] Take the bus
""".strip().splitlines()


@pytest.mark.parametrize("reply", CUT_IN_OPTIONS)
@pytest.mark.parametrize("setting", ["certainty", "standard", "tie", "levels"])
def test_a_reply_that_is_cut_in_its_options_chooses_none(reply, setting):
    for side, other in (("A", "B"), ("B", "A")):
        question = JudgeQuestion(1, from_user("?"), protocol(setting), seed=0, is_lenient=True)
        text = re.sub(r"[AB](?![a-z])", partial(_letter, {"A": side, "B": other}), reply)
        text = text.replace("|", "\n")
        assert question.read(text, is_structured=False, is_cut=True).side is None, text


@pytest.mark.parametrize(
    "reply",
    [
        "[[A]] [[70]] because they",
        "[[A]] because they",
        "[[A]]\n\nExplanation: It is",
        "The answer is A because they like",
        "I would choose A. Response B is",
        "Answer: A\nBecause",
        "Response A: Take the bus.\nResponse B: Walk.\n\nThe correct answer is: Response A. It is",
        "I choose [[A]].\n\n- A: It is short.\n- B: It is",
        "A) Take the bus.\n\nExplanation: It is cheap and",
    ],
)
def test_a_cut_reply_that_had_chosen_before_is_read(reply):
    question = JudgeQuestion(1, from_user("?"), Certainty(), seed=0, is_lenient=True)

    assert question.read(reply, is_structured=False, is_cut=True).side == "A"


# ---- replies that are slow to search ----

SIGNS = " \t\n*#[]{}()|<>\"'`_~$\\.,;:!?-–—…0159ABabx§"
PIECES = (
    """<think> </think> [[A]] answer is: I would choose <s> user: 100 not 80% because 。""".split()
)
UNITS = st.lists(st.sampled_from([*SIGNS, *PIECES]), min_size=1, max_size=4).map("".join)


@settings(max_examples=examples(30, every=150))
@given(UNITS, st.sampled_from(["", "A ", "The answer is "]))
def test_no_pattern_sees_more_than_the_ends_of_a_reply_and_short_runs(unit, start):
    reply = readable(start + unit * (20_000 // len(unit)))

    assert len(reply.text) == len(reply.places) <= FIRST + LAST + 2
    assert " " * 17 not in reply.text
    assert "\t" * 17 not in reply.text
    assert list(reply.places) == sorted(reply.places)


def cpu(call):
    """The lesser of two times, in seconds of this process."""
    times = []
    for _ in range(2):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


HOSTILE = [" ", "\t", "\n", " \n", " * ", "# ", "<think>", "</think>", "<think></think>", "<s>"]
HOSTILE += ["[[A]] or [[B]] ", "{", "x; ", "A\n", "1. ", "- ", "|", "[[", "final decision is "]


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize("unit", HOSTILE)
def test_reading_four_times_as_much_takes_less_than_eight_times_as_long(unit):
    def read_all(size):
        reply = unit * (size // len(unit))
        read(reply)
        for name in ("levels", "reason-before", "score-10"):
            protocol(name).read(reply)

    assert cpu(lambda: read_all(16_000)) < 8 * max(cpu(lambda: read_all(4_000)), 0.02)


@pytest.mark.nightly
@pytest.mark.sampled(keep=3)
@pytest.mark.parametrize(
    "unit",
    ["<think>", "</think>", "<", "[THINK]", "◁think▷", "<think", "<x>", "a</x>", "<b>", "a <x>"],
)
def test_thoughts_are_found_in_linear_time(unit):
    short, long = unit * 10_000, unit * 40_000

    assert cpu(lambda: without_thoughts(long)) < 8 * max(cpu(lambda: without_thoughts(short)), 0.02)


@pytest.mark.parametrize(
    "reply", ["[[Ａ]] [[８０]]", "［［Ａ］］［［80］］", "[[𝐀]] [[𝟖𝟎]]", "Ａ\n[[８０]]"]
)
def test_wide_and_mathematical_letters_are_letters(reply):
    verdict = parse_reply(reply, offers_tie=False, asks_certainty=True)

    assert (verdict.side, verdict.certainty) == ("A", 80)
    assert reply[verdict.position] in "Ａ𝐀"
