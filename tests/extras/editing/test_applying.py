"""What applying files changes, what it refuses, and that a refusal leaves nothing behind."""

import io
import json
import tomllib

import pytest
import tomli_w
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.models import QuotaGroup
from judging.models import Judge, PromptTemplate
from judging.runs.judges import add_judge
from judging.wordings import save_wording
from studies.importers.items.storage import import_items
from studies.models import FeatureSet, Item, Membership, Study
from studies.services.studies import create_study
from tests.extras.editing.made import export, forget
from tests.studies.files import jsonl, raw_item, read

pytestmark = pytest.mark.django_db
ITEMS = [raw_item(n) for n in (1, 2, 3)]


def apply(folder, **options):
    """The lines that the command prints, and its remarks."""
    out, err = io.StringIO(), io.StringIO()
    call_command("apply", folder / "study.toml", stdout=out, stderr=err, **options)
    return out.getvalue().splitlines(), err.getvalue()


def refusal(folder, **options):
    """The message of a command that changes nothing; compares all files before and after."""
    before = list(Study.objects.values()), list(Item.everything.values())
    with pytest.raises(CommandError) as error:
        apply(folder, **{"yes": True} | options)
    assert (list(Study.objects.values()), list(Item.everything.values())) == before
    return str(error.value)


def edit(folder, file="study.toml", **changes):
    """Change values of a TOML file; a dotted name is a key of a table."""
    content = tomllib.loads((folder / file).read_text("utf-8"))
    for name, value in changes.items():
        table, _, key = name.rpartition("__")
        target = content[table] if table else content
        if value is None:
            del target[key]
        else:
            target[key] = value
    (folder / file).write_text(tomli_w.dumps(content), "utf-8")


@pytest.fixture
def folder(tmp_path):
    """The files of a study with three items, which is in the database too."""
    study = create_study(slug="suppers", title="Suppers", instructions="Read.")
    import_items("suppers", [read(jsonl(*ITEMS))])
    export(study, tmp_path / "study")
    return tmp_path / "study"


def study():
    return Study.objects.get(slug="suppers")


def freeze():
    Study.objects.update(frozen_at=timezone.now())


def test_the_difference_is_shown_line_by_line_and_made_with_yes(folder):
    edit(folder, settings__title="Dinners", settings__human_sample=2)
    (folder / "texts/instructions.md").write_text("Read twice.")

    with pytest.raises(CommandError) as error:
        apply(folder)
    assert error.value.returncode == 3
    shown, _ = apply(folder, dry_run=True)
    assert shown[-1] == "Nothing was changed."
    assert study().title == "Suppers"
    lines, _ = apply(folder, yes=True)
    assert lines[:-1] == shown[:-1]

    assert '-title = "Suppers"' in lines
    assert '+title = "Dinners"' in lines
    assert "-Read." in lines
    assert "+Read twice." in lines
    assert (study().title, study().instructions) == ("Dinners", "Read twice.")
    assert Item.objects.filter(seats_needed__gt=0).count() == 2
    assert study().log.filter(event="applied from files").count() == 1
    assert apply(folder) == ([f"“suppers” does not differ from {folder / 'study.toml'}."], "")


def test_settings_and_parts_that_are_not_named_stay_as_they_are(folder):
    (folder / "study.toml").write_text(
        'format = "thirdperson-study"\nformat_version = "1.0"\nslug = "suppers"\n'
        "[settings]\nminutes = 9\n"
    )

    apply(folder, yes=True)

    assert (study().minutes, study().title, study().instructions) == (9, "Suppers", "Read.")
    assert Item.objects.count() == 3


def test_a_new_study_is_a_draft_of_its_owner(folder):
    User.objects.create_user("ada")
    edit(folder, slug="other")

    lines, _ = apply(folder, yes=True, owner="ada")

    made = Study.objects.get(slug="other")
    assert made.state == Study.State.DRAFT
    assert Membership.objects.get(study=made).user.username == "ada"
    assert "items.jsonl: 3 new: x1, x2, x3" in lines
    assert lines[-1] == "Created the draft “other”."


