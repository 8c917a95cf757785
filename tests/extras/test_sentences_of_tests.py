"""Sentences of extras about tests say what their numbers say, whatever these are."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.report.quantities import recorded
from analysis.report.section import Sentence
from tests.analysis.test_result_sentences import NAMES, counts, intervals, is_sound, put, shares

LEVELS = st.sampled_from([0.0, 0.0125, 0.05])
adjusted = st.sampled_from([0.0001, 0.01, 0.04, 0.2, 1.0])


@st.composite
def entries_of(draw, *, key="value", p="p_holm", few=False):
    """The entry of a test: its number or why there is none, interval and p, in any combination."""
    n = draw(st.integers(2, 400))
    entry = {"n": n, key: None, f"{key}_reason": "empty_group", "ci": None, p: None}
    entry |= {"ci_reason": "empty_group", "p_reason": "empty_group", "p": None, "p_none": None}
    if few and draw(st.booleans()):
        return entry
    value = draw(st.sampled_from([-1, 1])) * draw(shares)
    entry[key] = value
    put(entry, "ci", draw(intervals(value)))
    if entry["ci"]:
        entry |= {name: draw(adjusted) for name in ("p", p, "p_none")}
    return entry


def named(draw, entry):
    return {
        "judge": draw(st.sampled_from(NAMES)),
        "setting": "certainty",
        "features": "all",
    } | entry


@st.composite
def graded(draw):
    strength = {"certainty": draw(entries_of(p="p")), "right": draw(entries_of(p="p", few=True))}
    higher = {"n": 300, "value": draw(shares)}
    judges = [named(draw, {"run": "a", "level": draw(entries_of(few=True))})]
    people = {"n": 400, "equal": draw(st.integers(0, 400)), "chosen_higher": higher}
    by_strength = named(draw, {"run": "a", "difference": draw(entries_of(few=True))})
    for key in ("strong", "slight"):
        by_strength[key] = {"n": 40, "value": draw(shares)}
    one = named(draw, {"run": "a", "difference": draw(entries_of(few=True))})
    for key in ("by_judge", "by_others"):
        one[key] = {"n": 40, "value": draw(shares)}
    strength = {"people": strength, "by_strength": [by_strength]}
    found = {"strength": strength, "one": [one], "scores": {"people": people, "judges": judges}}
    return {"graded": found | {"answers": 400, "reasons": draw(counts)}}


@st.composite
def remarks(draw):
    pairs = {name: {"n": 20, "value": draw(shares)} for name in ("same", "meet")}
    either = {"either": {"n": 9, "value": draw(shares)}, "pairs": pairs}
    either["when_wrong"] = draw(entries_of(p="p", few=True))
    others = {name: draw(entries_of(p="p", few=True)) for name in ("above", "popular")}
    others |= {"popular_right": draw(shares), "majority_right": draw(shares)}
    judges = [named(draw, {"run": "a", "n": 5, "above": draw(entries_of(few=True))})]
    flagged = draw(st.integers(0, 20))
    flags = {
        "asked": draw(st.integers(flagged, 400)),
        "answers": flagged,
        "items": flagged,
        "by_two": flagged // 2,
    }
    others = {"people": others, "judges": judges}
    found = {"answers": 400, "flags": flags, "either": {"people": either}, "others": others}
    return {"remarks": found}


@st.composite
def insight(draw):
    people = {"n": draw(st.integers(1, 900)), "m_ratio": draw(shares)}
    put(people, "m_ratio_ci", draw(intervals(people["m_ratio"])))
    entries = [
        {"run": "a", "n": draw(st.integers(1, 300)), "difference": draw(entries_of(few=True))}
    ]
    judges = [named(draw, entry) for entry in entries]
    return {"insight": {"people": people, "judges": judges}, "judges": judges}


@st.composite
def rules(draw):
    rule = draw(entries_of(key="difference"))
    rule |= {"support": rule["n"], "text": "The response has “2 lists”", "judge": draw(shares)}
    more = rule | {"difference": draw(shares), "people": draw(shares)}
    both = [rule | {"people": draw(shares)}, more]
    return {"rules": [named(draw, {"run": "a", "items": 400, "rules": both})]}


@st.composite
def counterfactual(draw):
    judges = [named(draw, {"run": "a", "beyond_people": draw(entries_of())})]
    changed = {"label": "Age", "pairs": 400, "judges": judges}
    return {"bias": {"counterfactual": {"attributes": [changed]}}}


@st.composite
def signal(draw):
    def side():
        gain = draw(entries_of(few=True))
        detectable = draw(st.none() | st.floats(0.01, 1)) if gain["ci"] else None
        moved = draw(entries_of())
        return {"n": gain["n"], "gain": gain, "moved": moved, "detectable": detectable}

    judges = [named(draw, {"run": "a"} | side())]
    found = {"pairs": 400, "margin": 0.05, "people": side(), "judges": judges}
    return {"persona_signal": found, "headline": {}}


@st.composite
def arms(draw):
    def differences():
        entry = draw(entries_of(few=True)) | {"one": "debate", "other": "none"}
        return [entry | {"detectable": draw(st.none() | st.floats(0.01, 1))}]

    judges = [named(draw, {"run": "a", "differences": differences()})]
    people = {"arms": {"none": {"n": draw(st.integers(0, 1))}}, "differences": differences()}
    return {"arms": {"items": 400, "people": people, "judges": judges}}


@st.composite
def wordings(draw):
    committed = {"difference": draw(entries_of(few=True)), "n": draw(st.integers(1, 400))}
    committed |= {f"{name}_right": draw(shares) for name in ("committed", "usual")}
    effect = {"factor": "wording", "share": draw(shares), "p_holm": draw(adjusted)}
    asked = {"effects": [effect], "effects_n": 40, "low": 0.5, "high": 0.6}
    seen = {"difference": draw(entries_of(few=True)), "n": draw(st.integers(1, 400))}
    seen |= {f"{name}_right": draw(shares) for name in ("reference", "usual")}
    seen |= {"usual": "b", "items": 40, "given_away": draw(st.integers(0, 40))}
    seen["right_given_away"] = draw(st.integers(0, seen["given_away"]))
    return {
        "with_reference": [named(draw, seen)],
        "committed": [named(draw, committed)],
        "wording": [named(draw, asked | {"fixed_beforehand": True})],
    }


@st.composite
def panels(draw):
    groups = [
        {"name": name, "people": 12, "accuracy_above": draw(st.floats(-1, 1))}
        for name in ("k", "2nd")
    ]
    tests = [{"of": "accuracy", "people": 24, "panels": 2, "p": 0.1, "p_holm": draw(adjusted)}]
    return {"panels": {"groups": groups, "tests": tests}}


CHAPTERS = {
    "graded.chapter": ("CHAPTER", graded),
    "remarks.chapter": ("CHAPTER", remarks),
    "methods.insight": ("INSIGHT", insight),
    "rules.chapter": ("CHAPTER", rules),
    "personas.chapter": ("CHAPTER", counterfactual),
    "personas.signal_chapter": ("CHAPTER", signal),
    "advice.arms_chapter": ("CHAPTER", arms),
    "judges_compared.wording": ("WORDINGS", wordings),
    "panels.chapter": ("CHAPTER", panels),
}


def word_and_interval_agree(words):
    """A claim has an interval without 0, and an interval without 0 next to no claim its reason."""
    for low, high in re.findall(r"95 % CI ([+−]?[\d.]+) to ([+−]?[\d.]+)", words):
        ends = [float(end.replace("−", "-")) for end in (low, high)]
        # 0.0 is a rounded end.
        excludes = 0 not in ends and (ends[0] > 0 or ends[1] < 0)
        if excludes and words.startswith("We cannot tell"):
            assert "can be chance" in words, words
        if ends[0] < 0 < ends[1]:
            is_claim = re.match(r".* (more|less|higher|lower|fewer|misleads)\b[^:]*: ", words)
            assert "cannot tell" in words or not is_claim, words


@pytest.mark.parametrize("module", CHAPTERS)
@settings(max_examples=25, derandomize=True)
@given(data=st.data(), level=LEVELS)
def test_every_sentence_of_these_chapters_is_sound_whatever_the_numbers(module, data, level):
    chapter, reports = CHAPTERS[module]
    section = getattr(pytest.importorskip(f"extras.{module}"), chapter)
    report = data.draw(reports()) | {"inputs": {"items": 400}, "claims_tested": {"kinds": []}}
    kinds = section.claims(report) if section.has_claims else ()
    report["claims_tested"]["kinds"] = [{"kind": kind, "level": level} for kind in kinds]

    with recorded() as texts:
        sentences: list[Sentence] = list(section.sentences(report))

    assert sentences
    for text in texts:
        is_sound(text, NAMES)
        word_and_interval_agree(str(text))
    claims = [each for each in sentences if "adjusted p" in str(each.text)]
    if not level:
        assert all("cannot tell" in str(each.text) for each in claims), claims
