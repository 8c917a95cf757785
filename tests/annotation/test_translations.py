"""Every text that participants read can be translated, and every translation is complete."""

import ast
import gettext
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings
from django.template import engines
from django.template.base import Lexer, TokenType
from django.utils import translation
from django.utils.translation import to_locale
from django.utils.translation.template import templatize

from annotation.content.comprehension import set_questions, standard_questions, unfair_checks
from annotation.content.texts import FOR_TRANSLATORS, template_for
from studies.models import Task
from studies.pages.settings_views import TRANSLATED
from studies.prompts import BANDS, SETTINGS, wording
from tests.annotation.catalogues import (
    faults_of,
    faults_of_texts,
    read_catalogue,
    texts_of_controls,
)
from tests.factories import make_study

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
BUTTONS = {text for path in TEMPLATES for text in texts_of_controls(path.read_text("utf-8"))}
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


@cache
def marked_texts(owner: Path) -> frozenset[str]:
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
    return frozenset(found)


@each_language
def test_nothing_is_wrong_with_a_catalogue(path):
    marked = marked_texts(owner_of(path))
    if owner_of(path) == ROOT:
        assert len(marked) > 200
    else:
        marked -= marked_texts(ROOT)

    faults = faults_of(path, marked=marked, buttons=BUTTONS)

    assert not faults, "\n".join([str(path.relative_to(ROOT)), *faults])


def test_every_language_is_offered_and_has_all_texts_of_extras():
    languages = {path.parts[-3] for path in CATALOGUES if owner_of(path) == ROOT}

    assert {to_locale(code) for code, _ in TRANSLATED} == languages | {"en"}
    assert len(BUTTONS) > 30
    for owner in {owner_of(path) for path in CATALOGUES}:
        assert {path.name for path in owner.glob("locale/*")} == languages, owner


_HEADER = 'msgid ""\nmsgstr "Plural-Forms: nplurals={}; plural={};\\n"'
_ARABIC = "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5"
_MINUTES = '"%(n)s minute"\nmsgid_plural "%(n)s minutes"\n'


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ('msgid "Save"\nmsgstr "Speichern"', ""),
        ('msgid "Save"\nmsgstr "Das Eingegebene speichern"', "“Save”: 25 characters, a button has"),
        ('msgid "Save"\nmsgstr ""', "“Save”: not translated"),
        ('#, fuzzy\nmsgid "Save"\nmsgstr "Speichern"', "“Save”: fuzzy"),
        ('msgid "Safe"\nmsgstr "Sicher"', "“Safe”: no page says this any more"),
        ('msgid "To %(name)s"\nmsgstr "An %(nahme)s"', "“To %(name)s”: slots or tags"),
        (
            'msgid "<a href=x>To</a>"\nmsgstr "<a href=y>An</a>"',
            "“<a href=x>To</a>”: slots or tags",
        ),
        (f'msgid {_MINUTES}msgstr[0] "%(n)s Minute"\nmsgstr[1] "%(n)s Minuten"', ""),
        (f'msgid {_MINUTES}msgstr[0] "eine Minute"\nmsgstr[1] "%(n)s Minuten"', ""),
        (
            f'msgid {_MINUTES}msgstr[0] "%(n)s Minute"\nmsgstr[1] "zwei Minuten"',
            "“%(n)s minute”: slots or tags",
        ),
        (
            f'msgid {_MINUTES}msgstr[0] "%(n)s Minute"',
            "“%(n)s minute”: 1 forms, the language has 2",
        ),
    ],
)
def test_each_kind_of_fault_is_named(tmp_path, entry, fault):
    path = tmp_path / "django.po"
    path.write_text(f"{_HEADER.format(2, 'n != 1')}\n\n{entry}\n", "utf-8")
    marked = {text for text in read_catalogue(path).texts if text != "Safe"}

    faults = faults_of(path, marked=marked, buttons={"Save"})

    assert len(faults) == bool(fault)
    assert "".join(faults).startswith(fault)
    assert "“Close”: missing" in faults_of(path, marked={*marked, "Close"}, buttons=())


def test_forms_for_one_number_alone_may_say_it_in_a_word(tmp_path):
    path = tmp_path / "django.po"
    forms = ["no minute", "a minute", "two minutes", *["%(n)s minutes"] * 3]
    written = "\n".join(f'msgstr[{number}] "{form}"' for number, form in enumerate(forms))
    path.write_text(f"{_HEADER.format(6, _ARABIC)}\n\nmsgid {_MINUTES}{written}\n", "utf-8")

    assert faults_of(path, marked={"%(n)s minute"}, buttons=()) == []


