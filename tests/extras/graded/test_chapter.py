"""The chapter on grades: its numbers, and what it claims."""

from datetime import date

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from analysis.data.dataset import load_dataset
from analysis.report.render import render_html
from analysis.report.verdict.first_screen import verdict_of
from analysis.stats import Sharing
from annotation.models import Annotation
from extras.graded.agreement import RatedRows, graded_kappa, signed, within_people
from extras.graded.chapter import CHAPTER
from extras.graded.graded_answers import GradedAnswers
from extras.graded.models import Grades
from extras.graded.setup import set_questions
from extras.graded.strong_and_slight import STRONG_FROM
from judging.models import Judgment
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.extras.graded.answering import ALL, CRITERIA
from tests.factories import make_item, make_study, store, stored_at_once

pytestmark = pytest.mark.django_db


@stored_at_once()
def filled(study, items, *, raters, parts):
    """Each person answers one of so many parts of the items.

    People whose strength follows their certainty, and a judge that scores one step higher.
    """
    rng = np.random.default_rng(3)
    runs = {
        name: make_run(study=study, judge=name, setting=name)
        for name in ("score-5", "strength", "criteria")
    }
    quality = rng.integers(2, 5, size=(len(items), 2))
    for n in range(raters):
        rater = make_rater(study=study)
        for item, good in list(zip(items, quality, strict=True))[n % parts :: parts]:
            scores = np.clip(good + rng.integers(-1, 2, 2), 1, 5)
            choice = "r1" if scores[0] >= scores[1] else "r2"
            strength = int(rng.integers(1, 4))
            given = answer(rater, item, choice, 30 * strength + int(rng.integers(-9, 9)))
            store(
                Grades(
                    answer=given,
                    revision=1,
                    strength=strength,
                    score_1=scores[0],
                    score_2=scores[1],
                    criteria={"clear": choice, "kind": ("r1", "tie")[n % 2]},
                    reason="Because" if n else "",
                )
            )
    for item, good in zip(items, quality, strict=True):
        higher = {"r1": int(good[0]) + 1, "r2": int(good[1]) + 1}
        side = "r1" if good[0] >= good[1] else "r2"
        judge_item(runs["score-5"], item, side, None, details={"scores": higher})
        judge_item(runs["strength"], item, side, None, details={"strength": 2})
        verdicts = {"clear": side, "kind": "r1"}
        judge_item(runs["criteria"], item, side, None, details={"criteria": verdicts})


def made(*, items=24, raters=10, parts=1):
    study = make_study(criteria=CRITERIA)
    rows = [make_item(study=study, key=f"i{n:02}", question=f"Q{n}?") for n in range(items)]
    set_questions(study_id=study.pk, wanted=ALL, user=None)
    filled(study, rows, raters=raters, parts=parts)
    return study


def matrix(values):
    """Ratings by rater and target, of data in which everybody rated everything, by item."""
    rows = [
        values(each)
        for each in Grades.objects.order_by(
            "answer__assignment__item__key", "answer__assignment__annotator__pseudonym"
        )
    ]
    return np.array(rows, dtype=float)


@pytest.mark.nightly
def test_the_numbers_are_those_of_other_implementations():
    found = report_of(made())["graded"]

    n = 24
    strength = matrix(lambda g: g.strength * (1 if g.answer.choice == "r1" else -1)).reshape(n, 10)
    scores = matrix(lambda g: (g.score_1, g.score_2)).reshape(n, 10, 2).transpose(0, 2, 1)
    by_target = scores.reshape(2 * n, 10)
    alphas = (
        krippendorff.alpha(strength.T, level_of_measurement="ordinal"),
        krippendorff.alpha(by_target.T, level_of_measurement="interval"),
    )
    people = found["strength"]["people"], found["scores"]["people"]
    assert [each["alpha"]["value"] for each in people] == pytest.approx(alphas)
    assert (people[1]["icc_raters"], people[1]["icc_targets"]) == (10, 48)
    # ICC(2,1) from the mean squares of a two-way table.
    grand = by_target.mean()
    rows, columns = by_target.mean(1) - grand, by_target.mean(0) - grand
    rest = by_target - grand - rows[:, None] - columns
    ms = [10 * (rows**2).sum() / 47, 48 * (columns**2).sum() / 9, (rest**2).sum() / (47 * 9)]
    icc = (ms[0] - ms[2]) / (ms[0] + 9 * ms[2] + 10 * (ms[1] - ms[2]) / 48)
    assert people[1]["icc"] == pytest.approx(icc)
    (judge,) = found["scores"]["judges"]
    higher = np.array([[r["r1"], r["r2"]] for r in _scores_of_judge()])
    assert judge["level"]["value"] == pytest.approx((higher - scores.mean(2)).mean() / 4)
    assert found["criteria"]["people"][0]["own"]["value"] == 1.0
    assert found["criteria"]["people"][1]["equal"] == 0.5
    assert found["criteria"]["judges"][0]["by_criterion"][0]["people"]["n"] > 20
    assert found["reasons"] == 9 * n


def _scores_of_judge():
    rows = Judgment.objects.filter(run__setting="score-5").order_by("item__key")
    return [details["scores"] for details in rows.values_list("details", flat=True)]


@pytest.mark.nightly
def test_claims_are_made_where_their_tests_hold():
    report = report_of(made(items=60, raters=30, parts=6))

    caveats = verdict_of(report).caveats
    assert [text for text in caveats if text.startswith("score-5 gives higher scores than people")]
    page = render_html(report, date=date(2026, 1, 1))
    assert "People state a higher certainty where their preference is stronger" in page
    assert "score-5 gives higher scores than people" in page
    assert "People are right more often where" not in page
    words = [str(sentence.text) for sentence in CHAPTER.sentences(report)]
    assert "People gave a reason for 290 of 300 answers." in words


