"""Labels by a passport: what is labelled, what is left and routed, and when it is refused."""

import csv
import json
import re

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from analysis.passports import BadPassport, PassportError
from extras.certificates.certifying import CertificateWish, certify
from extras.certificates.labelling import HasMoved, check_judge, label, still_to_ask
from extras.certificates.labels import route_rest, write_labels
from judging.models import Judge, Judgment, Jury
from studies.errors import StudyError
from studies.models import Item, Study
from tests.analysis.labelled_items import judge_it, make_certifiable

pytestmark = pytest.mark.django_db


def at_steps(number):
    return 90 if number % 3 else 60


@pytest.fixture
def study():
    return make_certifiable(60)


@pytest.fixture
def passport(study):
    """Certified from 61 on: below, half of the answers are wrong."""
    judge_it(study, certainty=at_steps, is_right=lambda n: n % 3 > 0 or n % 2 > 0)
    found = certify(study, CertificateWish(judge="steady", error=0.1)).passport
    assert found["threshold"] == 61
    return found


def test_answers_from_the_threshold_on_are_labels_and_others_left_with_a_reason(study, passport):
    run = study.judge_runs.get()
    run.judgments.filter(item__key="i0001").update(state="refused", choice="", certainty=None)
    run.judgments.filter(item__key="i0002").update(certainty=None)
    run.judgments.filter(item__key="i0004").update(state="pending", choice="", certainty=None)
    run.judgments.filter(item__key="i0005").delete()
    run.judgments.filter(item__key="i0007").update(certainty=61)  # exactly the threshold

    labels = label(study, passport)

    found = {line.item: line for line in labels.lines}
    assert len(found) == 60
    assert (found["i0007"].choice, found["i0007"].decision) == ("r2", "labelled")
    assert (found["i0000"].choice, found["i0000"].judged) == ("", "r2")
    assert labels.left == {
        "below_threshold": 20,
        "refused": 1,
        "no_signal": 1,
        "open": 1,
        "not_asked": 1,
    }
    assert labels.sentence.startswith("36 of 60 items labelled by steady. Left to people: 20 (")


def test_a_file_of_labels_has_a_row_for_each_item(study, passport, tmp_path):
    labels = label(study, passport)

    write_labels(labels, tmp_path / "labels.csv")
    write_labels(labels, tmp_path / "labels.jsonl")

    with (tmp_path / "labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]
    assert len(rows) == len(lines) == 60
    assert rows[0]["decision"] == lines[0]["decision"] == "left"
    assert (rows[0]["choice"], lines[0]["choice"]) == ("", None)
    assert lines[1]["choice"] == "r2"
    assert {line["passport"] for line in lines} == {passport.checksum}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.csv", "labels.jsonl"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": "another"}, "The model was “model of steady” and is “another”"),
        ({"temperature": 0.1}, "The temperature was"),
    ],
)
def test_another_model_labels_nothing(study, passport, change, why):
    Judge.objects.update(**change)

    with pytest.raises(HasMoved, match=why):
        label(study, passport)


def test_another_prompt_or_reported_version_labels_nothing(study, passport):
    Judgment.objects.filter(item__key="i0003").update(fingerprint="fp_2")
    with pytest.raises(HasMoved, match="“model-2024-05-13” with the fingerprint “fp_2”"):
        label(study, passport)

    study.judge_runs.update(prompt_hash="f" * 64)
    Study.objects.filter(pk=study.pk).update(persona_style="facts")
    with pytest.raises(HasMoved, match="The prompt differs from") as error:
        label(study, passport)
    assert len(error.value.reasons) == 2


def test_another_study_is_labelled_if_its_items_are_alike(passport):
    other = make_certifiable(50)
    judge_it(other, certainty=at_steps)

    assert label(other, passport).labelled == 33


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"words": 30}, "length of the question"),
        ({"topic": "law"}, "topics"),
        ({"language": "de"}, "The language was “en” and is “de”"),
    ],
)
def test_items_that_have_moved_are_not_labelled(passport, made, why):
    other = make_certifiable(50, **made)
    judge_it(other)

    with pytest.raises(HasMoved, match=why):
        label(other, passport)


def test_a_study_that_the_judge_has_not_seen_says_what_is_to_be_asked(passport):
    other = make_certifiable(50)

    (missing,) = still_to_ask(other, passport)

    assert (missing.judge, missing.items) == ("steady", 50)
    assert missing.options["setting"] == "certainty"
    assert label(other, passport).left == {"not_asked": 50}


def test_a_dry_run_shows_what_missing_answers_cost_and_asks_nothing(study, tmp_path, capsys):
    judge_it(study, certainty=at_steps, is_right=lambda n: n % 3 > 0 or n % 2 > 0)
    other = make_certifiable(30)
    file, out = tmp_path / "passport.json", tmp_path / "labels.csv"
    call_command("certify", study.slug, judge="steady", out=file)
    capsys.readouterr()

    call_command(
        *("label", other.slug, "--judge=steady", f"--passport={file}", f"--out={out}", "--dry-run")
    )

    assert re.match(
        r"30 questions, about [\d,]+ tokens: .*Nothing was asked\.\nNothing was labelled\.\n",
        capsys.readouterr().out,
    )
    assert not other.judge_runs.exists()
    assert not out.exists()


def test_imported_judgments_are_not_asked_but_named(study, passport):
    run = study.judge_runs.get()
    run.is_imported, run.prompt_hash = True, ""
    run.save(update_fields=["is_imported", "prompt_hash"])
    held = certify(study, CertificateWish(judge="steady", error=0.1)).passport
    run.judgments.filter(item__key="i0005").delete()

    assert still_to_ask(study, held) == []
    with pytest.raises(PassportError, match="import those of this study first"):
        label(make_certifiable(5), held)


