"""What the first screen says before its answer, next to it, and what to do next."""

import datetime
import random
from copy import deepcopy
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from analysis.report.build import all_sentences, all_tables
from analysis.report.citation import methods_paragraph
from analysis.report.quantities import Name
from analysis.report.render import render_html
from analysis.report.sections.position import SideChosen
from analysis.report.sentences import SIDES
from analysis.report.verdict.answer import POWER
from analysis.report.verdict.first_screen import verdict_of
from analysis.report.verdict.sample_size import times_more
from analysis.stats import holm
from annotation.models import Annotation
from judging.models import Attempt, Judgment
from studies.models import Item, Study
from tests.analysis.builders import MIRROR, answer, judge_item, make_rater, make_run, random_study
from tests.analysis.partial import report_of
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db

NORMAL = NormalDist()
DATE = datetime.date(2026, 11, 28)


@stored_at_once()
def judged(choices, *, n=40, state=Study.State.CLOSED, runs=("a",), wanted=0):
    """Items that one of twelve people and some judges answer.

    `choices` says whether a judge is right on an item whose right response is shown first or
    second; None if it refuses.
    """
    rng = random.Random(1)
    study = make_study(state=state, equivalence_margin=0.2, extras=[])
    personas = [make_persona(study=study) for _ in range(10)]
    raters = [make_rater(study=study) for _ in range(12)]
    made = [make_run(study=study, judge=name, orders="both") for name in runs]
    for place in range(n):
        item = make_item(
            study=study,
            persona=personas[place % 10],
            question=f"Question {place}?",
            first_person=(truth := ("r1", "r2")[place // 2 % 2]),
            seats_needed=wanted,
        )
        answer(raters[place % 12], item, truth if rng.random() < 0.75 else MIRROR[truth], 80)
        for run in made:
            for first in ("r1", "r2"):
                is_right = choices(run.judge.name, place, first == truth)
                choice = "" if is_right is None else truth if is_right else MIRROR[truth]
                state_of = "done" if choice else "refused"
                judge_item(
                    run, item, choice, 80 if choice else None, state=state_of, shown_first=first
                )
    return study


def first_screen(study):
    report = report_of(study)
    return verdict_of(report), report


def right(name, place, first):
    # A judge without any error may have seen the known answers.
    return place != 7


@pytest.fixture(scope="module")
def built_once(module_db):
    """The report of a closed study of 80 items with a judge that errs once."""
    return report_of(judged(right, n=80))


@pytest.fixture
def right_of_80(built_once):
    return deepcopy(built_once)


def test_an_open_study_is_unfinished_before_all_else():
    verdict, report = first_screen(judged(right, state=Study.State.OPEN, wanted=3))

    assert verdict.unfinished == "Unfinished: 40 of 120 answers, recruiting is open."
    assert verdict.settling == "Collect the other 80 answers, then build the report again."
    main = render_html(report, date=DATE).partition("<h1>")[2]
    assert main.index("Unfinished: ") < main.index('class="answer"')


def test_a_study_whose_answers_were_all_imported_recruits_nobody():
    study = judged(right, state=Study.State.OPEN, wanted=3)
    study.annotators.update(is_imported=True)

    verdict, _ = first_screen(study)

    assert verdict.unfinished == ""
    assert "Collect the other" not in verdict.settling


def test_a_paused_study_with_all_answers_is_closed_next():
    verdict, _ = first_screen(judged(right, n=80, state=Study.State.PAUSED, wanted=1))

    assert verdict.unfinished == ""
    assert verdict.settling.startswith("No more data are needed for ")
    assert verdict.settling.endswith("Close the study, then build the report again.")


def test_nothing_is_settled_that_was_not_registered(right_of_80):
    report = right_of_80
    verdict = verdict_of(report)

    assert verdict.unfinished == ""
    assert report["headline"]["state"] in {"better", "equivalent"}
    assert "settled" not in verdict.settling
    assert "Confirm it with a plan that is frozen before new data." in verdict.settling
    assert "No analysis plan was frozen, so everything is exploratory." in verdict.caveats

    registration = report["registration"]
    registration["plan"] = {"before_data": True}
    assert "Confirm it with a plan" in verdict_of(report).settling
    assert "This comparison departs from the analysis plan." in verdict_of(report).caveats

    for entry in (*registration["analyses"], *registration["runs"]):
        entry["mark"] = "registered"
    assert verdict_of(report).settling.startswith("It is settled for ")

    report["parameters"]["explored"] = True
    assert "Confirm it with a plan" in verdict_of(report).settling
    assert "The threshold was chosen after the data." in verdict_of(report).caveats
    registration["late_changes"] = [{"setting": "margin"}]
    assert "The threshold and margin were chosen after the data." in verdict_of(report).caveats


@pytest.mark.parametrize(
    ("state", "words"),
    [("better", "TRUSTED"), ("worse", "NOT TRUSTED"), ("cannot_tell", "INCONCLUSIVE")],
)
def test_the_answer_has_the_word_of_check(state, words, right_of_80):
    right_of_80["headline"]["state"] = state

    assert verdict_of(right_of_80).answer.trust == words
    assert f'<span class="stamp">{words}</span>' in render_html(right_of_80, date=DATE)


def test_the_answer_says_of_how_many_items(right_of_80):
    assert verdict_of(right_of_80).answer.sentence.endswith("on the 80 items that both decided.")


def test_what_changed_with_the_order_is_said_with_the_accuracy_of_a_reply():
    verdict, report = first_screen(judged(lambda name, place, first: first if place < 10 else True))

    [note] = verdict.notes
    assert note == (
        "With the order of the responses, a changed its choice on 10 of 40 items; a single reply "
        "is right on 87.5\u00a0% of 80 replies."
    )
    both = [report["judges"][0]["position"][key] for key in ("right_when_a", "right_when_b")]
    assert sum(part["correct"] for part in both) == 70


def test_judges_that_tie_or_give_the_same_answers_are_named():
    def choices(name, place, first):
        wrong = {"a": place < 10, "b": 30 <= place, "c": place < 10, "d": place < 20}[name]
        return not wrong

    verdict, report = first_screen(judged(choices, runs=("a", "b", "c", "d")))

    sentences = report["headline"]["sentences"]
    assert any(
        "Tied for the first place of 4 runs: a, b and c, each correct on 75.0 % of the 40 items"
        in sentence
        for sentence in sentences
    )
    assert "a and c give the same answer to all 40 items that both decided." in verdict.caveats
    assert verdict.notes[0] == (
        "Tied for the first place: a, b and c, 30 of 40 items right each. The answer is about a."
    )


def test_a_judge_that_refused_many_items_is_named():
    verdict, _ = first_screen(
        judged(
            lambda name, place, first: None if name == "b" and place < 12 else True, runs=("a", "b")
        )
    )

    assert "b refused 12 of 40 items; its accuracy is about the others." in verdict.caveats


def test_one_judge_is_nowhere_the_best_of_several():
    def notes(runs):
        return [
            str(table.note) for table in all_tables(report_of(judged(right, runs=runs))).values()
        ]

    assert not [note for note in notes(("a",)) if "of several" in note]
    assert len([note for note in notes(("a", "b")) if "of several" in note]) >= 3


def test_the_chapter_on_certainty_is_about_the_judge_of_the_first_screen():
    study = judged(lambda name, place, first: name == "a" or place % 3 > 0, runs=("a", "b"))
    some = [f"Question {place}?" for place in range(20)]
    Annotation.objects.filter(assignment__item__question__in=some).update(certainty=60)
    Judgment.objects.filter(item__question__in=some).update(certainty=60)
    Judgment.objects.filter(run__judge__name="a").update(certainty=None)

    report = report_of(study)

    assert report["headline"]["judge"] == report["certainty_headline"]["judge"] == "a"
    [sentence] = report["certainty_headline"]["sentences"]
    assert sentence.startswith("a states no certainty on enough items")
    assert "another judge does" in sentence


@pytest.mark.parametrize("certainty", [80, 10])
def test_items_of_high_certainty_are_called_different_only_where_they_are(certainty):
    study = judged(right, n=60)
    # The judge is certain of all items, or of all but a third.
    keys = [f"Question {place}?" for place in range(20)]
    Judgment.objects.filter(item__question__in=keys).update(certainty=certainty)

    sentences = report_of(study)["headline"]["sentences"]

    [certain] = [sentence for sentence in sentences if sentence.startswith("At high certainty")]
    assert certain.endswith("These are different items.") == (certainty == 10)


@pytest.mark.parametrize("gap", [0.0, 0.01, 0.02])
def test_the_advice_on_size_gives_four_of_five_tests_of_equivalence(gap):
    normal, margin, se = NormalDist(), 0.05, 0.04
    found = {"value": gap, "se": se, "margin": margin, "family": 1}

    factor, _ = times_more(found)

    shrunk, needed = se / factor**0.5, normal.inv_cdf(0.95)
    passes = normal.cdf((margin - gap) / shrunk - needed) - normal.cdf(
        needed - (margin + gap) / shrunk
    )
    finds = normal.cdf(gap / shrunk - normal.inv_cdf(0.975))
    assert max(passes, finds) == pytest.approx(POWER, abs=0.002)


@pytest.mark.parametrize(
    ("gaps", "least", "most"),
    [
        ((-0.03, -0.12, -0.15, -0.2), 0.65, 0.72),  # Holm's method rejects the others first
        ((-0.03, -0.12, -0.03, -0.03), 0.7, 0.9),
        ((-0.03, -0.03, -0.03, -0.03), 0.75, 0.95),
        ((-0.03, 0.0, 0.0, 0.0), 0.98, 1.02),  # it never does
    ],
)
def test_the_advice_on_size_with_several_judges_gives_four_of_five_tests_by_holm(gaps, least, most):
    found = [{"value": gap, "se": 0.02, "margin": 0.001, "family": 4, "p": 0.5} for gap in gaps]
    by_bonferroni = ((NORMAL.inv_cdf(1 - 0.05 / 8) + NORMAL.inv_cdf(0.8)) * 0.02 / 0.03) ** 2

    factor, finding = times_more(found[0], found[1:])

    assert finding == "different"
    assert least <= factor / by_bonferroni <= most
    # Studies of that size; the judges are compared with the same people.
    rng = np.random.default_rng(2)
    noise = (rng.normal(size=(3000, 4)) + rng.normal(size=(3000, 1))) / 2**0.5
    z = np.array(gaps) * factor**0.5 / 0.02 + noise
    held = [(holm([2 * NORMAL.cdf(-abs(one)) for one in study])[0] or 0) <= 0.05 for study in z]
    assert np.mean(held) == pytest.approx(POWER, abs=0.02)


def test_both_shares_of_a_side_are_over_the_same_answers():
    entry: dict[str, Any] = {"n": 900, "n_truth": 415, "share_a": 0.52, "share_a_scored": 0.539}
    entry |= {"truth_share_a": 0.508, "share_a_scored_ci": (0.49, 0.59)}

    words = light_of(entry)

    assert words == (
        "k chose side A in 53.9 % of 415 answers (of 900) with a known right side, and side A "
        "was right in 50.8 %."
    )


def light_of(entry, *tests):
    """The sentence on the sides that a run chose."""
    judge: dict[str, Any] = {"judge": "k", "run": "1", "setting": "standard", "features": "all"}
    judge |= {"position": entry, "ties": {"share_reason": "not_offered"}, "record": {"samples": 1}}
    report: dict[str, Any] = {"human": {}, "judges": [judge]}
    kinds = [{"kind": SIDES, "level": 0.01}]
    report["claims_tested"] = {"kinds": kinds, "members": list(tests)}
    return str(SideChosen.of(report, "judges.0", Name("k")).light.text)


def test_expected_and_observed_agreement_are_over_the_same_items():
    study = random_study(9, n_items=40, per_item=(3,), truths=("r1", "r2", ""), extras=[], runs=())
    report = report_of(study)
    found = report["human"]["agreement"]["from_accuracy"]

    known = [item for item in report["items"] if item["truth"]]
    agree = []
    for item in known:
        n = sum(item["votes"].values())
        agree.append(sum(k * (k - 1) for k in item["votes"].values()) / (n * (n - 1)))
    assert 0 < len(known) < 40
    assert found["items"] == len(known)
    assert found["observed"] == pytest.approx(sum(agree) / len(agree))
    assert found["observed"] != report["human"]["agreement"]["percent"]


@pytest.mark.parametrize(("ends", "has_reason"), [((0.001, 0.06), True), ((-0.01, 0.06), False)])
def test_cannot_tell_next_to_an_interval_without_0_has_its_reason(ends, has_reason):
    entry: dict[str, Any] = {"n": 240, "n_truth": 240, "share_a": 0.53, "share_a_scored": 0.53}
    entry |= {"truth_share_a": 0.5, "share_a_scored_ci": (0.49, 0.59)}
    entry |= {f"right_when_{side}": {"n": 120, "correct": 90} for side in "ab"}
    test = {
        "kind": SIDES,
        "who": "judges.0",
        "n": 240,
        "t": 1,
        "value": 0.03,
        "ci": ends,
        "p_max": 0.3,
    }

    words = light_of(entry, test)

    assert words.startswith("We cannot tell whether the side matters for k: ")
    assert words.endswith("this can be chance.") == has_reason


def test_a_judge_that_always_takes_a_side_is_named_although_none_of_its_answers_counts():
    verdict, report = first_screen(judged(lambda name, place, first: first))

    assert report["headline"]["state"] == "people_only"
    [note] = verdict.notes
    assert note.startswith("With the order of the responses, a changed its choice on 40 of 40 item")
    assert verdict.settling == "Run a judge that keeps its choice when the responses change places."


def test_a_judge_that_answers_nothing_is_not_a_judge_that_was_not_run():
    verdict, _ = first_screen(judged(lambda name, place, first: None))

    assert verdict.notes == []
    assert verdict.settling == "Run a judge whose answers count."


def test_the_method_says_which_readings_are_missing_and_who_decides_an_item():
    study = judged(right)
    some = Item.objects.filter(study=study).values_list("pk", flat=True)[:15]
    once = Judgment.objects.filter(run__study=study, shown_first="r2", item__in=list(some))
    Attempt.objects.filter(judgment__in=once).delete()
    once.delete()

    words = methods_paragraph(report_of(study))

    assert "order of the responses: both for some items, one for the others, one reading" in words
    assert "as many in each order" not in words
    assert "One person per item was correct on " in words
    assert "compared with one person per item" in words
    assert "the majority on" not in words


def test_answers_exactly_at_the_threshold_are_of_those_with_a_certainty():
    study = judged(right)
    some = Annotation.objects.filter(assignment__item__study=study).values_list("pk", flat=True)[
        :10
    ]
    Annotation.objects.filter(pk__in=list(some)).update(certainty=None, certainty_asked=False)

    texts = [str(each.text) for each in all_sentences(report_of(study), "limit")]

    assert any("Of 30 answers of people (of 40) with a certainty" in text for text in texts)


def test_a_judge_that_saw_no_persona_is_not_compared_as_if_it_had(right_of_80):
    right_of_80["judges"][0]["features"] = "none"
    assert "a did not see the persona." in verdict_of(right_of_80).caveats

    right_of_80["judges"][0]["features"] = "age,job2"
    assert "a saw only age and job2 of the persona." in verdict_of(right_of_80).caveats


def test_a_judge_left_out_of_the_first_screen_is_named_once(right_of_80):
    right_of_80["judges"].append({**right_of_80["judges"][0], "judge": "b", "items": 10})
    right_of_80["judges"][1] |= {"run": "b", "competes": False}
    right_of_80["comparison"].append({**right_of_80["comparison"][0], "judge": "b", "run": "b"})

    texts = [str(each.text) for each in all_sentences(right_of_80, "missing")]

    assert sum("10 items (of 80)" in text for text in texts) == 1
