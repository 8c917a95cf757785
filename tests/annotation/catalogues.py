"""Catalogues of translations and files of texts, and everything that is wrong with one."""

import ast
import gettext
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

# What a program or a browser reads, and no translator may change.
_SLOT = re.compile(r"%\(\w+\)s|\{\w+\}|</?\w+[^>]*>")
# The same in a file of texts: slots of prompts, what judges reply, and the layout of Markdown.
_MARK = re.compile(
    r"\{\{ \w+ \}\}|\{\w+\}|<\w+>|\[\[[A-Z0-9]\]\]|\[\[|\[RESULT\]"
    r"|^(?:##|- \[ \]|-) |\n$",
    re.MULTILINE,
)
# A translation may need this much more room than the English text.
_LONGER, _MORE = 1.6, 40
# A shorter text may be the same in two languages.
_SAME = 25
# A button of a phone has room for this much more than the English text needs.
_TIMES, _LETTERS = 1.6, 12
_NUMBERS = range(1001)

_CONTROL = re.compile(
    r"<(button|summary)\b[^>]*>.*?</\1>"
    r'|<a\b[^>]*class="[^"]*\b(?:button|chip)\b[^"]*"[^>]*>.*?</a>'
    r'|data-(?:fold|more)="{{.*?}}"'
    r"|set button = .*?%}",
    re.DOTALL,
)
_MARKED = re.compile(r"""(?:_\(|translate )(["'])(.*?)\1""")


class Translation(NamedTuple):
    """Of one text: its plural in English, if it has one, and its forms in the language."""

    plural: str
    forms: list[str]
    is_fuzzy: bool


class Catalogue(NamedTuple):
    """`form_of` says which form a number has, of so many forms."""

    texts: dict[str, Translation]
    forms: int
    numbers: dict[int, list[int]]


def read_catalogue(path: Path) -> Catalogue:
    """The translations of a .po file by their original."""
    texts: dict[str, Translation] = {}
    header = ""
    for entry in path.read_text("utf-8").split("\n\n"):
        parts: dict[str, str] = {}
        name = ""
        for line in entry.splitlines():
            if line.startswith("#"):
                continue
            head, _, quoted = line.partition('"')
            name = head.strip() or name
            parts[name] = parts.get(name, "") + ast.literal_eval(f'"{quoted}')
        forms = [text for key, text in parts.items() if "msgstr" in key]
        is_fuzzy = bool(re.search(r"^#,.*\bfuzzy\b", entry, re.MULTILINE))
        if parts.get("msgid"):
            texts[parts["msgid"]] = Translation(parts.get("msgid_plural", ""), forms, is_fuzzy)
        elif forms:
            header = forms[0]
    rule = re.search(r"nplurals=(\d+); plural=(.*);", header)
    assert rule, f"{path} has no line Plural-Forms in its header"
    numbers = defaultdict(list)
    form_of = gettext.c2py(rule[2])
    for number in _NUMBERS:
        numbers[form_of(number)].append(number)
    return Catalogue(texts, int(rule[1]), numbers)


def texts_of_controls(template: str) -> Iterator[str]:
    """What buttons, and links that look like buttons, say in a template."""
    for control in _CONTROL.finditer(template):
        for text in _MARKED.finditer(control[0]):
            yield text[2]


def faults_of(path: Path, *, marked: Collection[str], buttons: Collection[str]) -> list[str]:
    """What a translator has to correct, by text; `marked` are all texts that need a translation."""
    catalogue = read_catalogue(path)
    faults = [f"“{text}”: missing" for text in marked if text not in catalogue.texts]
    for text, translation in catalogue.texts.items():
        if text not in marked:
            faults.append(f"“{text}”: no page says this any more")
        faults += [f"“{text}”: {fault}" for fault in _faults(text, translation, catalogue)]
        longest = max(map(len, translation.forms), default=0)
        most = round(max(_TIMES * len(text), len(text) + _LETTERS))
        if text in buttons and longest > most:
            faults.append(f"“{text}”: {longest} characters, a button has room for {most}")
    return sorted(faults)


def _faults(text: str, translation: Translation, catalogue: Catalogue) -> Iterator[str]:
    wanted = catalogue.forms if translation.plural else 1
    if translation.is_fuzzy:
        yield "fuzzy"
    if not all(translation.forms):
        yield "not translated"
    elif len(translation.forms) != wanted:
        yield f"{len(translation.forms)} forms, the language has {wanted}"
    else:
        for number, form in enumerate(translation.forms):
            numbers = catalogue.numbers[number] if translation.plural else []
            if not _keeps_slots(form, text, translation.plural, numbers):
                yield f"slots or tags are not those of the original: “{form}”"


def _keeps_slots(form: str, text: str, plural: str, numbers: list[int]) -> bool:
    """A form for one number alone may say it in a word: “two minutes”."""
    slots, expected = _slots(form), _slots(plural or text)
    if slots == expected:
        return True
    if 1 in numbers and slots == _slots(text):
        return True
    return len(numbers) == 1 and slots < expected


def _slots(text: str) -> Counter[str]:
    return Counter(_SLOT.findall(text))


def faults_of_texts(texts: Mapping[str, Any], english: Mapping[str, Any]) -> list[str]:
    """What a translator has to correct in a file of texts, by the place of each text."""
    own, original = dict(_flat(texts)), dict(_flat(english))
    faults = [f"{place}: missing" for place in original.keys() - own.keys()]
    faults += [f"{place}: not in the English file" for place in own.keys() - original.keys()]
    for place in original.keys() & own.keys():
        text, source = own[place], original[place]
        most = round(_LONGER * len(source) + _MORE)
        if bool(text.strip()) != bool(source.strip()):
            faults.append(f"{place}: not translated")
        elif Counter(_MARK.findall(text)) != Counter(_MARK.findall(source)):
            faults.append(f"{place}: slots, brackets or layout are not those of the original")
        elif text == source and len(text) > _SAME:
            faults.append(f"{place}: still in English")
        elif len(text) > most:
            faults.append(f"{place}: {len(text)} characters, there is room for {most}")
    return sorted(faults)


def _flat(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a nested table or list, with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping | list):
        parts = value.items() if isinstance(value, Mapping) else enumerate(value)
        for name, part in parts:
            yield from _flat(part, f"{place}.{name}".strip("."))