@pytest.mark.nightly
def test_judges_are_compared_where_people_prefer_strongly_and_with_one_annotator():
    report = report_of(made(items=40, raters=12, parts=4))

    answers: dict[str, list[tuple[str, int]]] = {}
    for given in Annotation.objects.select_related("assignment__item"):
        strength = given.grades.get().strength
        answers.setdefault(given.assignment.item.key, []).append((given.choice, strength))
    judge = {
        row["item__key"]: row["choice"]
        for row in Judgment.objects.filter(run__setting="strength").values("item__key", "choice")
    }
    strong: list[bool] = []
    slight: list[bool] = []
    alone = []
    for key, votes in answers.items():
        choices = [choice for choice, _ in votes]
        mean = abs(np.mean([s if choice == "r1" else -s for choice, s in votes]))
        same = judge[key] == max(set(choices), key=choices.count)
        (strong if mean >= STRONG_FROM else slight).append(same)
        for place, choice in enumerate(choices):
            others = choices[:place] + choices[place + 1 :]
            if len(set(others)) == 1:
                alone.append((judge[key] == choice, others[0] == choice))
    (entry,) = [
        each
        for each in report["graded"]["strength"]["by_strength"]
        if each["setting"] == "strength"
    ]
    assert (entry["strong"]["n"], entry["slight"]["n"]) == (len(strong), len(slight))
    assert entry["difference"]["value"] == pytest.approx(np.mean(strong) - np.mean(slight))
    (entry,) = [each for each in report["graded"]["one"] if each["setting"] == "strength"]
    by_judge, by_others = np.array(alone).mean(axis=0)
    assert entry["by_judge"] == {"n": len(alone), "value": pytest.approx(by_judge)}
    assert entry["by_others"]["value"] == pytest.approx(by_others)
    assert entry["difference"]["value"] == pytest.approx(by_judge - by_others)
    page = render_html(report, date=date(2026, 1, 1))
    for table in CHAPTER.tables(report):
        assert f'id="table-{table.name}"' in page
    assert "the answer of one annotator" in page
    assert "where people prefer strongly" in page


def test_grades_are_a_part_of_what_a_report_is_made_from():
    study = made()
    before = load_dataset(study.slug)
    grades = Grades.objects.first()
    Grades.objects.filter(pk=grades.pk).update(strength=grades.strength % 3 + 1)
    after = load_dataset(study.slug)

    assert before.inputs_hash != after.inputs_hash
    assert after.of(GradedAnswers).people.has_reason.sum() == 9 * 24


def test_a_study_with_few_or_odd_grades_says_what_is_missing():
    study = make_study()
    item = make_item(study=study, first_person="")
    judge_item(make_run(study=study, judge="j"), item, "r1", None)
    set_questions(study_id=study.pk, wanted=ALL | {"criteria": False}, user=None)
    assert (
        report_of(study)["graded"]["scores"]["people"]["alpha"]["value_reason"] == "too_few_items"
    )
    tie = answer(make_rater(study=study), item, "tie")
    store(Grades(answer=tie, revision=1, score_1=3, score_2=3))

    report = report_of(study)

    people = report["graded"]["strength"]["people"]
    assert (people["n"], people["ties"], people["certainty"]["value"]) == (1, 1, None)
    assert report["graded"]["one"][0]["by_judge"]["n"] == 0
    page = render_html(report, date=date(2026, 1, 1))
    assert "More than a choice" in page
    assert "We cannot tell whether j predicts the answer of one annotator" in page


def test_a_judge_with_a_longer_scale_than_people_has_no_kappa():
    study = make_study()
    item = make_item(study=study)
    set_questions(study_id=study.pk, wanted=ALL | {"criteria": False}, user=None)
    given = answer(make_rater(study=study), item, "r1")
    store(Grades(answer=given, revision=1, strength=1, score_1=5, score_2=1))
    run = make_run(study=study, judge="j", setting="score-7")
    judge_item(run, item, "r1", None, details={"scores": {"r1": 7, "r2": 1}})

    [judge] = report_of(study)["graded"]["scores"]["judges"]
    assert (judge["kappa"], judge["kappa_reason"]) == (None, "other_scale")
    assert judge["level"]["value"] == 0


def test_a_kappa_with_quadratic_weights():
    scale = np.arange(1.0, 6)
    one, other = np.array([1, 2, 3, 4, 5, np.nan]), np.array([1.2, 2, 4, 4, 4, 3])
    by_sklearn = cohen_kappa_score([1, 2, 3, 4, 5], [1, 2, 4, 4, 4], weights="quadratic")
    assert graded_kappa(one, other, scale).value == pytest.approx(by_sklearn)
    assert signed([0, 1, 2], [1, 2, np.nan]).tolist() == [1, -2, 0]


def test_icc_uses_what_everybody_scored():
    rows = RatedRows(
        np.array([0, 0, 1, 1, 2]), np.array([4, 9, 4, 9, 4]), np.array([1.0, 2, 4, 5, 3])
    )
    assert (rows.intraclass().n_items, rows.intraclass().n_raters) == (2, 2)
    nobody = np.array([], dtype=int)
    assert RatedRows(nobody, nobody, nobody.astype(float)).intraclass().reason == "too_few_items"


def test_different_uses_of_the_scale_are_no_relation():
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(20), 30)
    base = rng.integers(0, 2, 20)[person]
    strength, certainty = base + rng.integers(1, 3, 600), 40 * base + rng.integers(1, 60, 600)
    sharing = Sharing.of_items(600, {"person": person})

    found = within_people(strength.astype(float), certainty.astype(float), person, sharing)

    assert abs(found.value) < 0.1
    assert found.p > 0.01