def test_a_jury_labels_another_study_from_the_answers_of_its_judges(study):
    runs = [judge_it(study, judge=name) for name in ("one", "two")]
    Jury.objects.create(study=study, name="Panel").judges.set([run.judge for run in runs])
    held = certify(study, CertificateWish(judge="Panel", signal="agreement", error=0.1)).passport
    other = make_certifiable(50)
    judge_it(other, judge="one")
    assert [missing.judge for missing in still_to_ask(other, held)] == ["two"]
    judge_it(other, judge="two", is_right=lambda number: number > 4)

    labels = label(other, held)

    assert labels.labelled == 45
    assert labels.left == {"undecided": 5}


def test_a_passport_is_about_one_judge(passport):
    check_judge(passport, "steady")
    with pytest.raises(BadPassport, match="about “steady”, not “other”"):
        check_judge(passport, "other")


def test_the_rest_becomes_a_draft_with_its_provenance(study, passport):
    Item.objects.filter(study=study, key="i0003").update(seats_taken=3, answered=3)

    draft = route_rest(study, label(study, passport), slug="rest")

    items = Item.objects.filter(study=draft)
    assert (draft.state, draft.human_sample, items.count()) == ("draft", None, 19)
    assert draft.personas.count() == 19
    assert not items.filter(key="i0003").exists()
    note = items.get(key="i0006").metadata["routed"]
    assert note == {
        "from": study.slug,
        "passport": passport.checksum,
        "judge": "steady",
        "reason": "below_threshold",
        "signal": 60.0,
    }
    assert draft.source["routed"]["reasons"] == {"the signal is below the threshold": 19}
    assert set(items.values_list("seats_needed", "answered")) == {(3, 0)}
    assert Item.objects.filter(study=study).count() == 60
    every = route_rest(study, label(study, passport), slug="all-of-it", answered_too=True)
    assert Item.objects.filter(study=every).count() == 20


def test_routing_nothing_or_to_a_taken_name_creates_nothing(study, passport):
    with pytest.raises(StudyError, match="already a study"):
        route_rest(study, label(study, passport), slug=study.slug)
    Item.objects.update(seats_taken=3, answered=3)
    with pytest.raises(PassportError, match="already answered"):
        route_rest(study, label(study, passport), slug="rest")
    study.judge_runs.get().judgments.update(certainty=99)
    with pytest.raises(PassportError, match="leaves no item"):
        route_rest(study, label(study, passport), slug="rest")
    assert Study.objects.count() == 1


def test_the_commands_certify_label_and_route(study, tmp_path, capsys):
    judge_it(study, certainty=at_steps, is_right=lambda n: n % 3 > 0 or n % 2 > 0)
    file, out = str(tmp_path / "passport.json"), str(tmp_path / "labels.csv")

    call_command("certify", study.slug, judge="steady", out=tmp_path / "passport.json")
    asked = (study.slug, "--judge=steady", f"--passport={file}", f"--out={out}", "--new=rest")
    call_command("label", *asked)

    told = capsys.readouterr().out
    assert "It accepts 66.7 % of the 60 items that certified it." in told
    assert "40 of 60 items labelled by steady" in told
    assert "Created the draft “rest” with the remaining items: 20" in told


def test_the_commands_refuse_in_words_and_with_exit_codes(study, passport, tmp_path):
    file = tmp_path / "passport.json"
    file.write_text("{}")

    with pytest.raises(CommandError, match="not a passport") as error:
        call_command("label", study.slug, "--judge=steady", f"--passport={file}")
    assert error.value.returncode == 2
    missing = f"--passport={tmp_path / 'none.json'}"
    with pytest.raises(CommandError, match="cannot be read") as error:
        call_command("label", study.slug, "--judge=steady", missing, "--new=x")
    assert error.value.returncode == 2
    with pytest.raises(CommandError, match="Nothing is certified") as error:
        call_command("certify", study.slug, "--judge=steady", "--error=.001", f"--out={file}")
    assert error.value.returncode == 1
    with pytest.raises(CommandError, match="between 0 and 1") as error:
        call_command("certify", study.slug, "--judge=steady", "--error=2", f"--out={file}")
    assert error.value.returncode == 2
    assert file.read_text() == "{}"
    file.write_text(passport.text())
    with pytest.raises(CommandError, match="not “other”"):
        call_command("label", study.slug, "--judge=other", f"--passport={file}", "--new=rest")
    Judge.objects.update(model="another")
    with pytest.raises(CommandError, match="does not hold here"):
        call_command("label", study.slug, "--judge=steady", f"--passport={file}")


def test_a_native_probability_certifies_labels_and_log_probabilities_do_not(db):
    pytest.importorskip("extras.judge_models")  # decision endpoints
    study = make_certifiable(100)

    def shares(number, order):
        right, wrong = ("r1", "r2")[:: 1 if number % 2 == 0 else -1]
        return {right: 0.95 if number < 80 else 0.6, wrong: 0.05 if number < 80 else 0.4}

    native = {"parameters": {"backend": "decisions"}, "probabilities": shares}
    judge_it(study, judge="native", is_right=lambda number: number < 80, **native)
    judge_it(study, judge="writes", probabilities=shares)

    passport = certify(study, CertificateWish(judge="native", signal="native", error=0.1)).passport

    assert (passport["threshold"], passport["coverage"]) == (50, 0.8)
    labels = label(study, passport)
    assert (labels.labelled, labels.left) == (80, {"below_threshold": 20})
    refused = certify(study, CertificateWish(judge="writes", signal="native"))
    assert refused.found.reason == "empty_group"
