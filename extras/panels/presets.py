"""Presets of panels, read from `panels.toml`: names of parameters, addresses and ways to pay."""

import datetime as dt
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("panels.toml")
_OWN_IDS = r"[0-9A-Za-z._~:+=/|-]{1,128}"


@dataclass(frozen=True)
class Preset:
    """What is known of one kind of panel; `panels.toml` explains the fields."""

    code: str
    title: str
    company: str
    read: dt.date
    person: str
    example: Mapping[str, str]
    pay: str
    hint: str
    paste: str
    source: str = ""
    unchecked: str = ""
    study: str = ""
    session: str = ""
    required: tuple[str, ...] = ()
    ids: str = _OWN_IDS
    link: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    submits_to: str = ""
    preview: str = ""
    frames: tuple[str, ...] = ()
    signature: str = ""
    signature_parameter: str = ""
    unfilled: str = ""
    person_mark: str = ""
    shared_ids: bool = False

    def allows(self, host: str) -> bool:
        """Whether people may be sent to this host; a preset without hosts leaves it to owners."""
        return not self.hosts or any(
            host.endswith(own) if own.startswith(".") else host == own for own in self.hosts
        )

    @property
    def hosts_in_words(self) -> str:
        return " or ".join(f"…{own}" if own.startswith(".") else own for own in self.hosts)


@cache
def presets() -> dict[str, Preset]:
    """All presets, by their codes."""
    rows: dict[str, dict[str, Any]] = tomllib.loads(_FILE.read_text("utf-8"))
    for code, row in rows.items():
        lists = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
        rows[code] = {"code": code, **row, **lists}
    return {code: Preset(**row) for code, row in rows.items()}
