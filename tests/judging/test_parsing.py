import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.engine.messages import looks_like_refusal
from judging.protocols.parsing import parse_reply

CYRILLIC_A = "А"

REPLIES = [
    # the forms that count
    ("[[A]] [[80]]", "A", 80),
    ("[[A]] … [[80]]", "A", 80),
    ("B]] [[1]]", "B", 1),
    ("A", "A", None),
    ("B.", "B", None),
    ('"A"', "A", None),
    ("A [[70]]", "A", 70),
    ("Answer: B", "B", None),
    ("[[Answer B]] [[40]]", "B", 40),
    ("[[ a ]] [[ 55 ]]", "A", 55),
    ("[[A]] [[85%]]", "A", 85),
    # without brackets, only where a number can mean nothing else
    ("[[B]] 90", "B", 90),
    ("B]] (90)", "B", 90),
    ("B]] - I am quite confident in this choice, around 80.", "B", 80),
    ("A]] since the person is 35 years old.", "A", None),
    # of several verdicts none is taken, unless the last one stands by itself
    ("First I thought [[A]], but it is [[B]] [[30]]", None, None),
    ("[[A]] … no, [[C]]", None, None),
    ("[[B]] [[80]] On reflection: [[tie]]", None, None),
    ("I would write [[A]] or [[B]]: [[A]] [[20]]", "A", 20),
    # the prompt's own placeholder is no verdict
    ("[[A]] [[X]]", "A", None),
    # a certainty at the end of a statement about both letters is not that of the last one
    ("[[B]] is better than [[A]] [[80]]", None, None),
    ("I prefer [[A]] to [[B]] [[70]]", None, None),
    ("[[B]] passt besser als [[A]] [[75]]", None, None),
    ("Response A is better than [[B]] [[70]]", None, None),
    ("It is not [[A]] [[80]]", None, None),
    ("[[A]] [[80]] rather than [[B]] [[20]]", "A", 80),
    ("[[A]] is not as good as [[B]] [[80]]", "B", 80),
    ("Between [[A]] and [[B]], I choose [[B]] [[75]]", None, None),
    ("I am not sure, but [[A]] [[40]]", "A", 40),
    # certainty
    ("[[A]] [[0]]", "A", None),
    ("[[A]] [[101]]", "A", None),
    ("[[A]] [[high]]", "A", None),
    ("[[A]] [[40]] or rather [[60]]", "A", None),
    ("[[60]] [[A]]", "A", 60),
    ("[[A]] [[80]], so [[A]]", "A", 80),
    # a certainty of what was given up is none of the last verdict's
    ("[[A]] [[80]] On reflection: [[B]]", None, None),
    ("[[A]] [[-5]]", "A", None),
    # nothing to go by
    ("", None, None),
    ("Response A is better.", None, None),
    ("[[D]] [[80]]", None, None),
    ("[A] and [B]", None, None),
    ("80", None, None),
    ("[[80]]", None, None),
    ('{"answer": "A", "certainty": 80}', None, None),
    (f"[[{CYRILLIC_A}]] [[80]]", None, None),
    ('Declare your choice as "A" or "B".', None, None),
    # thinking aloud is not answering
    ("<think>[[A]] [[99]]</think>[[B]] [[3]]", "B", 3),
    ("perhaps [[A]] or so</think>\n[[B]] [[41]]", "B", 41),
    ("[[A]] [[9]] <think>or [[B]]?</think>", "A", 9),
    ("<THINKING>\n[[A]]\n</THINKING>\nB]] [[12]]", "B", 12),
    # a verdict with its certainty next to it outranks a lone letter later
    ("[[A]] [[80]]\n\nResponse A is warmer and therefore better than [[B]].", "A", 80),
    ("B]] [[65]]\n\nWhile [[A]] is funny, it ignores the profile.", "B", 65),
    ("**[[A]]** **[[90]]**\n\n- [[A]]: concise\n- [[B]]: too long", "A", 90),
    ("[[A]] (certainty: [[75]]), because [[B]] preaches.", "A", 75),
    ("[[B]] 85\n\nCompared to [[A]], it is kinder.", "B", 85),
    ("[[A]] [[80]] On reflection, [[B]] might fit as well.", None, None),
    # a next turn that the model made up
    ("[[A]] [[80]]\n\n[User Profile]\nThe person is old.\n\n[Answer]\n[[B]] [[40]]", "A", 80),
    ("A]] [[80]]\n\nUser: And this one?\nAssistant: [[B]] [[55]]", "A", 80),
    ("A]] [[80]]<|eot_id|><|start_header_id|>user: [[B]] [[10]]", "A", 80),
    ("[[B]]\n\n### Instruction:\nRead the profile. [[A]]", "B", None),
    ("[[A]] [[70]]</s>[INST] Next [/INST] [[B]] [[30]]", "A", 70),
    ("[[A]] [[70]]\n\nNext question:\n[[B]] [[30]]", "A", 70),
    ("[[B]] [[55]]\n[[User: hello]]\nHuman: [[A]] [[99]]", "B", 55),
    # two verdicts and no telling which
    ("[[A]] [[B]]", None, None),
    ("[[A]]/[[B]]: [[A]] [[20]]", "A", 20),
    ("[[A]] or [[B]]?", None, None),
    ("[[A]] [[80]]\n[[B]] [[20]]", None, None),
    ("Response A: [[A]] [[60]], Response B: [[B]] [[40]]", None, None),
    ("[[A]] if the person is young, [[B]] if old.", None, None),
    # what is denied or compared with is no verdict
    ("Not [[A]], the other one.", None, None),
    ("Nicht [[A]], sondern [[B]] [[70]]", "B", 70),
    ("Not [[A]] but [[B]].", "B", None),
    ("[[A]] is not what this person wants.", None, None),
    # a mind that was changed is asked again, unless only the last verdict stands by itself
    ("[[A]] [[60]] Wait, the person is a vegan. [[B]] [[85]]", None, None),
    ("[[A]] [[60]]\n\nI reconsidered: [[B]] [[75]]", None, None),
    ("I lean to [[A]]. Final answer: [[B]]", "B", None),
    ("Zuerst [[A]], bei näherer Überlegung: [[B]] [[35]]", "B", 35),
    # certainty: the number next to the verdict, not one of the explanation
    ("[[A]] [[80]]\n\nI used the scale from [[1]] to [[100]].", "A", 80),
    ("[[A]]\n\nOn the scale of [[1]] to [[100]]: [[64]]", "A", 64),
    ("[[B]] [[45]] (where [[100]] would be highly certain)", "B", None),
    ("[[A]] [[70-80]]", "A", None),
    ("[[A]] [[70]] to [[80]]", "A", None),
    ("[[A]] [[80]] [[90]]", "A", None),
    ("[[A]] I am 70-80% certain.", "A", None),
    ("[[A]] [[80/100]]", "A", 80),
    ("[[A]] [[9/10]]", "A", 90),
    ("[[A]] [[11/10]]", "A", None),
    ("[[A]] [[7/7]]", "A", None),
    ("[[A]] [[8.5]]", "A", None),
    ("[[A]]\n\nFor warmth [[70]], for wit [[30]].", "A", None),
    ("My certainty is [[60]]. So: [[A]]", "A", 60),
    # markup, LaTeX, German
    ("### Answer\n\n**[[B]]**\n\n**Certainty:** [[77]]", "B", 77),
    ("| [[A]] | [[58]] |", "A", 58),
    ("```\n[[A]] [[70]]\n```", "A", 70),
    ("[[**A**]] [[**80**]]", "A", 80),
    (r"\[\[B\]\] \[\[66\]\]", "B", 66),
    (r"$\boxed{[[A]]}$ $[[70]]$", "A", 70),
    (r"\text{[[B]]} \quad \text{[[51]]}", "B", 51),
    ("Meine Antwort: [[A]] mit einer Sicherheit von [[80]].", "A", 80),
    ("[[Antwort B]] [[40]]", "B", 40),
    # more ways to think aloud
    ("<thought>[[A]] [[9]]</thought>\n[[B]] [[70]]", "B", 70),
    ("[THINK]maybe [[A]][/THINK][[B]] [[70]]", "B", 70),
    ("◁think▷[[A]]◁/think▷[[B]] [[12]]", "B", 12),
    (
        "<|channel|>analysis<|message|>[[A]]?<|end|><|start|>assistant<|channel|>final<|message|>"
        "[[B]] [[88]]",
        "B",
        88,
    ),
]


