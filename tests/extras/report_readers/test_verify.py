"""Verifying: a report is what its answers give, or it is told what changed."""

import json
import re
import shutil

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone

from analysis.lifecycle.requests import request_report
from analysis.lifecycle.storage import report_dir
from analysis.report.rules import method_changes
from annotation.models import Annotation, Annotator
from extras.report_readers.management.commands.verify import Command
from extras.report_readers.recomputed.differences import differences
from extras.report_readers.recomputed.recomputing import verify_report
from studies.models import Study
from tests.analysis.builders import answer, little_study, make_rater
from tests.factories import make_item
from tests.stored import path_of

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def written(module_db, tmp_path_factory):
    study, folder = little_study(41, n_items=12), tmp_path_factory.mktemp("written")
    call_command("report", study.slug, out=str(folder), bootstrap=100, verbosity=0)
    return study.pk, folder


@pytest.fixture
def report(written, tmp_path):
    study_id, folder = written
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return Study.objects.get(pk=study_id), tmp_path / "report.json"


@pytest.mark.nightly
@pytest.mark.parametrize(
    "words", [["--", "{}"], ["--report={}"], ["verify={}"]], ids=["dashes", "option", "named"]
)
def test_an_id_that_begins_with_a_dash_can_be_named(words, report, settings, tmp_path, capsys):
    study, path = report
    settings.VAR_DIR = tmp_path
    old = "-x" + "y" * 20
    asked = request_report(study_id=study.pk, bootstrap=100)
    type(asked).objects.filter(pk=asked.pk).update(
        public_id=old, state="done", result={}, finished_at=timezone.now()
    )
    path_of(report_dir(old)).mkdir(parents=True)
    path.rename(path_of(report_dir(old)) / "report.json")
    command = Command()
    parser = command.create_parser("manage.py", "verify")

    command.handle(**vars(parser.parse_args([word.format(old) for word in words])))

    assert "All numbers match the current answers" in capsys.readouterr().out


def test_a_report_has_to_be_named():
    with pytest.raises(CommandError, match="Give a report") as caught:
        call_command("verify")

    assert caught.value.returncode == 2


@pytest.mark.parametrize(
    ("software", "reason"),
    [
        ({}, "Answers and software are the same as in the report, so its file was changed."),
        ({"numpy": "1.0", "code": "0" * 64}, "other versions built it: code 000000000000… → "),
        ({"numpy": "1.0"}, "built it: numpy 1.0 → "),
    ],
    ids=["same", "code", "package"],
)
def test_a_figure_that_was_edited_is_named(software, reason, report, capsys):
    _, path = report
    content = json.loads(path.read_text())
    content["human"]["majority"]["correct"] += 1
    content["software"] |= software
    path.write_text(json.dumps(content))

    with pytest.raises(CommandError, match="out of date: 1 value differs") as no:
        call_command("verify", str(path))

    assert no.value.returncode == 1
    said = capsys.readouterr().out
    assert "human.majority.correct: " in said
    assert reason in said
    assert ("Build the report again" in said) is bool(software)
    assert "Some software versions also changed" not in said


@pytest.mark.nightly
def test_an_answer_that_was_changed_in_the_database_is_led_back_to_its_item(report):
    study, path = report
    rater = make_rater(study=study)
    item = make_item(study=study, key="alone")
    answer(rater, item, "r1")
    call_command("report", study.slug, out=str(path.parent), bootstrap=100, verbosity=0)

    Annotation.objects.filter(assignment__item=item).update(choice="r2")

    assert verify_report(json.loads(path.read_text())).reasons == (
        "The number of answers is the same, but some answers were changed. "
        "Items with changed results: alone.",
    )


def test_a_visitor_who_ran_out_of_time_changed_no_answer(report):
    study, path = report
    make_rater(study=study, state=Annotator.State.TIMED_OUT)

    [reason] = verify_report(json.loads(path.read_text())).reasons

    assert reason == ("No answer was changed, only participation, such as a time-out.")


def test_withdrawn_answers_are_named_and_supersede_the_report(report, capsys):
    study, path = report
    person = Annotator.objects.filter(study=study).order_by("pseudonym").first()
    n = Annotation.objects.filter(assignment__annotator=person).update(standing="withdrawn")

    with pytest.raises(CommandError, match="The report is superseded"):
        call_command("verify", str(path))

    said = capsys.readouterr().out
    assert f"{person.pseudonym} withdrew {n} answers" in said
    assert "The report uses" in said


