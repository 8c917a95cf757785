"""Quantities know their population, and no sentence can mix populations."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.report.quantities import (
    CHANCE,
    Contradiction,
    Finding,
    Name,
    NotASlot,
    OtherPopulation,
    Population,
    Quantity,
    TestResult,
    Words,
    by_population,
    claim,
    clause,
    difference,
    names,
    ratio,
    say,
)

ALL = Population("item", "", 300, 300)
DECIDED = Population("item", "that k decided", 240, 300)
ALIKE = Population("item", "that both orders decide alike", 77, 240)


def share(value, of, name="accuracy", **more):
    return Quantity(name, name, "share", of, value, **more)


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


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": None},
        {"value": 0.5, "reason": "tie"},
        {"value": math.nan},
        {"value": 1.2},
        {"value": 0.5, "low": 0.4},
        {"value": 0.5, "low": 0.6, "high": 0.4},
    ],
)
def test_a_quantity_has_a_finite_value_or_a_reason(wrong):
    with pytest.raises(ValueError, match="accuracy"):
        Quantity("accuracy", "accuracy", "share", ALL, **wrong)


@pytest.mark.parametrize("combine", [difference, ratio])
def test_results_of_two_quantities_need_one_population(combine):
    with pytest.raises(OtherPopulation, match=r"77 items \(of 240\).*300 items"):
        combine(share(0.7, ALIKE), share(0.6, ALL))
    with pytest.raises(OtherPopulation):
        combine(share(0.7, ALL), share(0.6, None))

    assert combine(share(0.6, ALL), share(0.5, ALL)).of == ALL


def test_a_difference_of_shares_is_in_points_and_what_is_undefined_stays_so():
    gap = difference(share(0.7, ALL), share(0.65, ALL))
    assert (gap.unit, gap.shown()) == ("points", "+5.0")
    without = difference(share(None, ALL, reason="tie"), share(0.5, ALL))
    assert (without.value, without.reason) == (None, "tie")
    assert ratio(share(0.5, ALL), share(0.0, ALL)).reason == "empty_group"


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
    assert str(say("{who} are right.", who=names(["k", "J"]))) == "k and J are right."
    assert str(say("{who} are right.", who=Words("people"))) == "People are right."
    inner = clause("{who} is right", who=Name("k"))
    assert str(say("{inner}.", inner=inner)) == "k is right."
    assert str(say("Best: {who}.", who=Name("Acme Inc."))) == "Best: Acme Inc."


def test_few_units_are_a_count_and_undefined_numbers_are_not_said():
    few = Population("item", "", 5, 5)
    assert str(say("right on {x} of {x.of}.", x=share(0.4, few))) == "Right on 2 of 5 items."
    with pytest.raises(Contradiction, match="undefined"):
        say("{x}.", x=share(None, few, reason="tie"))
    assert str(say("Not known: {x.why}.", x=share(None, few, reason="tie"))) == (
        "Not known: the maximum is shared."
    )


def test_numbers_keep_their_place_in_report_json():
    x = share(0.7, ALL, low=0.6, high=0.8, path="judges.0.accuracy", interval_path="judges.0.ci")
    text = say("{who}: {x} ({x.interval}).", who=Name("k"), x=x)
    assert str(text) == "k: 70.0 % (95 % CI 60.0–80.0 %)."
    assert [n["path"] for n in text.numbers] == ["judges.0.accuracy", "judges.0.ci"]
    assert all(str(text)[n["at"] :].startswith(n["text"]) for n in text.numbers)


FORMS = {
    Finding.ABOVE: "{who} did better ({x} points, p {test.p}).",
    Finding.BELOW: "{who} did worse ({x} points, p {test.p}).",
    Finding.OPEN: "We cannot tell whether {who} did better.",
}


def gap(value, low, high, of=ALL):
    return Quantity("gap", "the difference", "points", of, value, low=low, high=high)


@pytest.mark.parametrize(
    ("finding", "value", "begins"),
    [
        (Finding.ABOVE, gap(0.1, 0.05, 0.15), "k did better (+10.0 points, p = .010)."),
        (Finding.BELOW, gap(-0.1, -0.15, -0.05), "k did worse (−10.0 points, p = .010)."),
        (Finding.ABOVE, gap(0.1, -0.05, 0.15), "We cannot tell whether k did better."),
        (Finding.OPEN, gap(0.1, 0.05, 0.15), f"We cannot tell whether k did better.{CHANCE}"),
    ],
)
def test_a_claim_says_what_its_test_and_its_interval_say(finding, value, begins):
    test = TestResult(finding, ALL, p=0.01)
    assert str(claim(FORMS, test, value, who=Name("k"))) == begins


def test_a_test_of_another_population_or_direction_is_refused():
    with pytest.raises(OtherPopulation):
        claim(FORMS, TestResult(Finding.ABOVE, ALIKE), gap(0.1, 0.05, 0.15), who=Name("k"))
    with pytest.raises(Contradiction):
        claim(FORMS, TestResult(Finding.BELOW, ALL), gap(0.1, 0.05, 0.15), who=Name("k"))


def test_the_form_with_both_populations_is_used_only_where_they_differ():
    forms = ("{x} and {y} of {x.n}.", "{x} of {x.of} and {y} of {y.of}.")
    same = by_population(*forms, x=share(0.7, ALL), y=share(0.6, ALL))
    apart = by_population(*forms, x=share(0.7, DECIDED), y=share(0.6, ALL))
    assert str(same) == "70.0 % and 60.0 % of 300 items."
    assert str(apart) == "70.0 % of 240 items (of 300) that k decided and 60.0 % of 300 items."


populations = st.builds(
    lambda kind, rule, n, more: Population(kind, rule, n, n + more),
    st.sampled_from(["item", "answer", "person"]),
    st.sampled_from(["", "that k decided", "that both decided"]),
    st.integers(0, 2000),
    st.integers(0, 50),
)
shares = st.builds(share, st.floats(0, 1), populations)


@given(shares, shares, st.sampled_from(["of", "n", "count"]), st.sampled_from(["of", "n", "count"]))
def test_no_form_gets_two_populations_into_a_sentence_without_naming_them(x, y, one, other):
    form = f"{{x}} of {{x.{one}}}, {{y}} of {{y.{other}}}."
    if x.of.is_same(y.of) or (one == "of" and other == "of"):
        words = str(say(form, x=x, y=y))
        assert words.count(str(x.of) if one == "of" else f"{x.n:,}") >= 1
        assert ".." not in words
    else:
        with pytest.raises(OtherPopulation):
            say(form, x=x, y=y)