def test_items_are_added_to_a_study_with_answers(folder):
    freeze()
    (folder / "items.jsonl").write_bytes(jsonl(*ITEMS, raw_item(4)))

    lines, _ = apply(folder, yes=True)

    assert lines[0] == "items.jsonl: 1 new: x4"
    assert Item.objects.count() == 4


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ([ITEMS[0], ITEMS[1], raw_item(3, question="Another?")], "items.jsonl: 1 changed: x3"),
        (ITEMS[:2], "items.jsonl: 1 removed: x3"),
    ],
)
def test_items_change_and_go_until_there_are_answers(folder, rows, shown):
    (folder / "items.jsonl").write_bytes(jsonl(*rows))
    freeze()
    assert "the study has answers" in refusal(folder)
    Study.objects.update(frozen_at=None)

    lines, _ = apply(folder, yes=True)

    assert lines[0] == shown
    assert {item.question for item in Item.objects.all()} == {row["question"] for row in rows}


def test_a_refused_change_leaves_the_allowed_ones_undone(folder):
    freeze()
    edit(folder, settings__reward=1, settings__allow_tie=True)

    message = refusal(folder)

    assert "these settings cannot change: allow_tie" in message
    assert message.endswith("Nothing was changed.")


def test_a_fault_in_the_last_file_undoes_the_first(folder):
    edit(folder, slug="other", parts__quotas="quotas.toml")
    (folder / "quotas.toml").write_text("[[group]]\ntarget = 1\nsex = 'f'\n")

    assert "quotas.toml: A group requires “sex”" in refusal(folder)
    assert not Study.objects.filter(slug="other").exists()


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"settings__titel": "x"}, "“titel” is not known. Did you mean title?"),
        ({"settings__minutes": "long"}, "minutes: “long” value must be an integer."),
        ({"settings__seed": 5}, "cannot become 5"),
        ({"settings__seed": "x"}, "seed is 'x'. Use a whole number."),
        ({"texts__consent": "nowhere.md"}, "nowhere.md cannot be read"),
        ({"texts__consent": "../other.md"}, "../other.md is outside the folder"),
        ({"texts__consent": 3}, "consent is 3. Use a text in quotes."),
        ({"parts__plan": "x"}, "“plan” is not known"),
        ({"format": "else"}, "write format = “thirdperson-study” at the top"),
        ({"format_version": "2.0"}, "This program reads 1.0."),
        ({"slug": None}, "slug is missing"),
        ({"slug": "two words"}, "slug:"),
        ({"feature_sets": {"a": "age"}}, "feature set “a” must be a list"),
        ({"settings": 1}, "settings is 1. Use a table."),
        ({"settings__criteria": "x"}, "criteria:"),
    ],
)
def test_a_fault_in_study_toml_is_named(folder, changes, message):
    edit(folder, **changes)

    assert message in refusal(folder)


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("study.toml", b"a = ", "study.toml is not TOML"),
        ("study.toml", b"a = '\xe9'", "study.toml is not UTF-8"),
        ("items.jsonl", b"{]\n", "items.jsonl: "),
        ("items.jsonl", b"", "has 3 items, and items.jsonl has none"),
        ("source.json", b"[]", "source.json must contain one JSON object"),
        ("source.json", b'{"redistribution": "maybe"}', "“maybe” is not known"),
        ("quotas.toml", b"x = 1", "quotas.toml: "),
        ("comprehension.toml", b"x = 1", "comprehension.toml: “x” is not allowed"),
        ("judges.toml", b"judge = 1", "judge is 1. Use a list."),
        ("judges.toml", b"[[judge]]\nmodel = 'm'", "judge 1: name is missing"),
        ("judges.toml", b"[[judge]]\nname = 'n'\nkey = 'k'", "“key” is not known"),
        ("judges.toml", b"[[judge]]\nname='n'\nprice_input='x'", "price_input is 'x'"),
        ("judges.toml", b"[[jury]]\nname='n'\njudges=['a']", "there is no judge “a”"),
        ("wordings.toml", b"[[wording]]\nname='n'\nversion=1\nsetting='x'", "“x” is not known"),
        ("wordings.toml", b"[[wording]]\nname='a@b'\nversion=1", "without “@”"),
    ],
)
def test_a_fault_in_another_file_is_named(folder, file, content, message):
    (folder / file).write_bytes(content)

    assert message in refusal(folder)


def test_a_missing_file_is_named(tmp_path):
    assert "study.toml cannot be read" in refusal(tmp_path)


def test_only_ids_of_items_that_may_not_be_passed_on_are_written(folder, tmp_path):
    Study.objects.update(source={"redistribution": "forbidden"})
    files = export(study(), tmp_path / "held")
    assert b"soup" not in files["items.jsonl"]

    assert "does not differ" in apply(tmp_path / "held")[0][0]
    forget(study())
    message = refusal(tmp_path / "held")

    assert "3 of 3 items are not in “suppers”" in message
    assert "import_items suppers FILE… --create" in message