@each_language
def test_the_compiled_catalogue_is_up_to_date(path):
    """`msgfmt -o django.mo django.po` in the catalogue's folder makes it."""
    with path.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog

    flat: dict[str | tuple[str, int], str] = {}
    for text, (plural, forms, _fuzzy) in read_catalogue(path).texts.items():
        flat |= (
            {(text, number): form for number, form in enumerate(forms)}
            if plural
            else {text: forms[0]}
        )
    assert {key: value for key, value in compiled.items() if key} == flat


def test_the_words_of_the_prompts_are_translated_on_the_page():
    questions = {wording(task, setting).question for task in Task for setting in SETTINGS}
    levels = {text for band in BANDS for text in (band.name, band.definition)}

    assert set(FOR_TRANSLATORS) == questions | levels
    with translation.override("de"):
        assert [text for text in FOR_TRANSLATORS if translation.gettext(text) == text] == []


READY = ROOT / "annotation/content/ready_texts"
# Ready-made texts, and what prompts to judges consist of, a file for each language.
FOLDERS = [
    READY,
    ROOT / "judging/protocols/texts",
    ROOT / "judging/bias/texts",
    *sorted(ROOT.glob("extras/*/texts")),
]
LANGUAGES = [code for code, _ in TRANSLATED]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_is_wrong_with_a_file_of_texts(folder, language):
    english, own = (
        tomllib.loads((folder / f"{code}.toml").read_text("utf-8")) for code in ("en", language)
    )

    faults = faults_of_texts(own, english) if language != "en" else []

    assert not faults, "\n".join([language, *faults])


def test_nothing_is_wrong_with_the_words_of_lessons():
    words = tomllib.loads((ROOT / "extras/improving/words.toml").read_text("utf-8"))

    assert words.keys() == set(LANGUAGES)
    faults = {code: faults_of_texts(own, words["en"]) for code, own in words.items()}
    assert [code for code, found in faults.items() if code != "en" and found] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_ready_made_practice_items_are_translated(language):
    english, own = (
        [
            json.loads(line)
            for line in (READY / f"practice.{code}.jsonl").read_text("utf-8").splitlines()
        ]
        for code in ("en", language)
    )

    assert [item["language"] for item in own] == [language] * 2
    assert [item["first_person"] for item in own] == [item["first_person"] for item in english]
    assert language == "en" or faults_of_texts({"items": own}, {"items": english}) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("facts", [{}, {"perspective": "own"}])
@pytest.mark.parametrize("tie", ["", "difference", "either"])
@pytest.mark.django_db
def test_ready_made_texts_say_what_the_pages_say(language, facts, tie):
    """Buttons are quoted as they are called, and comprehension questions find their sentence."""
    meaning = {"tie_meaning": tie} if tie else {}
    study = make_study(language=language, allow_tie=bool(tie), **facts, **meaning)
    study.instructions = template_for(study, "instructions")
    study.save()
    set_questions(study_id=study.pk, questions=standard_questions(study))

    with translation.override(language):
        withdraw = translation.gettext("Withdraw")

    assert withdraw in template_for(study, "consent")
    assert unfair_checks(study) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("## Zweck\n{pay} [[Betrag]]", ""),
        ("", "a: not translated"),
        ("## Zweck\n{pai} [[Betrag]]", "a: slots, brackets or layout"),
        ("## Zweck\n{pay} Betrag", "a: slots, brackets or layout"),
        ("Zweck\n{pay} [[Betrag]]", "a: slots, brackets or layout"),
        ("## Purpose\n{pay} [[the amount]]", "a: still in English"),
        (f"## Zweck\n{{pay}} [[{'B' * 80}]]", "a: 99 characters, there is room for 90"),
    ],
)
def test_each_kind_of_fault_in_a_file_of_texts_is_named(text, fault):
    english = {"a": "## Purpose\n{pay} [[the amount]]"}

    faults = faults_of_texts({"a": text}, english)

    assert len(faults) == bool(fault)
    assert "".join(faults).startswith(fault)
    assert faults_of_texts({"b": "x"}, english) == ["a: missing", "b: not in the English file"]
