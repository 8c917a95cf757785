"""Batches that an older version stored become packs, with their leases and names."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from extras.packs.models import Pack
from judging.models import JudgeRun
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import start

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.nightly]


@pytest.fixture
def older():
    """The tables of packs as they were."""
    run = _run()
    apps = _migrate("0001_initial")
    yield apps, run
    _migrate("0002_one_table")


def _run() -> JudgeRun:
    study = make_study(slug="s")
    make_items(study, 2)
    return start(study, make_judge(base_url="http://127.0.0.1:9/v1"))


def _migrate(name: str):
    executor = MigrationExecutor(connection)
    executor.migrate([("packs", name)])
    return executor.loader.project_state([("packs", name)]).apps


def test_batches_are_carried_over(older):
    apps, run = older
    old = apps.get_model("packs", "Batch").objects
    now = timezone.now()
    for state, provider_id in {
        "prepared": "",
        "submitted": "batch_1",
        "collected": "batch_2",
        "failed": "",
    }.items():
        old.create(
            public_id=f"name-of-{state}",
            run_id=run.pk,
            state=state,
            provider_id=provider_id,
            requests=7,
            most_nano=8,
            answered=5,
            sentence="So far.",
            submitted_at=now,
        )
    pack = apps.get_model("packs", "Pack").objects.create(
        public_id="pack", run_id=run.pk, requests=3
    )

    _migrate("0002_one_table")

    moved = Pack.objects.filter(is_batch=True)
    assert dict(moved.values_list("public_id", "state")) == {
        "name-of-prepared": "prepared",
        "name-of-submitted": "waiting",
        "name-of-collected": "read",
        "name-of-failed": "failed",
    }
    known = ("run", "provider_id", "requests", "most_nano", "answered", "sentence", "submitted_at")
    submitted = moved.get(public_id="name-of-submitted")
    assert [getattr(submitted, name) for name in known] == [
        run, "batch_1", 7, 8, 5, "So far.", now
    ]  # fmt: skip
    assert Pack.objects.get(is_batch=False).pk == pack.pk

    apps = _migrate("0001_initial")
    assert apps.get_model("packs", "Batch").objects.filter(state="submitted").get().answered == 5
    assert apps.get_model("packs", "Pack").objects.get().pk == pack.pk
