"""Words that name the people and places behind a study, for blind review."""

import getpass
import html
import json
import os
import re
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q

from judging.models import JudgeRun
from studies.models import Study

HIDDEN = "[removed for review]"
# Addresses of everybody: they say nothing about who ran a study.
_PUBLIC = re.compile(
    r"localhost|127\.|::1|api\.(openai|anthropic|mistral|deepseek)\.|openrouter\.ai|"
    r"huggingface\.co|googleapis\.com|amazonaws\.com|gmail\.|outlook\.|hotmail\.|gmx\.|"
    r"proton|icloud\.|example\."
)
# Scripts and styles of a report, which are the same in every one. Its data have a type.
CODE = re.compile(r"(<(?:script|style)(?: type=.module.)?>.*?</(?:script|style)>)", re.DOTALL)
_SHORTEST = {"account": 3}
_USUALLY = 4
_FIRST_PERSON = 1000  # lower numbers are accounts of services, such as root, which name nobody


@dataclass(frozen=True)
class Identity:
    """A word that names somebody; `is_sure` if it can hardly mean anything else."""

    word: str
    kind: str
    is_sure: bool

    @cached_property
    def forms(self) -> list[str]:
        """The word as files write it: in HTML, in JSON, in LaTeX, in an address."""
        tex = re.sub(r"([&%$#_{}])", r"\\\1", self.word)
        forms = [self.word, html.escape(self.word), json.dumps(self.word)[1:-1], tex]
        return list(dict.fromkeys([*forms, quote(self.word)]))


def identities_of(study: Study) -> list[Identity]:
    """The names of everybody who worked on a study, its addresses, and this machine."""
    by_key = dict[str, Identity]()
    for one in (*_people(study), *_settings(study), *_places(study)):
        word = " ".join(one.word.split())
        key = word.casefold()
        if len(word) >= _SHORTEST.get(one.kind, _USUALLY) and (key not in by_key or one.is_sure):
            by_key[key] = Identity(word, one.kind, one.is_sure)
    return sorted(by_key.values(), key=lambda one: (-len(one.word), one.word))


def _people(study: Study) -> Iterator[Identity]:
    users = User.objects.filter(Q(memberships__study=study) | Q(studylog__study=study))
    for user in users.distinct().order_by("pk"):
        yield Identity(user.get_username(), "account", False)
        yield Identity(user.get_full_name(), "name", " " in user.get_full_name())
        yield Identity(user.last_name, "name", False)
        yield from _address(user.email)


def _settings(study: Study) -> Iterator[Identity]:
    yield from _address(study.contact)
    for kind in ("researchers", "ethics", "storage"):
        text = getattr(study, kind)
        yield Identity(text, kind, len(text.split()) > 2)
        for part in re.split(r"[,;()/]|\band\b|&", text):
            yield Identity(part, kind, False)


def _address(address: str) -> Iterator[Identity]:
    yield Identity(address, "e-mail", True)
    host = address.rpartition("@")[2]
    if host and not _PUBLIC.search(host):
        yield Identity(host, "affiliation", True)


def _places(study: Study) -> Iterator[Identity]:
    yield Identity(socket.gethostname(), "host", False)
    if os.getuid() >= _FIRST_PERSON:
        yield Identity(getpass.getuser(), "account", False)
    for path in (settings.BASE_DIR, settings.VAR_DIR, Path.home()):
        if len(Path(path).parts) > 2:
            yield Identity(str(path), "path", True)
    runs = JudgeRun.objects.filter(study=study).values_list("judge__base_url", flat=True)
    for address in {settings.PUBLIC_BASE_URL, *runs}:
        host = urlsplit(address or "").hostname or ""
        if host and not _PUBLIC.search(host):
            yield Identity(host, "host", True)


class Blinding:
    """Removes what names somebody from texts, and finds what is left.

    A name or account that is also a word of reports is removed only where it says who did
    something.
    """

    def __init__(self, identities: Iterable[Identity]) -> None:
        self.identities = list(identities)
        kinds = ("account", "name")
        single = {one.word for one in self.identities if one.kind in kinds and " " not in one.word}
        words = _words_of_reports() if single else frozenset[str]()
        usual = {word for word in single if word.casefold() in words}
        self._accounts = {one.word for one in self.identities if one.kind == "account"}
        self._removed = _pattern(one for one in self.identities if one.word not in usual)
        names = "|".join(map(re.escape, sorted(usual)))
        self._by = re.compile(rf"\b(by|By|of) (?:{names})(?!\w)") if usual else None
        self._all = [(one, _pattern([one])) for one in self.identities]

    def text(self, text: str) -> str:
        if self._removed is not None:
            text = self._removed.sub(HIDDEN, text)
        return self._by.sub(rf"\1 {HIDDEN}", text) if self._by else text

    def value(self, value: Any) -> Any:
        """The same structure without names, in texts and in values that are an account."""
        if isinstance(value, dict):
            return {key: self.value(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(part) for part in value]
        if isinstance(value, str):
            names = [name.strip() for name in value.split(",")]
            if names and all(name in self._accounts for name in names):
                return HIDDEN
            return self.text(value)
        return value

    def found_in(self, data: bytes) -> Counter[Identity]:
        """How often each word is in a file that is not packed."""
        text = data.decode("utf-8", errors="replace")
        counts = Counter[Identity]()
        for one, pattern in self._all:
            if pattern is not None and (n := len(pattern.findall(text))):
                counts[one] = n
        return counts


def _words_of_reports() -> frozenset[str]:
    text = (settings.BASE_DIR / "analysis" / "report" / "keys.txt").read_text("utf-8")
    return frozenset(word.casefold() for word in re.findall(r"\w+", text))


def _pattern(identities: Iterable[Identity]) -> re.Pattern[str] | None:
    """Finds whole words. Names of accounts have their own case: “ada” is not “Ada”."""
    forms = {}
    for one in identities:
        for form in one.forms:
            words = re.escape(form).replace(r"\ ", r"\s+")
            forms[form] = f"(?-i:{words})" if one.kind == "account" else words
    ordered = "|".join(forms[form] for form in sorted(forms, key=lambda form: (-len(form), form)))
    return re.compile(rf"(?<!\w)(?:{ordered})(?!\w)", re.IGNORECASE) if ordered else None
