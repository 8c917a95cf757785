"""What a report rests on: which answers count, in few queries, whatever the order of storing."""

from dataclasses import replace

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.data.dataset import load_dataset
from analysis.errors import AnalysisError
from analysis.report.build import build_report
from analysis.report.report_json import to_json
from analysis.report.sections.record.section import cost
from annotation.models import Annotation, AnnotationRevision
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.factories import make_item, make_persona, make_study

pytestmark = pytest.mark.django_db


def test_only_counted_and_imported_answers_of_people_who_are_not_excluded_count():
    study = make_study()
    item = make_item(study=study, key="a")
    for standing in ("counted", "imported", "surplus", "released", "withdrawn"):
        answer(make_rater(study=study, pseudonym=standing), item, "r1", standing=standing)
    excluded = make_rater(
        study=study, excluded_at=timezone.now(), exclusion_reason="Answered in two seconds."
    )
    answer(excluded, item, "r2")

    data = load_dataset(study.slug)

    assert data.raters == ("counted", "imported")
    assert data.answers.choice.tolist() == [0, 0]
    assert data.not_counted == {
        "surplus": 1,
        "released": 1,
        "withdrawn": 1,
        "excluded": 1,
        "excluded_people": 1,
    }


def test_practice_and_attention_checks_lie_outside():
    study = make_study()
    rater = make_rater(study=study)
    run = make_run(study=study)
    for split, key in (("main", "a"), ("practice", "b"), ("attention_check", "c")):
        item = make_item(study=study, split=split, key=key, check_answer="r1")
        answer(rater, item, "r1")
        judge_item(run, item, "r1", 60)

    data = load_dataset(study.slug)

    assert [item.key for item in data.items] == ["a"]
    assert (len(data.answers), len(data.runs[0].judgments)) == (1, 1)


def test_an_answer_counts_as_it_stands_not_as_it_was():
    study = make_study()
    given = answer(make_rater(study=study), make_item(study=study), "r2", 90)
    AnnotationRevision.objects.create(
        annotation=given, number=1, choice="r1", certainty=10, answered_at=timezone.now()
    )

    answers = load_dataset(study.slug).answers

    assert (answers.choice.tolist(), answers.certainty.tolist()) == ([1], [90.0])


def test_the_order_of_storing_leaves_no_trace():
    loaded = []
    for order in (1, -1):
        study = make_study()
        persona = make_persona(study=study, key="p")
        items = {
            # Texts of one length: those of the factory are numbered.
            key: make_item(
                study=study,
                key=key,
                question=key,
                persona=persona,
                r1={"text": "Yes."},
                r2={"text": "No."},
            )
            for key in "ab"[::order]
        }
        raters = {name: make_rater(study=study, pseudonym=name) for name in ("P-2", "P-1")[::order]}
        for key in "ba"[::order]:
            for name in ("P-1", "P-2")[::order]:
                choice = {"aP-1": "r1", "aP-2": "r2", "bP-1": "r2", "bP-2": "r2"}[key + name]
                place = "ab".index(key) + 1
                answer(raters[name], items[key], choice, 60, position=place)
        loaded.append(load_dataset(study.slug))

    one, two = loaded
    assert one.answers.choice.tolist() == [0, 1, 1, 1]
    assert replace(two, study=one.study).inputs_hash != two.inputs_hash
    assert replace(two, study=one.study).inputs_hash == one.inputs_hash


def test_names_of_people_change_neither_the_hash_nor_the_order():
    study = random_study(7)
    before = load_dataset(study.slug)
    people = list(study.annotators.order_by("pseudonym"))

    for number, person in enumerate(reversed(people)):
        person.pseudonym = f"R-{number:04}"
        person.save()
    after = load_dataset(study.slug)

    assert after.inputs_hash == before.inputs_hash
    assert after.raters != before.raters
    assert (after.answers.rater == before.answers.rater).all()


def test_the_order_within_a_file_of_answers_is_no_order_in_which_they_were_given():
    study = make_study()
    rater = make_rater(study=study, is_imported=True)
    for place, key in ((1, "b"), (2, "a")):
        answer(rater, make_item(study=study, key=key), "r1", position=place)

    assert load_dataset(study.slug).answers.position.tolist() == [1, 2]