@pytest.mark.parametrize(("reply", "side", "certainty"), REPLIES)
def test_reading_a_reply(reply, side, certainty):
    verdict = parse_reply(reply, offers_tie=False, asks_certainty=True)

    assert (verdict.side, verdict.certainty) == (side, certainty)


FORMS = [
    ('{"answer": "A", "certainty": 80}', "A", 80),
    (' {"certainty": 1, "answer":"B"}\n', "B", 1),
    ('<think>{"answer": "A"}</think>{"answer": "B", "certainty": 7}', "B", 7),
    ('{"answer": "A", "certainty": 0}', "A", None),
    ('{"answer": "A", "certainty": 101}', "A", None),
    ('{"answer": "A", "certainty": "high"}', "A", None),
    ('{"answer": "A", "certainty": true}', "A", None),
    ('{"answer": "C", "certainty": 50}', None, None),
    ('{"answer": "D"}', None, None),
    ('{"answer": ["A"]}', None, None),
    ("[" * 100_000, None, None),
    # The server did not keep to the form: the words are read.
    ("[[B]] [[12]]", "B", 12),
    ('```json\n{"answer": "A"}\n```\n[[A]] [[30]]', "A", 30),
]


@pytest.mark.parametrize(("reply", "side", "certainty"), FORMS)
def test_reading_a_reply_for_which_a_form_was_asked(reply, side, certainty):
    verdict = parse_reply(reply, offers_tie=False, asks_certainty=True, is_structured=True)

    assert (verdict.side, verdict.certainty) == (side, certainty)