def test_people_who_were_excluded_or_came_since_are_named(report):
    study, path = report
    content = json.loads(path.read_text())
    first = Annotator.objects.filter(study=study).order_by("pseudonym").first()
    Annotator.objects.filter(pk=first.pk).update(
        excluded_at=study.created_at, exclusion_reason="hasty"
    )
    answer(make_rater(study=study, pseudonym="P-new"), study.all_items.first(), "r1")

    found = verify_report(content)

    assert not found.is_superseded
    told = " ".join(found.reasons)
    assert f"newly excluded from the analysis: {first.pseudonym}." in told
    assert "new in the analysis: P-new." in told


def test_other_versions_alone_make_no_report_unequal(report, capsys):
    _, path = report
    content = json.loads(path.read_text())
    content["software"]["numpy"] = "1.0"
    path.write_text(json.dumps(content))

    call_command("verify", str(path))

    assert "numpy 1.0 → " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "There is no report at"), ("{", "is not JSON"), ("{}", "is not a report")],
)
def test_what_is_no_report_is_refused_in_words(tmp_path, text, words):
    path = tmp_path / "report.json"
    if text is not None:
        path.write_text(text)

    with pytest.raises(CommandError, match=words):
        call_command("verify", str(path))


def test_entries_are_compared_by_name_and_not_by_place():
    then = {"raters": [{"rater": "P-1", "n": 1}, {"rater": "P-2", "n": 2}]}
    now = {"raters": [{"rater": "P-2", "n": 3}]}

    found = [(d.path, d.then, d.now) for d in differences(then, now)]

    assert found == [("raters[P-1]", "(2 values)", "–"), ("raters[P-2].n", 2, 3)]


def test_changes_of_methods_since_the_report_are_named_with_what_they_explain(report, capsys):
    """As on a later version: the report knew the methods of an earlier date."""
    _, path = report
    content = json.loads(path.read_text())
    content["software"]["methods"] = "2026-11-26"
    content["human"]["majority"]["general"] = {"ci": [0.1, 0.2]}
    content["human"]["majority"]["correct"] += 1
    content["human"]["majority"]["accuracy"] += 1e-15
    content["registration"]["rule"] = "Another text."
    path.write_text(json.dumps(content))

    with pytest.raises(CommandError):
        call_command("verify", str(path))

    said = capsys.readouterr().out
    assert "2026-11-27: An accuracy has one interval" in said
    assert "No change of a method explains 1 more." in said
    assert "1 other value is text" in said
    assert "majority.accuracy:" not in said
    assert "Judges are compared" not in said


def test_every_change_of_a_method_names_a_page_and_values_of_reports(report):
    pytest.importorskip("extras.label_models")  # has values in a chapter of the core
    _, path = report
    content = json.loads(path.read_text())
    paths = [one.path for one in differences({}, flat(content))]
    chapters = {path.split(".")[0] for path in paths}
    dates = [change.date for change in method_changes()]

    assert dates == sorted(dates, reverse=True)
    for change in method_changes():
        assert (settings.BASE_DIR / "docs" / change.page).is_file()
        # A chapter of an extra may be missing here.
        named = {key for each in change.values for key in re.findall(r"^\^(\w+)\\b", each)}
        is_here = not named or named & chapters
        assert not is_here or change.is_gone or any(change.explains(each) for each in paths), (
            change.title
        )


def flat(value, path=""):
    """Every value of a report by its path."""
    if isinstance(value, dict):
        return {k: v for key in value for k, v in flat(value[key], f"{path}.{key}").items()}
    if isinstance(value, list):
        return {k: v for n, each in enumerate(value) for k, v in flat(each, f"{path}[{n}]").items()}
    return {path.lstrip("."): value}


def test_an_imported_bundle_is_compared_under_another_name_without_rows_of_people(
    report, tmp_path, capsys
):
    study, path = report
    Study.objects.filter(pk=study.pk).update(slug="imported", title="Imported")
    for person in Annotator.objects.filter(study=study):
        Annotator.objects.filter(pk=person.pk).update(pseudonym=f"R-{person.pk:04}")

    with pytest.raises(CommandError, match="--study"):
        call_command("verify", str(path))
    found = verify_report(json.loads(path.read_text()), study="imported")

    assert [one.path for one in found.differences if "raters" in one.path] == []
    assert "same name here" in " ".join(found.reasons)
    assert not found.is_superseded
