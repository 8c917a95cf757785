"""create_study, study_state and import_items, by their contract."""

import json

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from studies.models import Item, Membership, Study
from studies.services.studies import create_study
from tests.factories import make_study
from tests.studies.files import DATASET, jsonl, raw_item
from tests.together import run_together

pytestmark = pytest.mark.django_db


def run(*arguments):
    call_command(*[str(argument) for argument in arguments])


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_bytes(jsonl(raw_item(1), raw_item(2)))
    return path


def test_create_study_is_open_unless_draft(capsys):
    run("create_study", "one", "--title", "The one")
    run("create_study", "two", "--draft", "--task", "authorship")

    assert Study.objects.get(slug="one").title == "The one"
    assert (Study.objects.get(slug="one").state, Study.objects.get(slug="two").state) == (
        "open",
        "draft",
    )
    assert "Created “one”. Its state is open." in capsys.readouterr().out


def test_create_study_reads_settings_from_a_file_and_options_win(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        'title = "From file"\nallow_tie = true\nitems_per_annotator = 12\nhuman_sample = 40\n'
        '[source]\nname = "set"\nredistribution = "forbidden"\n'
    )

    run("create_study", "one", "--from", file, "--title", "By option")

    study = Study.objects.get()
    assert (study.title, study.allow_tie, study.items_per_annotator) == ("By option", True, 12)
    assert (study.human_sample, study.source["redistribution"]) == (40, "forbidden")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("allow_ties = true", "a study has no setting “allow_ties”. Did you mean allow_tie?"),
        ("slug = 'x'", "a study has no setting “slug”"),
        ("minutes = ", "is not TOML"),
        ("minutes = 0", "minutes: Ensure this value is greater than or equal to 1."),
        ("currency = 'dollars'", "currency:"),
        ("minutes = 'many'", "minutes:"),
        ("minutes = 1e400", "minutes: “inf” is not a whole number."),
        ("reward = 4.5", "reward: “4.5” is not a whole number. Write cents"),
        ("reward = 99999999999", "reward: 99999999999 is too large: at most 2147483647."),
        ('language = "xx-<b>"', "language: “xx-<b>” is no code of a language. Use one like en,"),
        ("reward = true", "reward: “True” is not a whole number."),
        ("source = 'web'", "source: The source must be an object"),
        (
            "[source]\nredistribution = 'no'",
            "redistribution “no” is not known. Use one of: allowed",
        ),
    ],
)
def test_create_study_refuses_a_file_with_a_reason(tmp_path, text, message):
    file = tmp_path / "study.toml"
    file.write_text(text)

    with pytest.raises(CommandError) as caught:
        run("create_study", "one", "--from", file)

    assert message in str(caught.value)
    assert not Study.objects.exists()


def test_create_study_refuses_a_taken_or_impossible_name():
    make_study(slug="one")

    with pytest.raises(CommandError, match="There is already a study “one”"):
        run("create_study", "one")
    with pytest.raises(CommandError, match="slug:"):
        run("create_study", "a b")
    with pytest.raises(CommandError, match="There is no user “nobody”"):
        run("create_study", "two", "--owner", "nobody")


def test_create_study_can_name_its_owner():
    User.objects.create_user("ada")

    run("create_study", "one", "--owner", "ada")

    assert Membership.objects.get().role == "owner"


def test_study_state_changes_the_state_and_says_why_it_cannot(capsys):
    study = make_study(slug="one", state="draft")

    run("study_state", "one", "open")
    run("study_state", "one", "open")
    study.refresh_from_db()

    assert study.state == "open"
    assert "“one” is open." in capsys.readouterr().out
    make_study(slug="new", state="draft")
    with pytest.raises(CommandError, match="draft cannot become paused"):
        run("study_state", "new", "paused")
    with pytest.raises(CommandError, match="There is no study “three”"):
        run("study_state", "three", "open")


def test_import_items_creates_checks_and_repeats(items, capsys):
    run("import_items", "one", items, "--create", "--dry-run")
    assert not Study.objects.exists()

    run("import_items", "one", items, "--create", "--task", "survey_answer")
    run("import_items", "one", items)

    assert Study.objects.get().task == "survey_answer"
    assert Item.objects.count() == 2
    assert "2 were there already" in capsys.readouterr().out


def test_import_items_refuses_a_broken_file_with_its_lines(tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_bytes(jsonl(raw_item(1), raw_item(2, question=None)))
    make_study(slug="one")

    with pytest.raises(CommandError) as caught:
        run("import_items", "one", path)

    assert str(path) in str(caught.value)
    assert "Line 2, item “x2”: question is missing." in str(caught.value)
    assert caught.value.returncode == 1
    assert not Item.objects.exists()


def test_import_items_reads_a_bundle_and_notes_its_source(tmp_path):
    described = DATASET | {"language": "de", "source": {"name": "set", "licence": "CC-BY-4.0"}}
    (tmp_path / "dataset.json").write_text(json.dumps(described))
    (tmp_path / "items.jsonl").write_bytes(jsonl(raw_item(1)))

    run("import_items", "one", tmp_path, "--create")

    study = Study.objects.get()
    assert (study.title, study.language, study.source["name"]) == ("Choices", "de", "set")


def test_a_refused_setting_is_named_with_what_can_be_chosen(tmp_path):
    (tmp_path / "s.toml").write_text('set_display = "all"')

    with pytest.raises(CommandError, match=r"set_display: .* Use one of: pairs, whole\."):
        run("create_study", "one", "--title", "One", "--from", tmp_path / "s.toml")


def test_import_items_refuses_a_study_that_cannot_be_created(items):
    with pytest.raises(CommandError, match=r"The study was not created\.\nslug: "):
        run("import_items", "a b", items, "--create")

    assert not Item.objects.exists()


@pytest.mark.parametrize(
    "arguments", [["--format", "excel"], ["--limit", "0"], ["--limit", "x"], ["--task", "x"]]
)
def test_import_items_refuses_bad_usage_plainly(items, arguments):
    make_study(slug="one")

    with pytest.raises(CommandError, match="invalid"):
        run("import_items", "one", items, *arguments)


def test_import_items_names_a_missing_file(tmp_path):
    make_study(slug="one")

    with pytest.raises(CommandError, match="cannot be read: No such file"):
        run("import_items", "one", tmp_path / "none.jsonl")


def test_import_items_reports_warnings_on_stderr(tmp_path, capsys):
    path = tmp_path / "items.jsonl"
    keys = {f"k{n}": "red" for n in range(15)}
    path.write_bytes(jsonl(*[raw_item(n, **keys) for n in range(20)]))

    run("import_items", "one", path, "--create")

    error = capsys.readouterr().err
    assert "Line 1: “k0” is not part of the format; it is kept in the metadata of 20 items" in error
    assert "… and 5 more warnings." in error


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_many_simultaneous_studies_with_one_name_only_one_is_created():
    errors = run_together(lambda _: create_study(slug="one"), list(range(8)))

    assert Study.objects.count() == 1
    assert len(errors) == 7
    assert all("one" in str(error) and "already" in str(error) for error in errors), errors
    assert not any(isinstance(error, IntegrityError) for error in errors)
