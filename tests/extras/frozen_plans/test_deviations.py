"""The list of deviations: complete against what was done, effects by recount, reasons, files."""

import json
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.data.dataset import load_dataset
from analysis.data.verdicts import people_verdicts
from analysis.data.views import View
from analysis.lifecycle.build_job import build_queued
from analysis.lifecycle.requests import request_report
from annotation import services
from annotation.content.consent_versions import AMENDED
from annotation.services.faulty_items import take_out
from extras.frozen_plans.deviation_list import deviations_as_json, deviations_as_text
from extras.frozen_plans.freezing import freeze_plan
from judging.runs.lifecycle import leave_out_run
from studies.models import Item, RemovedPerson, Study
from studies.services.settings import save_settings
from studies.services.studies import freeze, record
from tests.analysis.builders import judge_item, make_run
from tests.factories import answer_all, make_item, make_items, make_study, sign_in, walk_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(items_per_annotator=6, annotations_per_item=3, consent="Old.")
    make_items(study, 6)
    judges = [{"judge": "planned", "setting": "certainty", "features": "all"}]
    freeze_plan(
        study_id=study.pk,
        analyses=["accuracy", "ablations"],
        judges=judges,
        exclusions="Nobody.",
        bootstrap=100,
    )
    for choice in ("r1", "r2", "r1"):
        annotator = walk_in(study)
        answer_all(annotator, choice=choice)
        services.complete(annotator_id=annotator.pk)
    return study


def built(study: Study, **parameters: Any) -> dict[str, object]:
    report = request_report(study_id=study.pk, **parameters)
    result = build_queued(report_id=report.pk).result
    assert result is not None
    return result


@pytest.mark.nightly
def test_the_list_has_everything_that_was_done(study):
    study.refresh_from_db()
    people = study.annotators.order_by("pk")
    services.exclude(annotator_id=people[0].pk, reason="Answered in two seconds.")
    faulty = Item.objects.first().key
    take_out(study_id=study.pk, key=faulty, reason="Equal responses.")
    make_item(study=study, metadata={"_replaces": faulty})
    services.withdraw(annotator_id=people[1].pk)
    RemovedPerson.objects.create(study=study, own_answers=6)
    run = make_run(study=study, judge="another")
    judge_item(run, Item.objects.first(), "r1")
    study.refresh_from_db()
    study.annotations_per_item, study.reward = 4, 500
    # On Prolific, the pay is fixed once somebody has agreed to it; versions before let it change.
    Study.objects.update(entry="link")
    save_settings(study, changed=["annotations_per_item", "reward"])
    Study.objects.update(entry="prolific")
    record(study, AMENDED, before="old", version="new", reason="Board 7.", asked_again=0)
    built(study, threshold=70)
    built(study, view=View(name="Reviewer 2", threshold=60))
    built(study)

    found = {each["key"]: each for each in deviations_as_json(study)["deviations"]}

    assert found.keys() >= {
        "exclusions",
        "items-out",
        "items",
        "design-annotations_per_item",
        "run-missing-0",
        "report-threshold-70",
        "setting-reward",
    }
    # A corrected item is no reason for more people.
    assert found["design-people"]["done"] == "4"
    assert found["views"]["done"] == "1 other view: v2 Reviewer 2"
    assert found["deleted"]["done"] == "6 answers of 1 person deleted at their request"
    names = " ".join(found)
    assert f"run-more-{run.key[:12]}" in names
    assert "consent-" in names
    assert found["setting-reward"]["done"] == "500"
    assert found["analysis-ablations"]["done"] == (
        "Not computed in report v3: there are no data for it"
    )
    assert "analysis-accuracy" not in found
    assert found["items"]["effect"]
    assert found["run-missing-0"]["effect_reason"] == "it has no judgments"
    assert "nobody was asked the other way" in found["setting-reward"]["effect_reason"]
    # Each effect against a recount without the deviation.
    planned = make_run(study=study, judge="planned")
    leave_out_run(run_id=planned.pk)
    found |= {each["key"]: each for each in deviations_as_json(study)["deviations"]}
    assert found["run-left-out-0"]["done"] == "Run, but left out of the report"
    for key, view in (
        ("exclusions", View(with_excluded=True)),
        ("items-out", View(with_left_out=True)),
    ):
        verdicts = people_verdicts(load_dataset(study.slug, view))
        (majority, *_) = found[key]["effect"]
        assert majority["without"]["n"] == int(verdicts.scored.sum())
        own = people_verdicts(load_dataset(study.slug))
        assert majority["with"]["n"] == int(own.scored.sum())


@pytest.mark.nightly
def test_a_researcher_adds_the_reason_and_passes_the_list_on(study, tmp_path):
    person = study.annotators.first()
    services.exclude(annotator_id=person.pk, reason="Ada answered | fast.")
    client, address = sign_in(study), reverse("frozen_plans:deviations", args=[study.slug])

    page = client.get(address).content.decode()
    assert "Ada answered | fast. (1)" in page
    assert "Not computed: no report was built since; build one." in page
    sent = {"deviation": "exclusions", "reason": "Faster than anybody reads | by far."}
    for _ in range(2):
        assert client.post(address, sent).status_code == 302
    assert study.log.filter(event="deviation explained").count() == 1
    assert client.post(address, sent | {"deviation": "nope"}).status_code == 422
    assert client.post(address, sent | {"reason": "x" * 6_000}).status_code == 422
    assert sign_in(study, "viewer").post(address, sent).status_code == 404

    result = built(study)
    assert [each["key"] for each in result["deviations"]] == ["exclusions"]
    text = client.get(address, {"file": "md"}).content.decode()
    assert "**Reason.** Faster than anybody reads \\| by far" in text
    assert "| Majority of people |" in text
    assert "Ada" not in text
    assert client.get(address, {"file": "json"}).json() == json.loads(
        json.dumps(deviations_as_json(study))
    )
    assert client.get(address, {"file": "xml"}).status_code == 404
    out = tmp_path / "bundle"
    call_command("export", study.slug, what="all", out=out, licence="CC-BY-4.0")
    assert (out / "deviations.md").read_text() == deviations_as_text(study)
    assert "deviations.json" in (out / "CHECKSUMS.sha256").read_text()


def test_without_a_plan_there_is_nothing_to_deviate_from(study):
    other = make_study()
    client = sign_in(other)
    address = reverse("frozen_plans:deviations", args=[other.slug])

    assert "no frozen plan" in client.get(address).content.decode()
    assert client.get(address, {"file": "json"}).status_code == 404


def test_a_study_done_as_registered_says_so(study):
    found = deviations_as_json(study)["deviations"]

    assert [each["key"] for each in found] == ["run-missing-0"]
    freeze(study.pk)
    run = make_run(study=study, judge="planned", features="all", prompt_hash="")
    judge_item(run, Item.objects.first(), "r1", certainty=80)
    assert "None: everything was done as registered." in deviations_as_text(study)
