"""Studies that an older version created have the extras that their rows need."""

import importlib
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from judging.models import JudgeRun
from studies.models import Study
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge

pytestmark = pytest.mark.django_db
migration = importlib.import_module("studies.migrations.0002_extras")


def migrated() -> dict[str, list[str]]:
    Study.objects.update(extras=[])
    migration.turn_on_what_rows_need(apps, SimpleNamespace(connection=connection))
    return dict(Study.objects.values_list("slug", "extras"))


def test_a_plain_study_begins_with_none():
    make_item(study=make_study(slug="plain"))

    assert migrated() == {"plain": []}


def test_rows_runs_items_and_notes_say_what_a_study_uses():
    make_study(slug="own", perspective="own")
    make_study(slug="copy", source={"counterfactual": {"from": "plain"}})
    advised = make_study(slug="advised")
    make_item(study=advised, advice={"kind": "advice", "text": "Take it.", "favors": "r1"})
    JudgeRun.objects.create(
        study=make_study(slug="graded"), judge=make_judge(), setting="score-5", key="k", seed=1
    )

    assert migrated() == {
        "own": ["own_answers"],
        "copy": ["personas"],
        "advised": ["advice"],
        "graded": ["graded"],
    }