def test_an_existing_judge_is_never_changed(folder, tmp_path):
    fields = {"model": "m", "backend": "openai", "base_url": "http://here:8000/v1"}
    add_judge(name="steady", **fields)
    there = fields | {"base_url": "http://there:8000/v1"}
    (folder / "judges.toml").write_text(tomli_w.dumps({"judge": [{"name": "steady", **there}]}))

    _, remarks = apply(folder, yes=True)
    assert "this installation keeps its own base url" in remarks
    assert Judge.objects.get().base_url == "http://here:8000/v1"
    assert b"steady" in export(study(), tmp_path / "again")["judges.toml"]

    edit(folder, "judges.toml", judge=[{"name": "steady", **there, "model": "n"}])
    assert "a judge of that name with another model" in refusal(folder)


@pytest.mark.nightly
def test_a_wording_that_a_run_used_stays_and_others_follow_the_files(folder, tmp_path):
    words = "{{ persona }} {{ response_a }} {{ response_b }}"
    used = save_wording(study_id=study().pk, name="used", setting="certainty", template=words)
    save_wording(study_id=study().pk, name="free", setting="certainty", template=words)
    PromptTemplate.objects.filter(pk=used.pk).update(frozen_at=timezone.now())
    out = tmp_path / "again"
    export(study(), out)
    (out / "wordings/free.1.txt").write_text(f"{words} Choose.")

    apply(out, yes=True)
    assert PromptTemplate.objects.get(name="free").template == f"{words} Choose."
    (out / "wordings/used.1.txt").write_text(f"{words} Choose.")
    assert "“used@1” is used by a run" in refusal(out)
    (out / "wordings/used.1.txt").write_text(words)
    (out / "wordings/free.1.txt").write_text("{{ persona }} {{ response_a }}")
    assert "{{ response_b }} is missing" in refusal(out)
    (out / "wordings.toml").write_text("wording = []")
    assert "“used@1” is used by a run" in refusal(out)
    (folder / "wordings.toml").write_text("")
    PromptTemplate.objects.update(frozen_at=None)
    apply(folder, yes=True)
    assert not PromptTemplate.objects.exists()


def test_quotas_and_feature_sets_follow_the_files(folder):
    freeze()
    edit(folder, feature_sets={"young": ["age"]})
    (folder / "quotas.toml").write_text(
        "[[question]]\nkey='sex'\nlabel='Sex?'\noptions={f='F', m='M'}\n"
        "[[group]]\ntarget=3\nsex='f'\n[everyone_else]\ntarget=1\n"
    )

    apply(folder, yes=True)

    assert [group.target for group in QuotaGroup.objects.all()] == [3, 1]
    assert FeatureSet.objects.get().keys == ["age"]
    edit(folder, feature_sets={"young": ["sex"]})
    assert "its feature set “young” cannot change" in refusal(folder)


def test_a_draw_that_names_another_item_is_refused(folder):
    draw = {"by": {"judge": "j"}, "probabilities": {"x9": 0.5}, "drawn": []}
    (folder / "draw.json").write_text(json.dumps(draw))
    edit(folder, parts__draw="draw.json")

    assert "draw.json names the item x9, which “suppers” lacks" in refusal(folder)
    (folder / "draw.json").write_text(json.dumps(draw | {"probabilities": {"x1": 2}}))
    assert "the probability of x1 is 2" in refusal(folder)


def test_a_preset_begins_a_new_study_and_is_exported_with_it(tmp_path):
    file = tmp_path / "study.toml"
    head = 'format = "thirdperson-study"\nformat_version = "1.0"\nslug = "again"\n'
    file.write_text(f'{head}preset = "personalized-judge"\n[settings]\ntitle = "Again"\n')

    apply(tmp_path, yes=True)

    study = Study.objects.get()
    assert (study.title, study.human_sample, study.quota_groups.count()) == ("Again", 300, 6)
    exported = export(study, tmp_path / "exported")["study.toml"].decode()
    assert tomllib.loads(exported)["preset"] == "personalized-judge"
    file.write_text(f'{head}preset = "pilot"\n')
    assert "was not created from the preset “pilot”" in refusal(tmp_path)
    file.write_text(f'{head.replace("again", "other")}preset = "papers"\n')
    assert "There is no preset “papers”" in refusal(tmp_path)
    assert Study.objects.count() == 1
