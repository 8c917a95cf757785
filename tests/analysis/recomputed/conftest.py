"""Three studies that have little in common, whose reports plain Python computes again."""

import json
import random

import pytest
from django.db import transaction
from django.utils import timezone

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report
from analysis.report.report_json import to_json
from annotation.models import Annotation, Annotator
from judging.models import Judgment
from tests.analysis import brute_force_groups as by_hand
from tests.analysis.builders import make_run, random_study
from tests.sampling import some

RUNS = (
    {"judge": "steady", "setting": "certainty", "samples": 3},
    {"judge": "steady", "setting": "certainty", "samples": 3, "features": "age"},
    {"judge": "both ways", "setting": "tie", "orders": "both"},
)


def with_ties():
    return random_study(11, n_items=60, n_raters=18, allow_tie=True, runs=RUNS)


def without_truth():
    return random_study(12, n_items=40, truths=("",), runs=RUNS)


def with_exclusions_and_a_missing_judge():
    """Two people are excluded, answers withdrawn and left, half of a run lost, one never begun."""
    study = random_study(13, n_items=60, n_raters=12, per_item=(3, 4, 5), runs=RUNS)
    people = Annotator.objects.filter(study=study).order_by("pseudonym")
    for rater in people[:2]:
        rater.excluded_at, rater.exclusion_reason = timezone.now(), "Failed both checks."
        rater.save()
    rng = random.Random(13)
    for row in Annotation.objects.filter(assignment__annotator__study=study).order_by("pk"):
        row.standing = rng.choice(["counted"] * 6 + ["withdrawn", "released", "surplus"])
        row.save()
    lost = study.judge_runs.get(judge__name="steady", features="all")
    for judgment in Judgment.objects.filter(run=lost).order_by("pk"):
        if rng.random() < 0.5:
            judgment.state, judgment.choice, judgment.certainty = "error", "", None
            judgment.save()
    make_run(study=study, judge="never begun")
    return study


def of_single_answers():
    return random_study(14, per_item=(0, 1), runs=RUNS)


def of_even_votes():
    return random_study(15, per_item=(2, 4), runs=RUNS)


STUDIES = (
    *(with_ties, without_truth, with_exclusions_and_a_missing_judge),
    *(of_single_answers, of_even_votes),
)


@pytest.fixture(scope="package")
def package_db(django_db_setup, django_db_blocker):
    """What fixtures of this folder write stays until its end; what its tests write does not."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def of_scope(scope, database):
    """A study, its report and what is counted by hand; modules elsewhere have some of their own.

    Imported into a module, fixtures of a package would keep their rows until the last test of all.
    """

    @pytest.fixture(scope=scope, params=some(STUDIES, keep=2), ids=lambda make: make.__name__)
    def study(request):
        request.getfixturevalue(database)
        study = request.param()
        for number, rater in enumerate(Annotator.objects.filter(study=study).order_by("pseudonym")):
            rater.demographics = {"age": ("18-24", "35-44")[number % 2]}
            rater.save()
        return study

    @pytest.fixture(scope=scope)
    def report(study):
        return json.loads(to_json(build_report(load_dataset(study.slug), seed=3, bootstrap=100)))

    @pytest.fixture(scope=scope)
    def counted(study):
        return by_hand.Counted(study)

    return study, report, counted


study, report, counted = of_scope("package", "package_db")
