"""The chapter on certificates: those of the report's judges, and what each one says."""

import datetime as dt
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User

from analysis.data.dataset import load_dataset
from analysis.passports import read_passport
from analysis.report.build import all_sentences, all_tables
from analysis.report.render import render_html
from analysis.report.report_json import without_people
from extras.certificates import tasks, views
from extras.certificates.computed import Certificates
from extras.certificates.models import Certificate, Labelling
from studies.models import Item
from tests.analysis.builders import answer, make_rater
from tests.analysis.labelled_items import judge_it, make_certifiable
from tests.analysis.partial import report_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """A judge that is always right where it says 90; at 60 every second answer is wrong."""
    made = make_certifiable(60)
    judge_it(
        made,
        certainty=lambda n: 90 if n % 3 else 60,
        is_right=lambda n: n % 3 > 0 or n % 2 > 0,
    )
    return made


def ada():
    return User.objects.get_or_create(username="ada")[0]


def certify(study, *, run=None, **wish):
    run = study.judge_runs.get().public_id if run is None else run
    chosen = {"signal": "stated", "target": "first_person", "error": 0.1, "confidence": 0.9}
    with patch.object(tasks.certify_judge, "delay_on_commit"):
        job = views.request_certificate(
            study_id=study.pk,
            user=ada(),
            **{"judge": "steady", "run": run} | chosen | wish,
        )
    tasks.certify_judge(job.pk)
    Certificate.objects.filter(pk=job.pk).update(
        finished_at=dt.datetime(2026, 3, 4, 23, 59, tzinfo=dt.UTC)
    )
    job.refresh_from_db()
    return job


def label(job):
    with patch.object(tasks.label_items, "delay_on_commit"):
        made = views.request_labels(certificate=job, user=ada())
    tasks.label_items(made.pk)


def findings(report):
    return " ".join(str(each.text) for each in all_sentences(report, "finding"))


@pytest.mark.nightly
def test_a_certificate_and_its_labels_are_told_with_their_numbers(study):
    job = certify(study)
    label(job)

    report = report_of(study)

    [entry] = report["certificates"]["entries"]
    passport = read_passport(job.passport)
    assert entry["passport"] == passport.checksum
    assert (entry["judge"], entry["state"], entry["date"]) == ("steady", "certified", "2026-03-04")
    assert (entry["threshold"], entry["n"], entry["coverage"]) == (61, 60, pytest.approx(2 / 3))
    assert (entry["labelled"], entry["items"]) == (40, 60)
    assert entry["labelled_share"] == pytest.approx(2 / 3)
    assert (entry["needed"], entry["needed_reason"]) == (None, "is_certified")
    said = (
        "steady was certified on 2026-03-04 with 60 items: with 90 % confidence, at most 10 % of "
        "the answers whose stated certainty is 61 or more differ from the personas’ own answers, "
        "counting every item equally, on new items drawn like these, each with a persona and a "
        "question of its own. It labelled 40 of 60 items."
    )
    assert said in findings(report)
    page = render_html(report, date=dt.date(2026, 3, 5))
    assert 'id="certificates"' in page
    assert "40 of" not in page.split('id="certificates"')[0]


def test_a_refusal_says_how_many_labels_would_be_enough(study):
    job = certify(study, error=0.02)

    report = report_of(study)

    [entry] = report["certificates"]["entries"]
    assert (entry["state"], entry["threshold"], entry["coverage"]) == ("refused", None, None)
    assert entry["threshold_reason"] == entry["labelled_reason"] == "not_certified"
    assert entry["needed"] == job.result["needed"] > 60
    assert (
        f"About {entry['needed']:,} labelled items would be enough with a probability of 80 %, if "
        "errors and stated certainty stay as observed."
    ) in findings(report)
    assert "steady was not certified on 2026-03-04: 60 items do not show" in findings(report)


def test_one_item_is_one_and_a_majority_is_that_of_these_annotators():
    few = make_certifiable(1)
    judge_it(few)
    job = certify(few)

    said = findings(report_of(few))
    assert "1 item does not show, with 90 % confidence" in said
    assert (
        "1 item with a persona and a question of its own, drawn from 1 labelled one, does"
        in (job.result["sentence"])
    )
    many = make_certifiable(60)
    judge_it(many)
    for item in Item.objects.filter(study=many):
        answer(make_rater(study=many), item, item.first_person)
    certify(many, target="majority")
    assert "of its own, and answered by these annotators." in findings(report_of(many))


def test_the_table_has_a_row_for_each_and_the_choice_among_several_is_a_finding(study):
    certify(study)
    certify(study, error=0.02)
    certify(study, error=0.2, among=3)

    report = report_of(study)

    table = all_tables(report)["certificates"]
    assert sorted(row[2] for row in table.rows) == ["certified", "certified", "refused"]
    assert {row[3] for row in table.rows} == {"stated certainty"}
    assert "3 certificates were computed in this study. If you choose one" in findings(report)


def test_certificates_that_were_chosen_among_all_need_no_warning(study):
    certify(study, among=2)
    certify(study, error=0.2, among=2)

    assert "certificates were computed" not in findings(report_of(study))


def test_a_certificate_of_a_run_that_is_not_reported_is_only_counted(study):
    certify(study)
    Certificate.objects.update(run="gone")

    report = report_of(study)

    assert report["certificates"] == {"computed": 1, "entries": []}
    assert "1 that" in render_html(report, date=dt.date(2026, 3, 5)).replace("\n", " ")


def test_changed_items_are_said(study):
    certify(study)
    study.content_hash = "0" * 64
    study.save()

    report = report_of(study)

    assert not report["certificates"]["entries"][0]["same_items"]
    assert "Items of this study changed after some certificates" in findings(report)


def test_waiting_and_failed_requests_are_no_certificates(study):
    job = certify(study)
    Certificate.objects.filter(pk=job.pk).update(state="failed", message="No.")

    assert load_dataset(study.slug).of(Certificates) is None
    assert "certificates" not in report_of(study)


def test_certificates_and_labels_are_part_of_the_hash_of_the_data(study):
    hashes = [load_dataset(study.slug).inputs_hash]
    job = certify(study)
    hashes.append(load_dataset(study.slug).inputs_hash)
    label(job)
    hashes.append(load_dataset(study.slug).inputs_hash)
    Labelling.objects.all().delete()
    hashes.append(load_dataset(study.slug).inputs_hash)

    assert len(set(hashes)) == 3
    assert hashes[1] == hashes[3]


def test_more_certificates_take_no_more_queries(study, django_assert_num_queries):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    certify(study)
    with CaptureQueriesContext(connection) as few:
        load_dataset(study.slug)
    certify(study, error=0.2)

    with django_assert_num_queries(len(few)):
        load_dataset(study.slug)


def test_a_shared_copy_keeps_them(study):
    certify(study)

    assert without_people(report_of(study))["certificates"]["entries"]
