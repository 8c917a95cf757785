"""Runs of an earlier version that asked anchors: the same runs, whose studies can watch sets."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from extras.watching.freezing import WatchWish, freeze
from judging.models import JudgeRun, Judgment
from judging.runs.start import parameters_key
from studies.models import Study
from tests.analysis.builders import judge_item
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import start

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.nightly]


def _migrate(*targets):
    executor = MigrationExecutor(connection)
    executor.migrate(list(targets) or executor.loader.graph.leaf_nodes())
    return executor.loader.project_state([one for one in targets if one[1]]).apps


@pytest.fixture
def older():
    """A run as it was with anchors, asked at its start and again later."""
    study = make_study(slug="s", extras=[])
    items = make_items(study, 12)
    run = start(study, make_judge(base_url="http://127.0.0.1:9/v1"))
    key = run.key
    Judgment.objects.filter(run=run).delete()
    for item in items:
        judge_item(run, item, "r1", 70)
        judge_item(run, item, "r1", 70, sample=2, anchor="again")
    apps = _migrate(("watching", None), ("judging", "0003_judge_price_day"))
    old = apps.get_model("judging", "JudgeRun").objects.get(pk=run.pk)
    kept = ("prompt_language", "reading_version", "protocol_sha256", "base_url", "software")
    old.parameters["anchors"] = 4
    asked = {n: v for n, v in old.parameters.items() if n not in kept}
    old.anchors, old.key = 4, parameters_key(asked)
    old.save()
    waiting = apps.get_model("judging", "Judgment").objects
    waiting.create(run_id=run.pk, item_id=items[0].pk, shown_first="r1", anchor="end")
    assert old.key != key
    yield key
    _migrate()


def test_they_keep_their_answers_under_the_key_without_anchors_and_can_be_watched(older):
    _migrate()

    run = JudgeRun.objects.get()
    assert run.key == older
    assert "anchors" not in run.parameters
    assert Study.objects.get().extras == ["watching"]
    everything = Judgment.everything.filter(run=run)
    assert sorted(everything.values_list("anchor", flat=True)) == [""] * 12 + ["again"] * 12
    watched = freeze(WatchWish(run=run, items=12))
    assert watched.items == 12
