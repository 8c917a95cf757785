"""Items of a source that forbids redistribution come back from the source's own files."""

import pytest
from django.core.management import CommandError, call_command

from studies.exporters.items import item_rows
from studies.importers.items.storage import import_items
from studies.models import Item, Study
from tests.studies.files import jsonl, raw_item, read

pytestmark = pytest.mark.django_db


@pytest.fixture
def files(tmp_path):
    """The source's file with three items, and an export's list of the two that were used."""
    source, listed = tmp_path / "source.jsonl", tmp_path / "items.jsonl"
    source.write_bytes(jsonl(*(raw_item(n) for n in (1, 2, 3))))
    study = import_items("one", [read(jsonl(raw_item(1), raw_item(3)))], create=True).study
    Study.objects.update(source={"redistribution": "forbidden"})
    study.refresh_from_db()
    listed.write_bytes(jsonl(*item_rows(study)))
    return source, listed


def rebuild(source, listed):
    call_command("import_items", "two", str(source), "--create", "--like", str(listed))


def test_exactly_the_listed_items_come_back_with_their_hashes(files):
    rebuild(*files)

    hashes = Item.everything.values_list("key", "content_hash")
    assert dict(hashes.filter(study__slug="two")) == dict(hashes.filter(study__slug="one"))
    assert hashes.filter(study__slug="two").count() == 2


def test_an_item_that_is_missing_or_changed_is_named_and_nothing_is_stored(files):
    source, listed = files
    source.write_bytes(jsonl(raw_item(1, question="Something else?"), raw_item(2)))

    with pytest.raises(CommandError, match="“x1” differs from the exported one") as refused:
        rebuild(source, listed)

    assert "item “x3” is in none of the files" in str(refused.value)
    assert not Study.objects.filter(slug="two").exists()


@pytest.mark.parametrize("text", ["{}\n", "[1]\n", "not json\n"])
def test_a_file_that_is_not_a_list_is_refused(files, text):
    source, listed = files
    listed.write_text(text)

    with pytest.raises(CommandError, match="does not list items by id and content_hash"):
        rebuild(source, listed)
