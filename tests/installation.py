"""An installation with something of everything, made by the services that the pages call."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from analysis import tasks
from analysis.exports.requests import request_export
from analysis.lifecycle.requests import request_report
from annotation import services
from annotation.models import Annotation
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from annotation.services.answers import stamp_of
from judging.models import Judge
from judging.worker import runtime
from judging.worker.endpoints import seal
from studies.models import Item, Membership, Study
from tests.emptying.tables import empty_tables
from tests.factories import answer_all, answer_item, make_item, make_items, make_study, walk_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import LlmServer
from tests.judging.run_helpers import judge_all


@dataclass(frozen=True)
class Installation:
    study: Study
    var_dir: Path


@pytest.fixture(scope="module")
def installation(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: Any
) -> Iterator[Installation]:
    """A study with annotators in many states, judged, reported and exported.

    Its rows are committed, because judging reads them with other connections.
    """
    folder = tmp_path_factory.mktemp("installation") / "var"
    folder.mkdir(mode=0o700)
    server = LlmServer()
    settings = override_settings(VAR_DIR=folder, JUDGE_STORED_KEYS=True)
    with django_db_blocker.unblock(), settings, pytest.MonkeyPatch.context() as patch:
        for task in (tasks.build_report, tasks.write_export):
            patch.setattr(task, "delay_on_commit", lambda *_: None)
        try:
            yield Installation(_fill(server.url), folder)
        finally:
            server.stop()
            runtime.shut_down()
            runtime._stopping.clear()
            empty_tables()


@pytest.fixture
def var_dir(settings: Any, tmp_path: Path) -> Path:
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir(mode=0o700)
    return Path(settings.VAR_DIR)


@pytest.fixture
def lived_in(installation: Installation, db: None, var_dir: Path, settings: Any) -> Study:
    """The study of the installation; what a test changes in rows and files lasts as long as it."""
    settings.JUDGE_STORED_KEYS = True
    shutil.copytree(installation.var_dir, var_dir, dirs_exist_ok=True)
    return Study.objects.get(pk=installation.study.pk)


def _fill(llm_url: str) -> Study:
    owner = User.objects.create_user("owner", password="a long password")
    study = make_study(items_per_annotator=4, annotations_per_item=2, allow_tie=True)
    Membership.objects.create(user=owner, study=study, role="owner")
    make_items(study, 8)
    make_item(study=study, split=Item.Split.ATTENTION_CHECK, check_answer="r1")
    question = QuotaQuestion("gender", "Gender?", {"woman": "Woman", "man": "Man"})
    groups = [Quota(3, {"gender": "woman"}), Quota(3)]
    set_quotas(study_id=study.pk, questions=[question], groups=groups, user=owner)
    _annotate(study)
    judge = make_judge(base_url=llm_url, price_input=Decimal(1), price_output=Decimal(2))
    judge_all(study, judge, orders="both")
    Judge.objects.filter(pk=judge.pk).update(sealed_key=seal("a secret of this installation"))
    report = request_report(study_id=study.pk, user=owner, bootstrap=100)
    tasks.build_report(report.pk)
    export = request_export(study_id=study.pk, user=owner, what="annotations")
    tasks.write_export(export.pk)
    return study


def _annotate(study: Study) -> None:
    first = walk_in(study, gender="woman")
    answer_all(first)
    changed = Annotation.objects.filter(assignment__annotator=first).order_by("pk")[0]
    answer_item(changed.assignment, choice="tie")
    services.complete(annotator_id=first.pk)
    second = walk_in(study, gender="man")
    assignment = second.assignments.order_by("position")[0]
    services.save_draft(
        annotator_id=second.pk,
        assignment_id=assignment.pk,
        stamp=stamp_of(assignment),
        choice="r2",
        certainty="6",
    )
    third = walk_in(study, gender="woman")
    answer_all(third, choice="r2")
    services.withdraw(annotator_id=third.pk)
    services.skip_item(
        annotator_id=second.pk, assignment_id=second.assignments.order_by("position")[1].pk
    )
    fourth = walk_in(study, gender="man")
    services.time_out(annotator_id=fourth.pk)
