"""Packs and batches that are under way keep the extra on."""

import pytest

from extras.packs.models import Pack, PackJob
from judging.models import JudgeRun
from tests.extras.turning_off import refusal, turn_off
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import start

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> JudgeRun:
    study = make_study(slug="s")
    make_items(study, 2)
    return start(study, make_judge(base_url="http://127.0.0.1:9/v1"))


def test_a_batch_with_its_provider_is_collected_first(run):
    batch = Pack.objects.create(run=run, is_batch=True, provider_id="b", requests=2)
    assert refusal(run.study, "packs").endswith("Wait until its results are collected.")

    Pack.objects.filter(pk=batch.pk).update(state="read")
    turn_off(run.study, "packs")


def test_a_run_that_still_hands_in_batches_is_ended_first(run):
    JudgeRun.objects.filter(pk=run.pk).update(by_batch=True)
    assert "A batch is with a provider." in refusal(run.study, "packs")

    JudgeRun.objects.filter(pk=run.pk).update(state=JudgeRun.State.DONE, sentence="Done.")
    turn_off(run.study, "packs")


def test_a_pack_is_read_or_discarded_first(run):
    pack = Pack.objects.create(run=run, requests=2)
    assert "discard the pack" in refusal(run.study, "packs")

    Pack.objects.filter(pk=pack.pk).update(state="read")
    job = PackJob.objects.create(run=run, kind="write")
    assert "A pack is being written or read." in refusal(run.study, "packs")

    PackJob.objects.filter(pk=job.pk).update(state="done")
    turn_off(run.study, "packs")
