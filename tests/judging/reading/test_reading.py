"""Lenient reading: no wrong side, no wrong certainty, and the real replies as they were counted.

`unseen.jsonl` has replies, many written to mislead, that the rules were not fitted to, each with
what a careful reader takes from it: a reply may be lost, and is asked again, but not read wrongly.
`odd.jsonl` has further ones in several languages and forms; `not` is a side that a reply does not
choose. `fresh.jsonl` has 60 replies of a small model and 40 in the style of large ones; what they
say was written down before they were read here.
"""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.engine.interface import JudgeQuestion
from judging.engine.messages import from_user
from judging.protocols.parsing import parse_reply
from judging.protocols.registry import protocol
from judging.protocols.statements import of_json, whole

RELEASED = os.environ.get("THIRDPERSON_PAPER_OUTPUTS")


def rows(name):
    text = Path(__file__).with_name(name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


UNSEEN, FRESH, ODD = rows("unseen.jsonl"), rows("fresh.jsonl"), rows("odd.jsonl")


def read(reply, *, offers_tie=False, is_lenient=True):
    return parse_reply(reply, offers_tie=offers_tie, asks_certainty=True, is_lenient=is_lenient)


def test_no_unseen_reply_is_given_a_wrong_side_or_certainty():
    wrong = []
    for row in UNSEEN:
        found = read(row["reply"], offers_tie=row["offers_tie"])
        if found.side not in (row["side"], None) or found.certainty not in (row["certainty"], None):
            wrong.append(row["reply"])

    assert wrong == []


def test_no_odd_reply_is_given_a_wrong_side_or_certainty():
    wrong = []
    for row in ODD:
        found = read(row["reply"])
        if found.side == row.get("not"):
            wrong += [row["reply"]] if found.side else []
        elif "not" not in row and found.side not in (row["side"], None):
            wrong.append(row["reply"])
        elif found.side and found.certainty not in (row.get("certainty", found.certainty), None):
            wrong.append(row["reply"])

    assert wrong == []


def test_fresh_replies_are_read_right_and_few_are_lost():
    wrong, lost = [], []
    for row in FRESH:
        asked = protocol(row["setting"])
        question = JudgeQuestion(1, from_user("?"), asked, seed=0, is_lenient=True)
        found = question.read(row["reply"], is_structured=row["structured"], is_cut=row["cut"])
        expected = (row["side"], row["certainty"])
        if found.side not in (row["side"], None) or found.certainty not in (row["certainty"], None):
            wrong.append(row["reply"])
        elif (found.side, found.certainty) != expected:
            lost.append(row)

    said = [row for row in FRESH if row["side"] and not row["structured"]]
    assert len(FRESH) == 100
    assert wrong == []
    assert [row["reply"] for row in lost if row["structured"]] == []
    assert len(lost) <= 0.08 * len(said), [row["reply"] for row in lost]


@pytest.mark.skipif(not RELEASED, reason="THIRDPERSON_PAPER_OUTPUTS names no folder")
def test_real_replies_are_read_as_the_paper_counted_them():
    path = Path(RELEASED) / "ap_all_features_all_features_gpt-3.5-turbo.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]

    differing = [row["res"] for row in rows if (read(row["res"]).side or "") != row["answer"]]

    assert len(rows) == 525
    assert len(differing) <= 1


@pytest.mark.parametrize(
    ("reply", "side", "certainty", "code"),
    [
        ('{"choice": "B", "confidence": 0.7}', "B", 70, "json"),
        ('```json\n{"winner": "Response A", "certainty": "80%"}\n```', "A", 80, "json"),
        ("<answer>B</answer>", "B", None, "tag"),
        (r"So $\boxed{A}$.", "A", None, "tag"),
        ("[A] [80]", "A", 80, "brackets"),
        ("**Final answer:** B", "B", None, "label"),
        ("B) Take the bus.", "B", None, "first_line"),
        ("It is cheaper, and quicker.\n\nResponse B", "B", None, "final_line"),
        ("Given her age, this person would prefer Response B. I am 70% certain.", "B", 70, "words"),
        ("[[A]] Confidence: 0.85", "A", 85, "certainty"),
        ("[[A]] [[80]]", "A", 80, None),
    ],
)
def test_the_verdict_says_how_it_was_read(reply, side, certainty, code):
    verdict = read(reply)

    assert (verdict.side, verdict.certainty) == (side, certainty)
    assert verdict.details.get("read") == code


@pytest.mark.parametrize(
    ("number", "unit", "expected"),
    [
        ("80", "%", 80),
        ("87.5", "%", 88),
        ("8", "/10", 80),
        ("80", "/100", 80),
        ("0,85", "", 85),
        ("0.004", "", None),
        ("101", "%", None),
        ("8.5", "", None),
        ("1.0", "", None),
    ],
)
def test_a_number_counts_on_the_scale_from_1_to_100_only(number, unit, expected):
    assert whole(number, unit) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (80, 80),
        (77.0, 77),
        (0.8, 80),
        ("77", 77),
        ("0.77", 77),
        ("80%", 80),
        ("8/10", 80),
        (1.0, None),
        (-1230, None),
        (True, None),
        (None, None),
        ([80], None),
    ],
)
def test_a_certainty_in_json_may_have_other_types(value, expected):
    assert of_json(value) == expected