def test_the_hash_changes_with_every_kind_of_input():
    study = random_study(3)
    seen = {load_dataset(study.slug).inputs_hash}

    def changed() -> bool:
        before = len(seen)
        seen.add(load_dataset(study.slug).inputs_hash)
        return len(seen) == before + 1

    assert not changed()
    rater = study.annotators.first()
    annotation = rater.assignments.first().annotation
    annotation.certainty = 33
    annotation.certainty_asked = True
    annotation.save()
    assert changed()
    item = study.all_items.first()
    item.first_person = "r2" if item.first_person != "r2" else "r1"
    item.save()
    assert changed()
    judgment = study.judge_runs.first().judgments.filter(state="done").first()
    judgment.certainty = 1
    judgment.save()
    assert changed()
    judgment.probabilities = {"r1": 0.8, "r2": 0.2}
    judgment.save()
    assert changed()
    rater.excluded_at, rater.exclusion_reason = timezone.now(), "Test."
    rater.save()
    assert changed()


def test_the_port_of_a_server_on_this_machine_leaves_no_trace_and_another_host_does():
    study = random_study(3, n_items=6)

    def built(url: str) -> str:
        for run in study.judge_runs.all():
            run.parameters["base_url"] = url
            run.save()
        return to_json(build_report(load_dataset(study.slug), seed=1, bootstrap=100))

    first = built("http://127.0.0.1:8001/v1")
    assert built("http://127.0.0.1:8011/v1") == first
    assert built("http://gpu:8001/v1") != first


def test_the_time_of_an_answer_is_that_on_the_page_or_else_between_two_requests():
    study = make_study()
    item = make_item(study=study)
    for name, active, elapsed in (("a", 900, 2000), ("b", 0, 2000), ("c", None, 0), ("d", 0, None)):
        made = answer(make_rater(study=study, pseudonym=name), item, "r1")
        Annotation.objects.filter(pk=made.pk).update(active_ms=active, elapsed_ms=elapsed)

    seconds = load_dataset(study.slug).answers.seconds

    found = np.sort(seconds).tolist()
    assert found == pytest.approx([0, 0.9, 2, float("nan")], nan_ok=True)


def test_an_unknown_price_stays_unknown():
    study = make_study()
    items = [make_item(study=study) for _ in range(2)]
    run = make_run(study=study)
    for item in items:
        judge_item(run, item, "r1")
    attempt = run.judgments.first().attempts.get()
    attempt.cost_nano = None
    attempt.save()

    cost = load_dataset(study.slug).runs[0].cost

    assert (cost.requests, cost.tokens_in, cost.usd) == (2, 400, None)


def test_what_a_server_did_not_report_is_an_upper_estimate():
    study = make_study()
    run = make_run(study=study)
    judge_item(run, make_item(study=study), "r1")
    known = load_dataset(study.slug)
    run.judgments.get().attempts.update(cost_is_estimate=True)

    estimated = load_dataset(study.slug)

    assert cost(known.runs[0], 0, is_part=False).get("price_remark") is None
    assert cost(estimated.runs[0], 0, is_part=False)["price_remark"] == (
        "$0.001 of its cost is an upper estimate, because the server did not report tokens."
    )
    assert estimated.inputs_hash == known.inputs_hash


def test_a_larger_study_takes_no_more_queries():
    counts = []
    for size in (4, 40):
        study = random_study(5, n_items=size)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            load_dataset(study.slug)
        counts.append(len(queries))

    assert counts[0] == counts[1] <= 57


def test_attention_checks_are_counted_beside_the_answers_and_not_among_them():
    study = make_study()
    careful, careless = (make_rater(study=study, pseudonym=name) for name in ("P-1", "P-2"))
    check = make_item(study=study, split="attention_check", check_answer="r1")
    for rater, choice in ((careful, "r1"), (careless, "r2")):
        answer(rater, make_item(study=study), "r1", position=2)
        answer(rater, check, choice, standing="check", position=1)

    data = load_dataset(study.slug)

    assert data.raters == ("P-1", "P-2")
    assert data.attention == ((1, 0), (1, 1))
    assert (len(data.answers), data.answers.position.tolist()) == (2, [2, 2])


def test_an_unknown_study_is_named():
    with pytest.raises(AnalysisError, match="There is no study “nowhere”"):
        load_dataset("nowhere")
