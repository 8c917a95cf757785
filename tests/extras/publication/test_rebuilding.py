"""The commands that a data card gives for items whose texts may not be passed on."""

import json
import shlex

import pytest
from django.core.management import call_command

from extras.publication.collection import rebuild_commands
from studies.importers.columns.mapping import ColumnMapping
from studies.models import Item, Study
from tests.studies.files import jsonl, raw_item
from tests.studies.sets.made import fixture

pytestmark = pytest.mark.django_db
CSV = "Who,Age,Ask,One,Two\n1,40,Soup or stew?,Soup.,Stew.\n2,50,Tea?,Tea.,Milk.\n"
MAPPING = ColumnMapping(
    {
        "Who": "persona_id",
        "Age": "feature",
        "Ask": "question",
        "One": "response_1",
        "Two": "response_2",
    }
).as_json()


@pytest.fixture
def files(tmp_path):
    """The files by the words of a command that imports them."""
    own, table = tmp_path / "own.jsonl", tmp_path / "people.csv"
    own.write_bytes(jsonl(raw_item(1)))
    table.write_text(CSV)
    return {"prism": fixture("prism"), "own.jsonl": own, "people.csv": table}


@pytest.mark.parametrize(
    "imports",
    [
        ["prism --option pair=best_vs_second --seed 9"],
        ["prism", "own.jsonl"],
        [f"people.csv --mapping {shlex.quote(json.dumps(MAPPING))}"],
    ],
    ids=["a set", "a set and own items", "mapped columns"],
)
def test_they_make_the_same_items_again(imports, files, tmp_path):
    for words in imports:
        name, *options = shlex.split(words)
        call_command("import_items", "one", str(files[name]), *options, "--create")
    study, out = Study.objects.get(slug="one"), tmp_path / "out"
    study.source |= {"redistribution": "forbidden"}
    study.save()
    call_command("export", "one", "--what", "all", "--out", str(out))

    entries = study.log.filter(event="items imported").order_by("pk")
    commands = rebuild_commands("again", [each for e in entries for each in e.detail["read"]])
    for command in commands:
        assert command in (out / "README.md").read_text().replace(" one ", " again ")
        words = shlex.split(command.replace("jsonl/items", f"{out}/jsonl/items"))[1:]
        words[2] = str(files[words[2]])
        call_command(*words)

    assert len(commands) == len(imports)
    hashes = Item.everything.order_by("key").values_list("key", "content_hash")
    assert list(hashes.filter(study__slug="again")) == list(hashes.filter(study__slug="one"))
