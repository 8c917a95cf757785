"""Certificates of the released Command R+ judgments on PRISM, as the page on certificates has them.

The files may not be part of this project. The test exists where THIRDPERSON_PAPER_OUTPUTS names
the folder that holds them.
"""

import os
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from studies.importers.files.bundle import File
from studies.models import Item, Study
from tests.factories import make_study

released = pytest.importorskip("extras.replication.released.result_rows")
RELEASED = os.environ.get("THIRDPERSON_PAPER_OUTPUTS")
WITH_PERSONA = "prism_all_features_command-r-plus.jsonl"
WITHOUT_PERSONA = "prism_no_persona_command-r-plus_new.jsonl"
JUDGE = "command-r-plus"

DOCS = Path(__file__).parents[3] / "extras/certificates/docs/certificates.md"

pytestmark = [pytest.mark.slow, pytest.mark.django_db]


def run(name, *arguments):
    out = StringIO()
    call_command(name, *map(str, arguments), stdout=out)
    return out.getvalue()


def known_rows(file: Path, study: Study, folder: Path) -> Path:
    """A file with the lines of a released one that are about items of the study."""
    known = set(Item.objects.filter(study=study).values_list("key", flat=True))
    lines = file.read_bytes().split(b"\n")
    rows = released.parse_released(File(file.name, file))
    made = folder / file.name
    made.write_bytes(b"\n".join(lines[row.line - 1] for row in rows if row.item_id in known))
    return made


def in_docs(words: str) -> bool:
    return " ".join(words.split()) in " ".join(DOCS.read_text("utf-8").split())


if RELEASED:

    def test_the_released_judgments_are_certified_and_label(tmp_path):
        study, folder = make_study(slug="prism", seed=20240701), Path(RELEASED)
        run("import_items", study.slug, folder / WITH_PERSONA, "--format", "personalized-judge")
        run("import_judgments", study.slug, folder / WITH_PERSONA, "--judge", JUDGE)
        shared = known_rows(folder / WITHOUT_PERSONA, study, tmp_path)
        without = ("--judge", f"{JUDGE}-no-persona", "--features", "none")
        run("import_judgments", study.slug, shared, *without)
        file = tmp_path / "passport.json"
        certify = ("certify", study.slug, "--judge", JUDGE, "--out", file, "--error")

        with pytest.raises(CommandError) as refused:
            run(*certify, 0.1, "--by", "item")
        with pytest.raises(CommandError) as by_item:
            run(*certify, 0.25, "--by", "item")
        with pytest.raises(CommandError) as strict:
            run(*certify, 0.2)
        certified = run(*certify, 0.25)
        passport = (study.slug, "--judge", JUDGE, "--passport", file)
        labelled = run("label", *passport)
        routed = run("route", *passport, "--new", "rest")

        for refusal in (refused, by_item):
            assert "26 items with a persona and a question of their own" in str(refusal.value)
            assert "would draw 133 items instead of 26." in str(refusal.value)
        assert "3 of 27 accepted answers were wrong" in str(strict.value)
        assert "66 or more" in certified
        assert "counting every persona equally" in certified
        assert "20.3 % of the 133 items" in certified
        assert labelled.startswith("226 of 1,001 items labelled by command-r-plus.")
        assert "775 (the signal is below the threshold)" in routed
