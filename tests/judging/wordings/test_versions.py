"""Wordings of a study: checks, versions, freezing, deletion, copies, and runs that use them."""

import io

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from judging.errors import BadRun, ConflictingValue, InvalidValue
from judging.models import Judge, JudgeRun, Judgment, PromptTemplate
from judging.prompts.asking import Asking
from judging.protocols.registry import protocol
from judging.runs.spec import RunSpec
from judging.runs.start import run_for
from judging.wordings import SLOTS, check_template, compare, delete_wording, save_wording
from judging.worker.chunks import questions_of
from studies.services.whole_studies import copy_study
from studies.texts.slots import Slots
from tests.factories import make_item, make_study
from tests.judging.run_helpers import study_of

TEXT = "For {{ persona }}: {{ question }}{{ response_a }} or {{ response_b }}? [["
pytestmark = pytest.mark.django_db


def problems(text, *, setting="standard", shows_persona=True):
    return check_template(text, protocol=protocol(setting), shows_persona=shows_persona).problems


def saved(study, **changes):
    return save_wording(
        **{"study_id": study.pk, "name": "short", "setting": "standard", "template": TEXT} | changes
    )


def test_a_good_text_has_no_problems():
    assert problems(TEXT) == ()
    assert set(SLOTS) == set(Slots.__dataclass_fields__)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("{{ response_a }}", ""), "would not see response A"),
        (TEXT.replace("{{ persona }}", ""), "would not see the profile"),
        (TEXT + "{{ respons_a }}", "There is no slot “respons_a”. Did you mean {{ response_a }}?"),
        (TEXT + "{{ qqq }}", "There is no slot “qqq”. Use one of: persona"),
        (TEXT + "{{bands}}", "write it with single spaces, {{ bands }}"),
        (TEXT + "{{ bands", "A slot is not closed"),
        (TEXT + "\x00", "cannot be stored"),
        (TEXT + "x" * 20_001, "Use at most 20,000"),
    ],
)
def test_each_fault_has_its_own_words(text, message):
    assert any(message in problem for problem in problems(text))


def test_a_text_for_judges_without_profile_may_not_show_it():
    [problem] = problems(TEXT, shows_persona=False)

    assert "Remove it" in problem


def test_a_text_that_hides_what_annotators_see_gets_a_remark():
    checked = check_template(
        TEXT.replace("{{ question }}", "") + "{{ bands }}",
        protocol=protocol("standard"),
        shows_persona=True,
        has=["question"],
    )

    assert not checked.problems
    assert [remark.split(",")[0] for remark in checked.remarks] == [
        "Items have a question",
        "{{ bands }} explains certainties",
    ]


def test_a_wording_that_no_run_uses_is_replaced_and_a_used_one_gets_a_version():
    study = make_study()
    first = saved(study)

    changed = saved(study, template=TEXT + " ")
    assert (changed.pk, changed.version) == (first.pk, 1)
    assert saved(study, template=TEXT + " ").pk == first.pk
    PromptTemplate.objects.update(frozen_at="2026-01-01T00:00:00Z")
    second = saved(study)

    assert second.version == 2
    assert PromptTemplate.objects.get(version=1).template == TEXT + " "
    assert [log.event for log in study.log.all()][:3] == [
        "wording added",
        "wording changed",
        "wording added",
    ]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a@2"}, "name"),
        ({"template": " "}, "template"),
        ({"template": "{{ persona }}"}, "template"),
        ({"template_without_persona": TEXT}, "template_without_persona"),
    ],
)
def test_a_fault_names_its_field_and_stores_nothing(changes, field):
    with pytest.raises(InvalidValue) as error:
        saved(make_study(), **changes)

    assert error.value.field == field
    assert not PromptTemplate.objects.exists()


def run_of(study, wording, **changes):
    judge, _ = Judge.objects.get_or_create(
        name="j", defaults={"model": "m", "base_url": "http://127.0.0.1:9/v1"}
    )
    spec = RunSpec(study_id=study.pk, judge_id=judge.pk, wording_id=wording.pk, **changes)
    return run_for(study, judge, spec)


