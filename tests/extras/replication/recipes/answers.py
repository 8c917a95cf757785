"""Answers to the paper's recipe that no model gave, for tests of tables and figures."""

import pytest

from extras.replication.recipes.recipe import find_recipe
from extras.replication.recipes.reproduction import ModelAnswers
from studies.importers.sets import data_sets

RECIPE = find_recipe("personalized-judge")


def share(correct, n):
    return {"n": n, "correct": correct, "accuracy": correct / n if n else None}


def answers(data, ask, model="mine", variant="code", high=(3, 4), low=(2, 6), all_rows=(5, 12)):
    """One model's answers to a question: right ones and all of them, by certainty."""
    question = next(q for q in RECIPE.questions((variant,), (data,)) if q.ask.key == ask)
    overall = share(high[0] + low[0], high[1] + low[1])
    rules = {
        "drop_nonAB": {"overall": overall, "high": share(*high), "low": share(*low)},
        "all_rows": {"overall": share(*all_rows), "high": share(*high), "low": share(*low)},
    }
    bars = (("50", low[0], low[1] - low[0]), ("90", high[0], high[1] - high[0]))
    return ModelAnswers(question, model, 12, 10, rules, bars)


WHOLE = [answers(data, "whole") for data in ("pr", "prism", "opinionqa", "ec")]


def needs_data_sets(*names):
    """Skip a test about data sets whose importers are not there: other extras may have them."""
    if missing := sorted(set(names) - data_sets().keys()):
        pytest.skip(f"needs an importer of {missing[0]}")
