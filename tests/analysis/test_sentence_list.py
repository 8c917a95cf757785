"""`report --sentences` shows every sentence with its numbers and what they are about."""

import json

import pytest
from django.core.management import CommandError, call_command

from analysis.report.quantities import Name, Population, Quantity, recorded, say
from analysis.report.sentence_list import (
    OF_QUANTITIES,
    UNKNOWN,
    WITHOUT_NUMBER,
    ListedNumber,
    sentences_of,
)
from tests.analysis.builders import little_study

ALIKE = Population("item", "on which both orders agree", 77, 240)
PAGE = """
<header><h1>k</h1><p>Yes. k is right on <a>79.2\u00a0%</a> of 77 items (of 240) on which both
orders agree.</p><ul><li>80 people are 8&nbsp;%.</li></ul><h2>Keep in mind</h2></header>
<nav><ul><li>1 Contents.</li></ul></nav>
<section><h2>1 What was found</h2><p class="stamp">Threshold 80</p><p>Nothing is settled.</p>
<figure><h3>k beats 3 of 4</h3><svg><text>5.</text></svg>
<p class="visually-hidden">6 bars.</p></figure>
<table><tr><td><p>7 items.</p></td></tr></table></section>
<script>"8."</script>
"""


def test_every_sentence_of_a_page_has_its_chapter_its_numbers_and_what_they_are_about():
    with recorded() as texts:
        accuracy = Quantity("share", ALIKE, 0.792, "judges.0.accuracy")
        say("{who} is right on {x} of {x.of}. Nothing else.", who=Name("k"), x=accuracy)

    sentences = list(sentences_of(PAGE, texts))

    assert [(one.chapter, one.text, one.kind) for one in sentences] == [
        ("First screen", "Yes.", WITHOUT_NUMBER),
        (
            "First screen",
            "k is right on 79.2 % of 77 items (of 240) on which both orders agree.",
            OF_QUANTITIES,
        ),
        ("First screen", "80 people are 8 %.", UNKNOWN),
        ("1 What was found", "Nothing is settled.", WITHOUT_NUMBER),
        ("1 What was found", "k beats 3 of 4", UNKNOWN),
    ]
    assert sentences[1].numbers == [ListedNumber("79.2 %", "share", "judges.0.accuracy", of=0)]
    assert sentences[1].populations == [ALIKE]


@pytest.mark.django_db
def test_the_command_lists_the_sentences_of_a_report_and_counts_them(capsys):
    study = little_study(7)
    options = ("report", study.slug, "--sentences", "--bootstrap", "100")

    call_command(*options, "--json")
    content = json.loads(capsys.readouterr().out)
    call_command(*options)
    words = capsys.readouterr().out

    kinds = [sentence["kind"] for sentence in content["sentences"]]
    assert content["kinds"] == {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    about = {
        sentence["populations"][number["of"]]["kind"]
        for sentence in content["sentences"]
        for number in sentence["numbers"]
        if number["of"] is not None
    }
    assert "item" in about
    numbered = len(kinds) - kinds.count(WITHOUT_NUMBER)
    known = kinds.count(OF_QUANTITIES)
    assert words.endswith(
        f"{len(kinds)} sentences; {known} of the {numbered} with a number are made of quantities.\n"
    )
    assert all(sentence["text"] in words for sentence in content["sentences"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("a", "b", "--sentences"), "--sentences needs one study"),
        (("a", "--json"), "Add --sentences"),
        (("a",), "with --out"),
    ],
)
def test_it_needs_one_study_and_somewhere_to_write(options, words):
    with pytest.raises(CommandError, match=words):
        call_command("report", *options)
