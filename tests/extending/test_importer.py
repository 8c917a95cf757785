"""docs/extending/importer.md, followed word for word: its importer works by command and by page."""

import shlex

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from studies.importers import sets
from studies.models import Item, Study
from tests.extending.page import blocks, modules
from tests.factories import make_study, sign_in

pytestmark = pytest.mark.django_db
PAGE = "importer.md"
MODULE, REGISTRY = "studies/importers/sets/evenings.py", "studies/importers/sets/__init__.py"


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """The example's module in the package, and its name in the registry."""
    code = modules(PAGE)
    (tmp_path / "evenings.py").write_text(code[MODULE], encoding="utf-8")
    monkeypatch.setattr(sets, "__path__", [*sets.__path__, str(tmp_path)])
    names = dict(vars(sets))
    exec(compile(code[REGISTRY], REGISTRY, "exec"), names)
    assert [each.name for each in names["OWN"]] == ["prism", "evenings"]
    monkeypatch.setattr(sets, "SETS", names["OWN"])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder of the command, with the example's file."""
    (table,) = blocks(PAGE, "csv")
    (tmp_path / "evenings.csv").write_text(table, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("registered", "folder")
def test_the_command_imports_the_example_and_prints_what_the_page_says(capsys):
    command, printed = blocks(PAGE, "")

    call_command(*shlex.split(command)[1:])

    assert printed in capsys.readouterr().out
    (study,) = Study.objects.all()
    assert (study.title, study.source["licence"]) == ("Film evenings", "CC0 1.0")
    first, second, _ = Item.objects.order_by("key")
    sides = {first.r1["text"], first.r2["text"]}
    assert sides == {"A heist in Lagos", "A quiet farm"}
    assert first.response(first.first_person)["text"] == "A heist in Lagos"
    assert first.first_person != second.first_person
    assert [f["text"] for f in first.persona.features] == [
        "The person is 25-34 years old.",
        "The person lives in Kenya.",
    ]


@pytest.mark.usefixtures("registered")
def test_the_file_is_recognised_and_an_option_leaves_rows_out(folder, capsys):
    call_command("import_items", "one", "evenings.csv", "--create", "--option", "minutes=90")

    assert "evenings with a shorter film 1" in capsys.readouterr().out
    assert Item.objects.count() == 2


@pytest.mark.usefixtures("registered")
def test_a_fault_names_its_line_and_refuses_the_file(folder):
    text = (folder / "evenings.csv").read_text(encoding="utf-8").replace(",80\n", ",long\n")
    (folder / "evenings.csv").write_text(text, encoding="utf-8")

    with pytest.raises(CommandError, match="Line 4: minutes “long” is not a whole number"):
        call_command("import_items", "one", "evenings.csv", "--create")
    assert not Study.objects.exists()


@pytest.mark.usefixtures("registered")
def test_the_page_offers_the_data_set_with_its_option_and_imports_it(folder):
    study = make_study(slug="one")
    client = sign_in(study)
    address = "/studies/one/import/?set=evenings"

    page = client.get(address).content.decode()
    file = SimpleUploadedFile("evenings.csv", (folder / "evenings.csv").read_bytes())
    response = client.post(address, {"file": file, "minutes": "90", "import": ""})

    assert "Film evenings" in page
    assert "Shortest film that is kept" in page
    assert response.status_code == 302, response.content.decode()
    assert Item.objects.filter(study=study).count() == 2
