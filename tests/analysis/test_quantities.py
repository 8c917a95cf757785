"""Quantities know their population, and no sentence can mix populations."""

import ast
import math
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from analysis.report.quantities import (
    Name,
    NotASlot,
    OtherPopulation,
    Population,
    Quantity,
    Words,
    clause,
    joined,
    say,
)

ALL = Population("item", "", 300, 300)
DECIDED = Population("item", "that k decided", 240, 300)
ALIKE = Population("item", "that both orders decide alike", 77, 240)


def share(value, of, path=""):
    return Quantity("share", of, value, path)


def test_a_population_says_how_many_of_how_many_by_which_rule():
    assert str(ALIKE) == "77 items (of 240) that both orders decide alike"
    assert str(ALL) == "300 items"
    assert str(Population("person", "who answered", 1, 3)) == "1 person (of 3) who answered"
    assert str(Population("pair of answers", n=1200)) == "1,200 pairs of answers"


def test_all_units_are_the_same_population_by_any_rule():
    assert ALL.is_same(Population("item", "that k decided", 300, 300))
    assert not ALL.is_same(DECIDED)
    assert not DECIDED.is_same(replace(DECIDED, rule="that j decided"))
    assert not DECIDED.is_same(replace(DECIDED, kind="answer"))


@pytest.mark.parametrize("of", [{"n": -1}, {"n": 5, "among": 4}])
def test_impossible_numbers_are_no_population(of):
    with pytest.raises(ValueError, match="is no population"):
        Population("item", **of)


@pytest.mark.parametrize("value", [math.nan, math.inf, 1.2, -0.1])
def test_a_share_is_a_number_from_0_to_1(value):
    with pytest.raises(ValueError, match=r"share|finite"):
        share(value, ALL)


def test_a_sentence_that_mixes_populations_cannot_be_made():
    forms = ("{x} and {y}.", "{x} of {x.of}, {y} of {y.n}.")
    for form in forms:
        with pytest.raises(OtherPopulation, match="does not name"):
            say(form, x=share(0.7, ALIKE), y=share(0.6, ALL))

    both = say("{x} of {x.of} and {y} of {y.of}.", x=share(0.7, ALIKE), y=share(0.6, ALL))
    assert str(both) == (
        "70.0 % of 77 items (of 240) that both orders decide alike and 60.0 % of 300 items."
    )
    assert str(say("{x} and {y} of {x.n}.", x=share(0.7, ALL), y=share(0.6, ALL))) == (
        "70.0 % and 60.0 % of 300 items."
    )


def test_clauses_keep_the_populations_of_their_numbers():
    first = clause("{x} of {x.n}", x=share(0.7, ALIKE))
    with pytest.raises(OtherPopulation):
        say("{first}, and {y}.", first=first, y=share(0.6, ALL))


@pytest.mark.parametrize("slot", ["65.0 %", 0.65, 77, None])
def test_a_sentence_takes_no_bare_numbers_and_texts(slot):
    with pytest.raises(NotASlot):
        say("right on {x}.", x=slot)
    with pytest.raises(NotASlot):
        Words("right on 77 items")


def test_a_name_stays_as_it_is_written_and_words_get_a_capital():
    assert str(say("{who} is right.", who=Name("k"))) == "k is right."
    both = joined([clause("{who}", who=Name(name)) for name in ("k", "J")])
    assert str(say("{who} are right.", who=both)) == "k and J are right."
    assert str(say("{who} are right.", who=Words("people"))) == "People are right."
    inner = clause("{who} is right", who=Name("k"))
    assert str(say("{inner}.", inner=inner)) == "k is right."
    assert str(say("Best: {who}.", who=Name("Acme Inc."))) == "Best: Acme Inc."


def test_few_units_are_a_count():
    few = Population("item", "", 5, 5)
    assert str(say("right on {x} of {x.of}.", x=share(0.4, few))) == "Right on 2 of 5 items."


def test_numbers_keep_their_place_in_report_json():
    text = say("{who}: {x}.", who=Name("k"), x=share(0.7, ALL, path="judges.0.accuracy"))
    assert text.numbers == [{"at": 3, "text": "70.0 %", "path": "judges.0.accuracy"}]


populations = st.builds(
    lambda kind, rule, n, more: Population(kind, rule, n, n + more),
    st.sampled_from(["item", "answer", "person"]),
    st.sampled_from(["", "that k decided", "that both decided"]),
    st.integers(0, 2000),
    st.integers(0, 50),
)
shares = st.builds(share, st.floats(0, 1), populations)


@given(shares, shares, st.sampled_from(["of", "n"]), st.sampled_from(["of", "n"]))
def test_no_form_gets_two_populations_into_a_sentence_without_naming_them(x, y, one, other):
    form = f"{{x}} of {{x.{one}}}, {{y}} of {{y.{other}}}."
    if x.of.is_same(y.of) or (one == "of" and other == "of"):
        words = str(say(form, x=x, y=y))
        assert words.count(str(x.of) if one == "of" else f"{x.of.n:,}") >= 1
        assert ".." not in words
    else:
        with pytest.raises(OtherPopulation):
            say(form, x=x, y=y)


def made_of_values(path):
    """Notes of tables, and titles and captions of figures, with values outside of quantities."""
    for call in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in WITH_WORDS:
            words = call.args[WITH_WORDS[call.func.id]]
            words += [keyword.value for keyword in call.keywords if keyword.arg == "note"]
            for part in (node for argument in words for node in ast.walk(argument)):
                # Constants, such as what italics mean, have no value of a report.
                if isinstance(part, ast.FormattedValue) and not isinstance(part.value, ast.Name):
                    yield f"{path}:{part.lineno}"


# Where the words are among the arguments.
WITH_WORDS = {"Table": slice(4, 5), "table_of_entries": slice(4, 5), "Figure": slice(1, 3)}


def test_titles_of_figures_and_notes_of_tables_have_values_as_quantities_only():
    folder = Path(settings.BASE_DIR, "analysis", "report")
    assert [place for path in folder.rglob("*.py") for place in made_of_values(path)] == []
