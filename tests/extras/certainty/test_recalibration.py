import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from analysis.stats import brier_score
from extras.certainty.stats import (
    folds_by_key,
    recalibrate,
)
from tests.analysis.stats.reference import vector
from tests.analysis.stats.test_paper_figures import RELEASED, WITH_PERSONA, read, right


def overconfident(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    certainty = rng.choice([20.0, 40, 60, 70, 80, 90, 100], n)
    return certainty, (rng.random(n) < 0.4 + certainty / 250).astype(int)


def test_isotonic_agrees_with_scikit_learn_fold_by_fold():
    certainty, correct = overconfident(400, 1)
    folds = np.arange(400) % 5

    result = recalibrate(certainty, correct, folds)

    expected = np.empty(400)
    for fold in range(5):
        train, test = folds != fold, folds == fold
        model = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        expected[test] = model.fit(certainty[train], correct[train]).predict(certainty[test])
    assert result.recalibrated == pytest.approx(np.mean((expected - correct) ** 2), abs=1e-9)
    assert result.raw == pytest.approx(brier_score(certainty, correct).value, abs=1e-12)


def test_logistic_agrees_with_scikit_learn_fold_by_fold():
    certainty, correct = overconfident(400, 2)
    folds = np.arange(400) % 5

    result = recalibrate(certainty, correct, folds, method="logistic")

    share = np.clip(certainty / 100, 0.001, 0.999)
    x = np.log(share / (1 - share))[:, None]
    expected = np.empty(400)
    for fold in range(5):
        train, test = folds != fold, folds == fold
        model = LogisticRegression(C=1e6, tol=1e-10).fit(x[train], correct[train])
        expected[test] = model.predict_proba(x[test])[:, 1]
    assert result.recalibrated == pytest.approx(np.mean((expected - correct) ** 2), abs=1e-6)


def test_separated_answers_do_not_break_the_logistic_curve():
    certainty = np.array([20.0] * 30 + [90.0] * 30)
    correct = np.array([0] * 30 + [1] * 30)

    result = recalibrate(certainty, correct, np.arange(60) % 5, method="logistic")

    assert 0 <= result.recalibrated < 0.01


def test_folds_follow_the_item_and_not_the_row():
    keys = [f"item-{i % 50}" for i in range(200)]

    folds = folds_by_key(keys)

    assert (folds[:50] == folds[50:100]).all()
    assert (folds_by_key(keys[::-1])[::-1] == folds).all()
    assert np.bincount(folds, minlength=5).min() > 0


def test_what_cannot_be_recalibrated_says_why():
    assert recalibrate([np.nan], [1], [0]).reason == "empty_group"
    assert recalibrate([80.0] * 5, [1] * 5, range(5)).reason == "no_variation"
    assert recalibrate([80.0, 70], [1, 0], [0, 0]).reason == "too_few_items"


if RELEASED:

    def test_brier_scores_after_recalibration():
        rows = read(WITH_PERSONA)
        certainty = np.array([float(row["certainty"]) for row in rows])
        expected = vector("recalibration_prism_command_r")
        folds = np.arange(len(rows)) % 5

        isotonic = recalibrate(certainty, right(rows), folds)
        logistic = recalibrate(certainty, right(rows), folds, method="logistic")

        assert isotonic.raw == pytest.approx(expected["brier_raw"])
        assert isotonic.recalibrated == pytest.approx(expected["brier_isotonic_cf"], abs=1e-6)
        assert logistic.recalibrated == pytest.approx(expected["brier_platt_cf"], abs=1e-6)
        constant = brier_score(certainty, right(rows)).uncertainty
        assert constant == pytest.approx(expected["base_rate_brier"])
        assert isotonic.raw > constant > isotonic.recalibrated > logistic.recalibrated
        assert isotonic.base_rate == pytest.approx(constant, abs=0.001)  # made out of sample
