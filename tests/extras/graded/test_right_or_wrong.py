"""Single responses that people and judges call right or wrong."""

import csv
import json
from datetime import date

import numpy as np
import pytest
from django.core.management import call_command
from sklearn.metrics import cohen_kappa_score, precision_score, recall_score

from analysis.report.render import render_html
from annotation.models import Annotation
from extras.graded.asking import GradesForm, asked_in
from extras.graded.models import Grades
from extras.graded.setup import set_questions, settings_for_judges
from judging.models import Judgment
from judging.protocols.registry import protocol
from judging.protocols.texts import languages, texts
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.extras.graded.answering import ALL, NOTHING
from tests.factories import make_item, make_study, sign_in, store, stored_at_once
from tests.judging.llm_server import completion
from tests.judging.run_helpers import judge_all
from thirdperson.cli import main

ONLY_RIGHT = NOTHING | {"scale": 2}


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("Yes]]", 2),
        ("[[No]]", 1),
        ("[[Ja]]", 2),
        ('{"answer": "Yes"}', 2),
        ('{"answer": "No"}', 1),
        ('{"answer": "Perhaps"}', None),
        ("[[Yes]] or [[No]]", None),
        ("The response is right.", None),
    ],
)
def test_a_reply_is_a_yes_or_a_no(text, score):
    assert protocol("right-wrong").score(text) == score


@pytest.mark.parametrize("language", languages())
def test_each_step_shows_one_response_and_the_reference(language):
    first, second = texts("right-wrong", language).prompt.split("{{ then }}")
    for step, side in ((first, "a"), (second, "b")):
        assert step.count("{{ reference }}") == 1
        assert step.count("{{ response_") == step.count(f"{{{{ response_{side} }}}}") == 1


@pytest.mark.django_db(transaction=True)
def test_each_response_is_judged_alone_next_to_the_reference(judge, llm):
    study = make_study()
    make_item(study=study, key="with", reference="A11", r1={"text": "A 11"}, r2={"text": "The M62"})
    make_item(study=study, key="without")

    def answers(body, number):
        prompt = body["messages"][0]["content"]
        assert "[Reference answer]\nA11" in prompt
        assert ("A 11" in prompt) != ("The M62" in prompt)
        return completion("Yes]]" if "A 11" in prompt else "No]]")

    llm.answer = answers
    judge_all(study, judge, setting="right-wrong", orders="both")

    rows = Judgment.objects.filter(item__key="with").values_list("choice", "details")
    assert list(rows) == [("r1", {"scores": {"r1": 2, "r2": 1}})] * 2
    assert len(llm.requests) == 4


@stored_at_once()
def _marked(items=40):
    """One person and one judge that agrees with them on most responses."""
    rng = np.random.default_rng(4)
    study = make_study(slug="quiz")
    set_questions(study_id=study.pk, wanted=ONLY_RIGHT, user=None)
    rater, run = make_rater(study=study), make_run(study=study, judge="j", setting="right-wrong")
    person, judge = rng.integers(1, 3, (items, 2)), rng.integers(1, 3, (items, 2))
    judge = np.where(rng.random((items, 2)) < 0.7, person, judge)
    for n in range(items):
        item = make_item(study=study, key=f"i{n:02}", question=f"Q{n}?", reference="R")
        given = answer(rater, item, "tie")
        one, other = person[n].tolist()
        store(Grades(answer=given, revision=1, score_1=one, score_2=other))
        scores = dict(zip(("r1", "r2"), judge[n].tolist(), strict=True))
        judge_item(run, item, "tie", None, details={"scores": scores})
    return study, person.ravel(), judge.ravel()


@pytest.mark.django_db
def test_a_judge_is_compared_with_people_as_other_implementations_do():
    study, person, judge = _marked()

    report = report_of(study)

    (entry,) = report["graded"]["scores"]["judges"]
    found = entry["right"]
    assert found["same"]["value"] == pytest.approx((person == judge).mean())
    assert found["kappa"] == pytest.approx(cohen_kappa_score(person, judge))
    assert found["recall"]["value"] == pytest.approx(recall_score(person, judge, pos_label=2))
    assert found["precision"]["value"] == pytest.approx(precision_score(person, judge, pos_label=2))
    assert (found["right"], found["said_right"]) == ((person == 2).sum(), (judge == 2).sum())
    assert "Right or wrong: judges next to most people" in render_html(
        report, date=date(2026, 1, 1)
    )


@pytest.mark.django_db
def test_check_reads_the_scores_of_single_responses(tmp_path, capsys):
    study, person, judge = _marked()
    Annotation.objects.update(standing="counted")

    file = tmp_path / "scores.csv"
    call_command("export", study.slug, "--what", "scores", "--format", "csv", "--out", str(file))

    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    by_kind = {
        kind: [row["label"] == "right" for row in rows if row["kind"] == kind]
        for kind in ("human", "judge")
    }
    assert by_kind == {"human": (person == 2).tolist(), "judge": (judge == 2).tolist()}
    assert rows[0]["item"] == "i00:r1"
    out = str(tmp_path / "report.html")
    main(["check", str(file), "--level", "nominal", "--json", "--out", out])
    _wrote, _, found = capsys.readouterr().out.partition("\n")
    (verdict,) = json.loads(found)["verdicts"]
    assert verdict["kappa"] == pytest.approx(cohen_kappa_score(person, judge))
    right = next(one for one in verdict["classes"] if one["label"] == "right")
    assert right["recall"] == pytest.approx(recall_score(person, judge, pos_label=2))


@pytest.mark.django_db
def test_people_say_right_or_wrong():
    study = make_study()
    set_questions(study_id=study.pk, wanted=ONLY_RIGHT, user=None)
    study.refresh_from_db()
    form = GradesForm(study, asked_in(study))
    form.fill({"score_a": "2"})

    a, _b = form.groups
    assert (a.hint, [option.label for option in a.options]) == (
        "Is this response right?",
        ["Wrong", "Right"],
    )
    assert form.check("A") == {"score_b-1": "Select whether response B is right or wrong"}
    assert settings_for_judges(asked_in(study)) == [("A score for each response", "right-wrong")]
    make_item(study=study)
    page = sign_in(study).get(f"/studies/{study.slug}/graded/").content.decode()
    assert "no item has a reference answer" in page
    assert "Ask judges the same" not in page


@pytest.mark.django_db
@pytest.mark.parametrize("setting", ["judgelm", "prometheus-2-score"])
def test_a_report_has_judges_with_scores_of_any_setting(setting):
    pytest.importorskip("extras.judge_models")  # their settings
    study = make_study()
    set_questions(study_id=study.pk, wanted=ALL | {"criteria": False}, user=None)
    item, run = make_item(study=study), make_run(study=study, judge="j", setting=setting)
    judge_item(run, item, "r1", None, details={"scores": {"r1": 4, "r2": 2}})

    judges = report_of(study)["graded"]["scores"]["judges"]

    assert [judge["highest"] for judge in judges] == {
        "judgelm": [10],
        "prometheus-2-score": [5],
    }[setting]


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ('{"score": 7}', 7),
        ('{ "score" : 10 }', 10),
        ('{"score": 11}', None),
        ('{"score": true}', None),
        ('{"answer": "7"}', None),
    ],
)
def test_a_score_is_read_from_a_structured_reply(reply, score):
    asked = protocol("score-10")

    assert asked.score(reply) == score
    assert asked.keeps_form(reply) == (score is not None)
    assert asked.form()["score"]["maximum"] == 10
