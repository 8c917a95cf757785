"""docs/extending/language.md, followed word for word: participants read the example's language."""

import ast
import re
import struct
from pathlib import Path

import pytest

from studies.pages import settings_views
from tests.annotation.pages.walking import arrive
from tests.extending.page import blocks, modules
from tests.factories import make_study, sign_in

pytestmark = pytest.mark.django_db
PAGE = "language.md"
_TEXT = r"((?:\"(?:[^\"\\]|\\.)*\"\s*)+)"


def compiled(catalogue: str) -> bytes:
    """What msgfmt makes of a catalogue: both texts of each entry, sorted, and where they start."""
    pairs = re.findall(rf"^msgid {_TEXT}^msgstr {_TEXT}", catalogue, re.MULTILINE)
    entries = sorted(
        tuple(ast.literal_eval(f"({text})").encode() for text in pair) for pair in pairs
    )
    start, table, texts = 28 + 16 * len(entries), b"", b""
    for column in (0, 1):
        for entry in entries:
            table += struct.pack("<II", len(entry[column]), start + len(texts))
            texts += entry[column] + b"\0"
    tables = (28, 28 + 8 * len(entries))
    return struct.pack("<7I", 0x950412DE, 0, len(entries), *tables, 0, 0) + table + texts


@pytest.fixture
def registered(tmp_path, monkeypatch, settings):
    """The example's catalogue next to the product's, and its name in the settings of studies."""
    (catalogue,) = blocks(PAGE, "po")
    first, _, text = catalogue.partition("\n")
    path = tmp_path / Path(first.removeprefix("# ")).relative_to("locale")
    path.parent.mkdir(parents=True)
    path.with_suffix(".mo").write_bytes(compiled(text))
    settings.LOCALE_PATHS = [*settings.LOCALE_PATHS, tmp_path]
    names: dict[str, object] = {}
    exec(modules(PAGE)["studies/pages/settings_views.py"], names)
    monkeypatch.setattr(settings_views, "TRANSLATED", names["TRANSLATED"])


@pytest.mark.usefixtures("registered")
def test_participants_read_the_language_of_the_page():
    study = make_study(language="sv")

    html = arrive(study).get(f"/s/{study.slug}/consent/").content.decode()

    assert '<html lang="sv" dir="ltr">' in html
    assert "<h1>Innan du börjar</h1>" in html
    assert "Jag godkänner, fortsätt" in html
    assert "Print or keep a copy of this text" in html  # not in the example's catalogue


@pytest.mark.usefixtures("registered")
def test_the_settings_of_a_study_offer_the_language():
    study = make_study()

    html = sign_in(study).get(f"/studies/{study.slug}/settings/").content.decode()

    assert '<option value="sv">Svenska (translation not reviewed)</option>' in html
