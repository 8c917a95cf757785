"""Rankings are read where a reply states one as its own."""

from dataclasses import replace

import pytest

from extras.option_sets.listwise import LISTWISE, read_ranking


def read(text, *, is_lenient=True):
    found = read_ranking(text, "ABC", is_lenient=is_lenient)
    return (
        (None, None, None)
        if found is None
        else ("".join(found.letters), found.certainty, found.code)
    )


@pytest.mark.parametrize(
    ("text", "ranking", "certainty", "code"),
    [
        ("[[B > A > C]] [[80]]", "BAC", 80, ""),
        ("B > A > C]] [[80]]", "BAC", 80, ""),
        ("B > A > C", "BAC", None, ""),
        ("My final ranking: [[C > A > B]] [[64]]", "CAB", 64, ""),
        ("[[B > A > C]] [[80]]\n\nResponse B is closest to her profile.", "BAC", 80, ""),
        ("<think>A > B > C</think>[[C > B > A]]", "CBA", None, ""),
        ('{"ranking": ["B", "A", "C"], "certainty": 70}', "BAC", 70, "json"),
        ('{"ranking": "B > A > C"}', "BAC", None, "json"),
        ("She likes it short.\nRanking: **B > A > C**\nCertainty: 70", "BAC", 70, "label"),
        ("Response B > Response A > Response C\n\nIt is short.", "BAC", None, "label"),
    ],
)
def test_a_stated_ranking_is_read(text, ranking, certainty, code):
    assert read(text) == (ranking, certainty, code)
    assert read(text, is_lenient=False)[0] == (ranking if not code else None)


@pytest.mark.parametrize(
    "text",
    [
        "[[A > B]]",
        "[[A > B > B]]",
        "[[A > B > C]] [[80]]\n[[C > B > A]] [[80]]",
        "Not [[A > B > C]].",
        "Most people would say [[A > B > C]].",
        "If she were older, [[A > B > C]] [[80]].",
        "From worst to best: [[A > B > C]] [[70]]",
        "[[A > B > C]] [[60]]\nOn reflection, C is best.",
        "[[A > B > C]]?",
        "The format is [[A > B > C]] [[N]].",
        "A, then B, then C",
        "A > " * 5_000,
    ],
)
def test_another_reply_states_none(text):
    assert read(text)[0] is None


def test_the_choice_of_each_pair_follows_from_the_ranking():
    bound = replace(LISTWISE, shown=(4, 1, 3, 2), pair=(1, 2))
    verdict = bound.read("B > D > C > A]] [[70]]")

    assert (verdict.side, verdict.certainty) == ("A", 70)  # option 1 is B, option 2 is D
    assert verdict.details == {"ranking": [1, 2, 3, 4], "shown": [4, 1, 3, 2]}
    turned = replace(LISTWISE, shown=(4, 1, 3, 2), pair=(4, 3)).read("B > D > C > A]]")
    assert turned.side == "B"
    assert replace(LISTWISE, shown=(4, 1, 3, 2), pair=(1, 2)).read("A > B").side is None
