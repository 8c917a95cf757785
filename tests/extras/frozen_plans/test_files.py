"""A plan as files: one of the study as files, and documents for archives and bundles."""

import subprocess
import sys

import pytest

from extras.frozen_plans.files import DEVIATIONS, PLAN, STUDY_FILE
from extras.frozen_plans.freezing import freeze_plan, parse_judge
from extras.frozen_plans.plans import read_plan
from judging.wordings import save_wording
from studies.errors import StudyError
from studies.study_folder import Folder
from tests.factories import make_study

pytestmark = pytest.mark.django_db

TEXT = "{{ persona }} {{ question }} {{ response_a }} {{ response_b }} Answer [[A]] or [[B]]."


def planned(study):
    save_wording(study_id=study.pk, name="mine", setting="standard", template=TEXT)
    return freeze_plan(
        study_id=study.pk,
        threshold=70,
        margin=0.07,
        analyses=["agreement", "accuracy"],
        judges=[parse_judge("steady : standard : all : mine"), parse_judge("other:tie:age,sex")],
        exclusions="Nobody.\nReally.",
        hypotheses="“é” & more",
        seed=9,
        bootstrap=500,
    )


def written(study, folder):
    (text,) = STUDY_FILE.write(study).values()
    (folder / STUDY_FILE.file).write_text(text)
    return text


def applied(study, folder):
    return STUDY_FILE.apply(study, Folder(folder), STUDY_FILE.file, user=None)


def test_a_plan_as_a_file_makes_the_same_plan_elsewhere(tmp_path):
    study, other = make_study(), make_study()
    planned(study)
    save_wording(study_id=other.pk, name="mine", setting="standard", template=TEXT)
    text = written(study, tmp_path)

    first, second = applied(other, tmp_path), applied(other, tmp_path)

    assert "now frozen" in first[0]
    assert second == []
    assert written(other, tmp_path) == text
    assert read_plan(other).content["analyses"] == ["accuracy", "agreement"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("threshold = 70", "threshold = 60", "has a different analysis plan, frozen on"),
        ('"accuracy",', "1,", "analyses must be a list of codes"),
        ('"standard"', '"loud"', "not a setting"),
    ],
)
def test_another_plan_or_one_that_makes_no_sense_is_refused(before, after, words, tmp_path):
    study = make_study()
    planned(study)
    text = written(study, tmp_path)
    assert before in text
    (tmp_path / STUDY_FILE.file).write_text(text.replace(before, after, 1))

    with pytest.raises(StudyError, match=words):
        applied(study, tmp_path)


def test_a_study_without_a_plan_has_none_of_the_files():
    study = make_study()

    assert STUDY_FILE.write(study) == PLAN.files(study) == DEVIATIONS.files(study) == {}


def test_a_sealed_plan_comes_with_a_program_that_checks_it(tmp_path):
    study = make_study()
    planned(study)
    files = PLAN.files(study)
    program = files["plan.md"].split("```python\n")[1].split("```")[0]

    def said(content):
        (tmp_path / "plan.json").write_text(content, "utf-8")
        return subprocess.check_output(
            [sys.executable, "-c", program], cwd=tmp_path, text=True
        ).strip()

    assert said(files["plan.json"]) == "unchanged"
    altered = files["plan.json"].replace("more", "less")
    assert said(altered) == "not the plan that was frozen"
