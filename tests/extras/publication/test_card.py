"""The card, licence and citation of a bundle say what it holds and how it was collected."""

import json
import shlex

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from analysis.errors import ExportError
from analysis.exports import bundle, catalogue
from analysis.exports.catalogue import ExportTable
from analysis.exports.columns import Column
from analysis.exports.table_files import ExportTableFile
from annotation.models import Annotation, QuotaGroup
from studies.importers.items.storage import import_items
from studies.models import Item, Membership, Study
from tests.analysis.exports.helpers import export, judged
from tests.factories import make_item, make_study
from tests.studies.files import jsonl, raw_item, read

pytestmark = pytest.mark.django_db


def card_of(study, tmp_path, **options) -> str:
    return (export(study, "all", tmp_path / "out", **options) / "README.md").read_text("utf-8")


def head_of(card: str) -> dict:
    lines = card.split("---\n")[1].splitlines()
    return {key: json.loads(value) for key, value in (line.split(": ", 1) for line in lines)}


def test_a_title_cannot_break_out_of_the_head_and_simulated_answers_are_said_to_be(study, tmp_path):
    study.title, study.is_simulated = "---\nlicense: mit", True

    card = card_of(study, tmp_path)

    assert card.startswith('---\npretty_name: "---\\nlicense: mit"\n')
    assert "**Answers in this data set are simulated.**" in card


def test_the_card_tells_how_people_and_judges_were_asked(study, tmp_path):
    study.instructions = "Read both.\nThen choose."
    study.save()
    judged(study, model_snapshot="m-2024", replies=3)
    judged(study, sample=2, state="refused", choice="", certainty=None)
    QuotaGroup.objects.create(study=study, criteria={"gender": "woman"}, target=9, completed=5)
    QuotaGroup.objects.create(study=study, criteria={"gender": "man"}, target=9, completed=4)

    card = card_of(study, tmp_path)

    assert "| annotations | 2 |" in card
    assert "| judgments | 2 |" in card
    assert "> Read both. Then choose.\n>\n> If an item distresses you" in card
    assert "$4.50 ($13.50 an hour)" in card
    assert "gender: woman: 5 (9); gender: man: under 5 (9)" in card
    assert "| steady | m | m-2024 | recorded answers | certainty | age |" in card
    assert "| 2 | 4 | 1 refused |" in card
    assert "| people | 2 | 0 | 2 | 0 (0.0%) |" in card
    assert "| `choice` | text | r1, r2 or tie" in card
    assert "Do not use them for decisions about individuals" in card
    assert "No report had been built from these answers." in card


def test_the_card_says_nothing_of_pay_or_consent_where_answers_came_from_files(study, tmp_path):
    study.annotators.update(is_imported=True)

    card = card_of(study, tmp_path)

    for words in ("an hour", "### The text of the consent", "Models received"):
        assert words not in card
    assert "The consent and instructions are not known" in card


def test_the_card_names_who_judged_and_asks_what_the_items_ask(study, tmp_path):
    assert "\nPeople judged these items on somebody else's behalf. An item has the profile" in (
        card_of(study, tmp_path)
    )
    empty = make_study()
    make_item(study=empty, task="authorship")

    card = card_of(empty, tmp_path / "later")

    assert "\nNobody has judged these items yet. An item has the profile" in card
    assert "asks “Which response did this person write?”" in card
    assert "chose to take part" not in card


def test_the_card_counts_withdrawn_answers(study, tmp_path):
    Annotation.objects.filter(pk=Annotation.objects.first().pk).update(standing="withdrawn")

    assert "Withdrawn, and not in this data set: 1." in card_of(study, tmp_path)


def test_the_card_has_each_version_of_the_consent_with_its_dates_and_boxes(two_versions, tmp_path):
    card = card_of(two_versions, tmp_path)

    agreed = card.partition("### The text of the consent")[2].partition("\n### ")[0]
    rows = map(json.loads, (tmp_path / "out/jsonl/annotators.jsonl").read_text().splitlines())
    versions = {row["consent_version"] for row in rows}
    assert len(versions) == 2
    for words in ("$4.50", "20 minutes", "$9.00", "45 minutes", "- [ ] I am an adult."):
        assert words in agreed
    assert all(f"**Version {version[:12]}**, days of consent" in agreed for version in versions)


def test_the_head_of_the_card_is_yaml_that_says_what_the_files_hold(study, tmp_path):
    pytest.importorskip("extras.documents.data_files")
    head = head_of(card_of(study, tmp_path, format="parquet", licence="CC-BY-4.0"))

    assert head["license"] == "cc-by-4.0"
    assert head["size_categories"] == ["n<1K"]
    (info,) = [each for each in head["dataset_info"] if each["config_name"] == "annotations"]
    (split,) = info["splits"]
    assert split["num_examples"] == 2
    assert {"name": "certainty", "dtype": "int64"} in info["features"]
    for config in head["configs"]:
        (file,) = config["data_files"]
        assert (tmp_path / "out" / file["path"]).is_file()


