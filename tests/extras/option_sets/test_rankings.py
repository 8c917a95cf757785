"""Rankings are read from replies in many forms, and never the wrong way round.

`rankings.jsonl` has replies that the rules know. `unseen_rankings.jsonl` was written after the
rules and measured once: move its replies to the corpus when you change the rules, and write new
ones.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from extras.option_sets.listwise import LETTERS, LISTWISE
from extras.option_sets.rankings import read_ranking
from judging.engine.replies import without_thoughts


def replies(name):
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


REPLIES = replies("rankings.jsonl")
UNSEEN = replies("unseen_rankings.jsonl")


def read(reply, *, is_lenient):
    letters = LETTERS[: reply["k"]]
    found = read_ranking(without_thoughts(reply["text"]), letters, is_lenient=is_lenient)
    return (None, None) if found is None else ("".join(found.letters), found.certainty)


@pytest.mark.parametrize("reply", REPLIES, ids=lambda reply: ascii(reply["text"][:40]))
def test_a_reply_is_read_as_a_reader_understands_it(reply):
    is_read = reply["form"] != "lost"  # it states a ranking in a way that is asked again
    expected = (reply["ranking"], reply["certainty"]) if is_read else (None, None)

    assert read(reply, is_lenient=True) == expected
    strictly = read(reply, is_lenient=False)
    assert strictly == (expected if reply["form"] == "strict" else (None, None))


def test_no_unseen_reply_is_given_a_ranking_that_it_does_not_state():
    stated = [reply for reply in UNSEEN if reply["ranking"]]
    readings = {reply["text"]: read(reply, is_lenient=True) for reply in UNSEEN}

    assert readings == {reply["text"]: (reply["ranking"], reply["certainty"]) for reply in UNSEEN}
    assert (len(stated), len(UNSEEN)) == (10, 35)
    assert not set(readings) & {reply["text"] for reply in REPLIES}


def test_most_stated_rankings_of_the_corpus_are_read():
    stated = [reply for reply in REPLIES if reply["ranking"]]
    lost = [reply for reply in stated if reply["form"] == "lost"]

    assert len(lost) <= 0.12 * len(stated)


@pytest.mark.parametrize(
    ("text", "ranking"),
    [
        ("[[A > B > C]]" + " " * 19_000, "ABC"),
        ("A > " * 5_000, None),
        ("Ranking: A > B > C\n" * 1_000, None),
    ],
)
def test_a_very_long_reply_is_read_or_given_up_and_not_searched_for_minutes(text, ranking):
    assert read({"text": text, "k": 3}, is_lenient=True)[0] == ranking


def test_the_choice_of_each_pair_follows_from_the_ranking():
    bound = replace(LISTWISE, shown=(4, 1, 3, 2), pair=(1, 2))
    verdict = bound.read("B > D > C > A]] [[70]]")

    assert (verdict.side, verdict.certainty) == ("A", 70)  # option 1 is B, option 2 is D
    assert verdict.details == {"ranking": [1, 2, 3, 4], "shown": [4, 1, 3, 2]}
    turned = replace(LISTWISE, shown=(4, 1, 3, 2), pair=(4, 3)).read("B > D > C > A]]")
    assert turned.side == "B"
    assert replace(LISTWISE, shown=(4, 1, 3, 2), pair=(1, 2)).read("A > B").side is None
