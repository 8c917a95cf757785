"""The documentation of formats says what the program does."""

import json
import re
from pathlib import Path

from analysis.exports import columns
from studies.importers.columns.mapping import ColumnMapping
from studies.importers.files.readers import COLUMNS
from studies.importers.items.item_bundle import FORMATS, OWN, file_formats
from studies.importers.items.validation import KEYS
from studies.importers.sets import data_sets
from studies.importers.sets.data_set import as_text
from studies.importers.sets.prism import PRISM
from tests.studies.files import faults, jsonl

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "formats.md").read_text(encoding="utf-8")


def test_the_example_of_an_item_is_sound_and_complete():
    example, mapping = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    item = json.loads(example)

    assert faults(jsonl(item)) == []
    assert set(item) == KEYS - {"check", "advice", "option_set", "media", "replaces", "reference"}
    assert ColumnMapping.read(mapping).has_own_answer


def test_the_example_file_of_the_readme_is_sound():
    assert faults((DOCS / "examples/items.jsonl").read_bytes()) == []


def test_every_column_and_format_is_described():
    names = {
        *COLUMNS,
        *columns.names(columns.ANNOTATIONS),
        *columns.names(columns.JUDGMENTS),
        *columns.names(columns.AGGREGATES),
        *columns.names(columns.ANNOTATORS),
        *columns.names(columns.FREE_TEXT),
        *columns.names(columns.IDENTIFIED),
    }

    assert sorted(name for name in names if f"`{name}`" not in TEXT) == []


def test_the_choices_of_format_are_described():
    commands = (DOCS / "commands.md").read_text(encoding="utf-8")
    added = {form.name for form in FORMATS} - {form.name for form in OWN}
    names = [name for name in file_formats() if name not in added]
    of_core = ["auto", *names, PRISM.name]

    assert f"--format {'|'.join(of_core)}|…]" in TEXT
    assert "--format " + r"\|".join(of_core) + r"\|…]" in commands


def test_every_option_of_a_data_set_is_described_with_its_default():
    pages = [TEXT, *(page.read_text("utf-8") for page in DOCS.parent.glob("extras/*/docs/*.md"))]
    sections = {
        name: section
        for page in pages
        for name, section in re.findall(
            r"^##+ (.+?)\n(.*?)(?=\n##|\Z)", page, re.DOTALL | re.MULTILINE
        )
    }
    for dataset in data_sets().values():
        section = sections[dataset.title.removesuffix(", synthetic")]
        for option in dataset.options:
            default = as_text(option.default)
            assert re.search(rf"\| `{option.name}` \| `?{default}`? \|", section), option.name