def test_a_run_uses_the_wording_and_freezes_it_with_its_first_question():
    study = make_study()
    item = make_item(study=study)
    wording = saved(study)
    run = run_of(study, wording)
    run.save()
    judgment = Judgment.objects.create(run=run, item=item, shown_first="r1")

    [question] = questions_of(run, [judgment])

    [message] = question.messages
    assert message.text.startswith("For ")
    assert message.text.endswith("? [[")
    assert PromptTemplate.objects.get().frozen_at is not None
    assert run.parameters["wording"] == {"name": "short", "version": 1, "sha256": wording.sha256}
    with pytest.raises(InvalidValue, match="is used by a run"):
        delete_wording(wording=wording, user=User.objects.create(username="u"))


def test_a_run_in_another_setting_or_without_its_text_is_refused():
    study = make_study()
    wording = saved(study)

    with pytest.raises(ConflictingValue, match="written for the setting “standard”"):
        run_of(study, wording, setting="tie")
    with pytest.raises(BadRun, match="no text for judges without a profile"):
        run_of(study, wording, features="none")


def test_profiles_that_a_file_spells_are_not_changed_by_a_probe():
    study = study_of(1)
    texts = {"texts": ["x"], "items": {"other": {"persona": 0, "content": ""}}}
    wording = saved(study, exact_texts=texts)

    with pytest.raises(ConflictingValue, match="keeps profiles as a file spells them"):
        run_of(study, wording, bias_probe="hide-text")
    assert run_of(study, wording, bias_probe="authority").wording == wording


def test_an_unused_wording_can_be_deleted_and_a_copy_has_its_own():
    study = make_study()
    item = make_item(study=study)
    wording = saved(study)
    PromptTemplate.objects.update(frozen_at="2026-01-01T00:00:00Z")

    copy = copy_study(study_id=study.pk, slug="copy", title="Copy", with_items=True)

    [copied] = copy.prompt_templates.all()
    assert (copied.template, copied.sha256, copied.frozen_at) == (TEXT, wording.sha256, None)
    assert copied.public_id != wording.public_id
    delete_wording(wording=copied, user=User.objects.create(username="u"))
    assert not copy.prompt_templates.exists()
    assert item.study_id == study.pk


def test_differences_are_shown_line_by_line():
    lines = compare("a\nb\nc", "a\nx\nc\nd")

    assert [(line.kind, line.text) for line in lines] == [
        ("same", "a"),
        ("removed", "b"),
        ("added", "x"),
        ("same", "c"),
        ("added", "d"),
    ]


def test_a_file_is_stored_as_a_wording_by_command(tmp_path):
    study, path, out = make_study(), tmp_path / "w.txt", io.StringIO()
    make_item(study=study)
    path.write_text(TEXT + "\n")

    call_command("import_wording", study.slug, str(path), "--name", "short", stdout=out)

    assert PromptTemplate.objects.get().template == TEXT
    assert "--wording short@1 --setting standard" in out.getvalue()
    path.write_text("{{ response_a }}")
    with pytest.raises(CommandError, match=r"FILE: .*would not see response B"):
        call_command("import_wording", study.slug, str(path), "--name", "short")
    with pytest.raises(CommandError, match="FILE is missing"):
        call_command("import_wording", study.slug, "--name", "short")
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("import_wording", study.slug, str(tmp_path / "no"), "--name", "short")
    assert not JudgeRun.objects.exists()


def test_the_hash_of_a_run_changes_with_the_texts_that_a_file_spells():
    study = study_of(1)
    wording = saved(study)
    run = run_of(study, wording)
    with_texts = saved(study, name="other", exact_texts={"texts": ["x"], "items": {}})

    assert Asking.of(run).sha256() == run.prompt_hash
    assert run_of(study, with_texts).prompt_hash != run.prompt_hash
