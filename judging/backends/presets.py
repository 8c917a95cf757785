"""Ready-made beginnings of a judge: providers of presets.toml, and models of models.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from judging.backends.kinds import DEFAULT, names
from judging.backends.known_models import (
    IMAGES,
    PROBABILITIES,
    TEMPERATURE,
    TIES,
    KnownModel,
    PublicPrice,
    host_of,
    known_model,
    known_models,
)

TO_REPLACE = "YOUR-"  # begins a part of an address that everybody has to replace
GROUPS = {
    "provider": "Providers",
    "gateway": "Gateways to many models",
    "own": "Your own server",
    "paper": "Models of the paper, of 2024",
    "hosted": "Models at their makers",
    "open": "Open models, on a server of yours",
}
PAPER = "paper"


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


@cache
def presets() -> dict[str, JudgePreset]:
    """The presets by name, in the order of the files; without those whose backend is not here."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    entries = {name: _preset(entry) for name, entry in tomllib.loads(text).items()}
    entries |= {
        name: _of_model(known, entries.get(known.provider))
        for name, known in known_models().items()
        if known.group in GROUPS
    }
    return {name: preset for name, preset in entries.items() if preset.backend in names()}


def _preset(entry: dict[str, Any]) -> JudgePreset:
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    return JudgePreset(**values)


def _of_model(known: KnownModel, provider: JudgePreset | None) -> JudgePreset:
    """The preset of a model: its provider's, with what the model itself refuses."""
    start = provider or JudgePreset(group=known.group, title="", words="")
    where = f"at {provider.title}" if provider else "on a server of yours"
    left_out = [*filter(None, start.leave_out.split(","))]
    if TEMPERATURE in known.refuses:
        left_out += ["temperature", "top_p"]
    refuses = [name for name in (IMAGES, PROBABILITIES, TIES) if name in known.refuses]
    takes = {**start.takes, **dict.fromkeys(refuses, "no")}
    return replace(
        start,
        group=known.group,
        title=known.title,
        words=f"{where}, {words_of(known)}",
        model=known.model,
        leave_out=",".join(left_out),
        own_sources=(*start.own_sources, *known.own_sources),
        models=known.source,
        notes=(*([known.note] if known.note else []), *start.notes),
        takes=takes,
    )


def words_of(known: KnownModel) -> str:
    """The context and the price of a model in a line, each with a word where it is not known."""
    context = f"{known.context:,} tokens" if known.context else "context unknown"
    price = known.price
    if price is None:
        return f"{context}, price unknown"
    where = f" at {price.at}" if price.at else ""
    return f"{context}, ${price.input} in and ${price.output} out{where} as of {price.day:%Y-%m-%d}"


def public_price(base_url: str, model: str) -> PublicPrice | None:
    """The price of a model or of a dated snapshot of it at an address, if it is known."""
    known = known_model(model)
    if known is None or known.price is None:
        return None
    provider = presets().get(known.provider)
    at = known.price.at or (host_of(provider.base_url) if provider else "")
    return known.price if at == host_of(base_url) else None