def test_card_and_metadata_name_the_languages_of_the_items(tmp_path, db):
    study = make_study(language="en")
    for language in ("ar", "ar", "pt_BR", ""):
        make_item(study=study, language=language)

    head = head_of(card_of(study, tmp_path))

    assert head["language"] == ["ar", "en", "pt-BR"]
    assert head["multilinguality"] == ["multilingual"]
    metadata = json.loads((tmp_path / "out/croissant.json").read_text())
    assert metadata["inLanguage"] == ["ar", "en", "pt-BR"]


@pytest.mark.parametrize(
    ("licence", "source", "head"),
    [
        ("CC0-1.0", {"licence": "CC0-1.0"}, '"cc0-1.0"'),
        ("CC-BY-4.0", {"licence": "MIT"}, '"answers: CC-BY-4.0; items: MIT"'),
        ("", {"licence": "MIT"}, '"answers: not stated; items: MIT"'),
    ],
)
def test_answers_and_items_may_be_under_different_licences(study, tmp_path, licence, source, head):
    study.source = source

    card = card_of(study, tmp_path, licence=licence)

    assert head in card.split("---\n")[1]
    text = (tmp_path / "out/LICENSE").read_text()
    assert source["licence"] in text
    assert licence in text
    assert ("not stated" in text) == (not licence)


def test_a_bundle_says_how_to_cite_it_and_its_source(study, tmp_path):
    owner = User.objects.create_user("ada", first_name="Ada", last_name="Lovelace")
    Membership.objects.create(user=owner, study=study, role="owner")
    study.source = {"name": "Bank", "url": "https://example.org", "citation": "Bank et al. 2024"}

    card = card_of(study, tmp_path, licence="CC-BY-4.0")

    lines = (tmp_path / "out/CITATION.cff").read_text().splitlines()
    cff = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in lines)}
    assert cff["cff-version"] == "1.2.0"
    assert cff["authors"] == [{"name": "Ada Lovelace"}]
    assert cff["license"] == "CC-BY-4.0"
    assert cff["references"][0]["url"] == "https://example.org"
    assert "author = {{Ada Lovelace}}" in card


def test_who_has_no_full_name_is_not_named_by_the_name_they_sign_in_with(study, tmp_path):
    owner = User.objects.create_user("ada@example.org")
    Membership.objects.create(user=owner, study=study, role="owner")

    out = export(study, "all", tmp_path / "out")

    assert "ada@" not in "".join(p.read_text() for p in out.rglob("*") if p.is_file())


def test_the_card_of_withheld_items_gives_the_command_that_rebuilds_them(tmp_path, db):
    first = import_items("one", [read(jsonl(raw_item(1)), name="my bank.jsonl")], create=True)
    study = first.study
    study.source = {"redistribution": "forbidden"}
    study.save()

    card = card_of(study, tmp_path)

    (command,) = [line for line in card.splitlines() if line.startswith("manage.py")]
    (tmp_path / "my bank.jsonl").write_bytes(jsonl(raw_item(1), raw_item(2)))
    words = shlex.split(command.replace("jsonl/items", f"{tmp_path}/out/jsonl/items"))[1:]
    words[1:3] = ["again", str(tmp_path / words[2])]
    call_command(*words)
    hashes = Item.everything.values_list("study__slug", "content_hash")
    (one, two) = hashes.order_by("study__slug")
    assert one == ("again", two[1])


class Shapes(list[ExportTable]):
    """Tables that are on in every study."""

    def where(self, is_on: object) -> list[ExportTable]:
        return self


def test_the_card_explains_runs_in_the_wide_table_and_names_shapes_that_are_left_out(
    study, tmp_path, monkeypatch
):
    def too_large(study: Study, disclosure) -> ExportTableFile:
        raise ExportError("Too large.")

    columns = (Column("item_id", "text", "Id."), Column("J_gpt", "text", "Verdict of gpt."))
    wide = ExportTableFile("wide", columns, lambda: iter([{"item_id": "i1", "J_gpt": "r1"}]))
    shapes = [
        ExportTable("wide", ("csv",), "Wide", lambda study, _: wide, bundled="wide.csv"),
        ExportTable("odd", ("csv",), "Odd", too_large, bundled="odd.csv"),
    ]
    for module in (bundle, catalogue):
        monkeypatch.setattr(module, "MORE", Shapes(shapes))

    card = card_of(study, tmp_path)

    assert "| `J_gpt` | text | Verdict of gpt. |" in card
    assert "`item_id`" not in card.partition("### other/wide.csv")[2].partition("## Privacy")[0]
    assert "Left out: `other/odd.csv`. Too large." in card
    assert {path.name for path in (tmp_path / "out/other").iterdir()} == {"wide.csv"}