@pytest.mark.parametrize("reply", ["[[C]]", "C]]", "C", "[[Tie]]"])
def test_a_tie_counts_where_it_is_offered_and_nowhere_else(reply):
    assert parse_reply(reply, offers_tie=True, asks_certainty=False).side == "C"
    assert parse_reply(reply, offers_tie=False, asks_certainty=False).side is None


def test_a_tie_has_no_certainty():
    verdict = parse_reply("[[C]] [[80]]", offers_tie=True, asks_certainty=True)

    assert (verdict.side, verdict.certainty) == ("C", None)


def test_a_certainty_that_was_not_asked_for_is_not_kept():
    assert parse_reply("[[A]] [[80]]", offers_tie=False, asks_certainty=False).certainty is None


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, but I can't judge people by their profile.",
        "I cannot assist with that.",
        "As an AI, I have no preference.",
        "I’m unable to determine this.",
        "I must decline.",
    ],
)
def test_a_refusal_is_recognised(reply):
    assert looks_like_refusal(reply)


@pytest.mark.parametrize(
    "reply", ["Hm.", "", "The person can choose.", "<think>I cannot decide</think>Hm."]
)
def test_what_is_merely_unclear_is_no_refusal(reply):
    assert not looks_like_refusal(reply)


@given(st.text(alphabet=st.sampled_from("[]ABCX 0189\n%-tie()*<think>/"), max_size=60))
def test_no_text_breaks_the_parser_or_leaves_its_range(reply):
    verdict = parse_reply(reply, offers_tie=False, asks_certainty=True)

    assert verdict.side in {"A", "B", None}
    assert verdict.certainty is None or 1 <= verdict.certainty <= 100
    assert verdict.side is not None or verdict.certainty is None


@given(
    st.text(max_size=80).filter(lambda text: "[" not in text and "<" not in text),
    st.sampled_from("AB"),
    st.integers(1, 100),
)
def test_a_full_verdict_at_the_end_is_read_whatever_stands_before(before, side, certainty):
    verdict = parse_reply(
        f"{before}\n[[{side}]] [[{certainty}]]", offers_tie=False, asks_certainty=True
    )

    assert (verdict.side, verdict.certainty) == (side, certainty)


@given(st.text(max_size=200))
def test_a_side_is_never_made_up(reply):
    verdict = parse_reply(reply, offers_tie=True, asks_certainty=True)

    assert verdict.side is None or re.search(r"[ABCabc]|tie", reply, re.IGNORECASE)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1e40", "-1e-40"])
@pytest.mark.parametrize("is_structured", [True, False])
def test_a_number_that_is_none_is_no_certainty(number, is_structured):
    reply = f'{{"answer": "B", "certainty": {number}}}'

    read = parse_reply(
        reply,
        offers_tie=False,
        asks_certainty=True,
        is_structured=is_structured,
        is_lenient=True,
    )

    assert (read.side, read.certainty) == ("B", None)


@pytest.mark.parametrize(
    "words", ["7 (out of 10)", "7 out of 10", "7/10", "70 (out of 100)", "70 %"]
)
def test_a_scale_behind_a_number_is_read(words):
    read = parse_reply(
        f"Certainty: {words}\n[[A]]", offers_tie=False, asks_certainty=True, is_lenient=True
    )

    assert (read.side, read.certainty) == ("A", 70)