@given(st.text(alphabet=st.sampled_from("[]AB 08\n%|:#*{}\"'Rresponseanswe.,选择"), max_size=80))
def test_no_text_breaks_lenient_reading_or_changes_what_strict_reading_reads(reply):
    strict, lenient = read(reply, is_lenient=False), read(reply)

    assert lenient.side in {"A", "B", None}
    assert lenient.certainty is None or 1 <= lenient.certainty <= 100
    assert lenient.side is not None or lenient.certainty is None
    if strict.side is not None:
        assert lenient.side == strict.side


@pytest.mark.parametrize(
    ("reply", "certainty"),
    [
        ("[[B]] confidence: 7 of 10", 70),
        ("[[B]] (approx. 70)", 70),
        ("[[B]] (ca. 70)", 70),
        ("[[B]] confidence: 80+", None),
        ("[[B]] certainty 80 ± 10", None),
        ("[[B]] I am not even 50% sure", None),
        ("[[B]] I cannot be 90% certain", None),
        ("[[B]] hardly 20% sure", None),
        ("[[B]] To be 90% certain I would need more.", None),
        ("[[B]] My certainty was 90 before, now 60.", None),
        ("[[B]] The certainty is 70 points lower than usual.", None),
        ("[[B]] certainty increased by 20", None),
        ("[[B]] Certainty scale: 1 = guess, 100 = certain.", None),
        ("[[B]] Certainty for A: 30", None),
        ("[[B]] Certainty for B: 70", 70),
        ("[[B]]\n\n1. It is short.", None),
    ],
)
def test_only_a_number_that_is_the_certainty_of_the_verdict_is_read(reply, certainty):
    assert (read(reply).side, read(reply).certainty) == ("B", certainty)


@pytest.mark.parametrize(
    "reply",
    [
        "A?",
        "A+",
        "[[A]][[70]][[B]]",
        "[[A]] [[80]]\nOn reflection, I meant B.",
        "[[A]] [[80]]\n\nCorrection: B.",
        "[[A]] [[80]] Wait, response B is better.",
    ],
)
def test_a_verdict_that_is_doubted_or_corrected_is_not_read(reply):
    assert read(reply, is_lenient=False).side is None


@pytest.mark.parametrize(
    "reply",
    [
        "[[A]] [[80]] Actually, B is longer.",
        "[[A]] [[80]] Wait times matter to them, and B has none.",
        "[[A]] [[80]] Sorry, B is not better.",
        "[[A]] [[80]] On reflection, A is still better.",
    ],
)
def test_a_reason_behind_a_verdict_does_not_correct_it(reply):
    assert (read(reply).side, read(reply).certainty) == ("A", 80)


@pytest.mark.parametrize(
    ("reply", "side", "certainty"),
    [
        ("The answer to your question is: [B]", "B", None),
        ("Ich entscheide mich für Antwort A (Sicherheit: 70).", "A", 70),
        ("Je pencherais pour la réponse A, certitude 60 %.", "A", 60),
        ("Yo diría que la respuesta B, con 60 % de certeza.", "B", 60),
    ],
)
def test_further_sentences_that_choose_are_read(reply, side, certainty):
    assert (read(reply).side, read(reply).certainty) == (side, certainty)
