"""Every text that participants read can be translated, and every translation is complete."""

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from django.conf import settings
from django.template import engines
from django.template.base import Lexer, TokenType
from django.utils import translation
from django.utils.translation.template import templatize

from annotation.content.texts import FOR_TRANSLATORS
from studies.models import Task
from studies.prompts import BANDS, SETTINGS, wording

ROOT = Path(settings.BASE_DIR)
_FILES = "locale/*/LC_MESSAGES/django.po"
# Those of the core, and those of extras with what only they say.
CATALOGUES = [*sorted(ROOT.glob(_FILES)), *sorted(ROOT.glob(f"extras/*/{_FILES}"))]
each_language = pytest.mark.parametrize(
    "path", CATALOGUES, ids=lambda path: "-".join(path.relative_to(ROOT).parts[:-2])
)
# What researchers see, in folders of its own, is English.
TEMPLATES = [
    ROOT / "templates/base.html",
    *sorted(ROOT.glob("templates/[45]0*.html")),
    ROOT / "templates/includes/study_contact.html",
    *sorted(ROOT.glob("annotation/jinja2/**/*.html")),
    *sorted(ROOT.glob("extras/*/jinja2/**/*.html")),
    *sorted(ROOT.glob("extras/*/templates/participants/*.html")),
]
MARKS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext"}
# The names of keys, sides and signs are the same in every language.
SAME_EVERYWHERE = {"A", "B", "T", "C", "N", "1", "2", "Enter", "UTC", "Thirdperson"}
# Blocks whose words are translated, or for nobody: those of Django's templates and Jinja2's.
MARKED = {"blocktranslate", "comment", "trans"}
CLASS_NAMES = {"reading", "item", 'class="shows-item"', "ending-done"}


def words_outside_gettext(text: str) -> list[str]:
    """What a reader of a template would see as it stands there, less what is marked."""
    html, inside = "", False
    for token in Lexer(text).tokenize():
        command = token.contents.split()[0] if token.contents.split() else ""
        if token.token_type == TokenType.BLOCK and command in MARKED:
            inside = True
        elif token.token_type == TokenType.BLOCK and command.startswith("end"):
            inside = inside and command.removeprefix("end") not in MARKED
        elif token.token_type == TokenType.TEXT and not inside:
            html += token.contents
        elif token.token_type == TokenType.VAR:
            html += "\N{BULLET}"
    spoken = re.findall(r'\s(?:aria-label|title|alt|placeholder|data-text)="([^"]*)"', html)
    shown = re.sub(r"&\w+;", " ", re.sub(r"<[^>]*>", "|", html)).split("|")
    found = (part.strip(" \n\N{BULLET}–()=:“”.") for part in [*spoken, *shown])
    known = SAME_EVERYWHERE | CLASS_NAMES
    return [part for part in found if re.search(r"[^\W\d_]", part) and part not in known]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_every_word_of_a_template_is_translated(path):
    assert words_outside_gettext(path.read_text("utf-8")) == []


class Translations(NamedTuple):
    """Of one text: its forms; languages such as Chinese have one where English has two."""

    forms: list[str]
    depends_on_number: bool


def read_catalogue(path: Path) -> dict[str, Translations]:
    """The translations of a .po file by their original."""
    found: dict[str, Translations] = {}
    for entry in path.read_text("utf-8").split("\n\n"):
        texts: dict[str, str] = {}
        name = ""
        for line in entry.splitlines():
            if line.startswith("#"):
                continue
            head, _, quoted = line.partition('"')
            name = head.strip() or name
            texts[name] = texts.get(name, "") + ast.literal_eval(f'"{quoted}')
        if texts.get("msgid"):
            forms = [text for key, text in texts.items() if "msgstr" in key]
            found[texts["msgid"]] = Translations(forms, "msgid_plural" in texts)
    return found


def owner_of(path: Path) -> Path:
    """The folder of an extra, or the whole program for what is in none."""
    parts = path.relative_to(ROOT).parts
    return ROOT.joinpath(*parts[:2]) if parts[0] == "extras" else ROOT


def _marked_in(path: Path) -> Iterator[str]:
    """The texts of a template; of several forms the first."""
    text = path.read_text("utf-8")
    if "jinja2" in path.parts:
        for _line, _function, found in engines["jinja2"].env.extract_translations(text):
            # Several forms, or None for what is no constant.
            yield from [found] if isinstance(found, str) else filter(None, (found or ())[:1])
        return
    for call in re.findall(r"(?:gettext|_)\((.*?)\)(?=\s|$)", templatize(text)):
        first = re.match(r"u?('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", call)
        if first:
            yield ast.literal_eval(first[1])


def marked_texts(owner: Path) -> set[str]:
    """Every text that templates and Python of the core or of an extra mark for translation."""
    found = set()
    for path in TEMPLATES:
        if owner_of(path) == owner:
            found |= set(_marked_in(path))
    for path in (owner / "annotation" if owner == ROOT else owner).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in MARKS and node.args and isinstance(node.args[0], ast.Constant):
                found.add(node.args[0].value)
    return found


@each_language
def test_a_language_translates_exactly_the_msgids(path):
    catalogue = read_catalogue(path)
    marked = marked_texts(owner_of(path))
    if owner_of(path) == ROOT:
        assert len(marked) > 200
    else:
        marked -= marked_texts(ROOT)

    assert sorted(marked - set(catalogue)) == []
    assert sorted(set(catalogue) - marked) == []
    assert [text for text, (forms, _) in catalogue.items() if not all(forms)] == []
    assert "fuzzy" not in path.read_text("utf-8")


@each_language
def test_a_language_keeps_every_slot_and_tag(path):
    def slots(text):
        return sorted(re.findall(r"%\(\w+\)s|</?\w+", text))

    catalogue = read_catalogue(path)
    single = {text: forms[0] for text, (forms, varies) in catalogue.items() if not varies}

    assert [text for text, form in single.items() if slots(text) != slots(form)] == []


@each_language
def test_the_compiled_catalogue_is_up_to_date(path):
    """`msgfmt -o django.mo django.po` in the catalogue's folder makes it."""
    with path.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog

    flat: dict[str | tuple[str, int], str] = {}
    for text, (forms, varies) in read_catalogue(path).items():
        flat |= (
            {(text, number): form for number, form in enumerate(forms)}
            if varies
            else {text: forms[0]}
        )
    assert {key: value for key, value in compiled.items() if key} == flat


def test_the_words_of_the_prompts_are_translated_on_the_page():
    questions = {wording(task, setting).question for task in Task for setting in SETTINGS}
    levels = {text for band in BANDS for text in (band.name, band.definition)}

    assert set(FOR_TRANSLATORS) == questions | levels
    with translation.override("de"):
        assert [text for text in FOR_TRANSLATORS if translation.gettext(text) == text] == []
