"""Ready-made beginnings of a judge: the entries of presets.toml, and the prices that it knows."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from judging.backends.kinds import DEFAULT, names

TO_REPLACE = "YOUR-"  # begins a part of an address that everybody has to replace
GROUPS = {
    "provider": "Providers",
    "gateway": "Gateways to many models",
    "own": "Your own server",
    "paper": "Models of the paper",
}
_DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")


@dataclass(frozen=True, kw_only=True)
class JudgePreset:
    """An entry of presets.toml, which says what the fields mean.

    `base_url` is empty if the model runs on the user's own server, `model` if any of a server's
    models can be named.
    """

    group: str
    title: str
    words: str
    model: str = ""
    backend: str = DEFAULT
    base_url: str = ""
    replace: str = ""
    key_variable: str = ""
    slots: int | None = None
    leave_out: str = ""
    own_sources: tuple[str, ...] = ()
    models: str = ""
    notes: tuple[str, ...] = ()
    takes: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_own(self) -> bool:
        """Whether it is a server of the user's, whose tokens cost nothing."""
        return self.group == "own"

    @property
    def port(self) -> int | None:
        """The usual port of a server that runs on this machine."""
        parts = urlsplit(self.base_url)
        return parts.port if parts.hostname == "localhost" else None


@dataclass(frozen=True, kw_only=True)
class PublicPrice:
    """A price of one day, in US dollars per million tokens; `source` is the provider's page."""

    at: str
    model: str
    input: Decimal
    output: Decimal
    day: date
    source: str
    cached: Decimal | None = None

    @property
    def words(self) -> str:
        return f"Prices as of {self.day:%-d %B %Y}. Compare them with {self.source} first."


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def presets() -> dict[str, JudgePreset]:
    """The presets by name, in the order of the file; without those whose backend is not here."""
    entries = {name: _preset(entry) for name, entry in _file().items() if name != "price"}
    return {name: preset for name, preset in entries.items() if preset.backend in names()}


def _preset(entry: dict[str, Any]) -> JudgePreset:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    return JudgePreset(**values)


@cache
def _prices() -> dict[tuple[str, str], PublicPrice]:
    rows = []
    for row in _file()["price"]:
        amounts = {
            name: Decimal(row[name]) for name in ("input", "output", "cached") if name in row
        }
        rows.append(PublicPrice(**row | amounts))
    return {(row.at, row.model): row for row in rows}


def public_price(base_url: str, model: str) -> PublicPrice | None:
    """The price of a model or of a dated snapshot of it, if the file has it."""
    at = urlsplit(base_url).hostname or ""
    return _prices().get((at, model)) or _prices().get((at, _DATED.sub("", model)))
