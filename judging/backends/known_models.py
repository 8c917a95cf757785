"""The models of models.toml: context, prices with their day, and what each of them refuses."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FILE = Path(__file__).with_name("models.toml")
OLD_AFTER = timedelta(days=90)
# What a model can refuse.
TIES, PROBABILITIES, IMAGES, TEMPERATURE = "ties", "probabilities", "images", "temperature"
_DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")


@dataclass(frozen=True, kw_only=True)
class PublicPrice:
    """A price of one day, in US dollars per million tokens; `source` is the provider's page.

    `at` is the host that takes it; empty if that of the model's provider does. `until` is the last
    day on which it holds, if that is known.
    """

    input: Decimal
    output: Decimal
    day: date
    source: str
    cached: Decimal | None = None
    until: date | None = None
    at: str = ""

    @property
    def words(self) -> str:
        return f"Prices as of {_day(self.day)}. Compare them with {self.source} first."


@dataclass(frozen=True, kw_only=True)
class KnownModel:
    """An entry of models.toml, which says what the fields mean.

    `context` and `price` are None if they are not known.
    """

    name: str
    title: str
    group: str
    known: date
    source: str
    model: str
    provider: str = ""
    context: int | None = None
    refuses: frozenset[str] = frozenset()
    own_sources: tuple[str, ...] = ()
    note: str = ""
    price: PublicPrice | None = None


@cache
def known_models() -> dict[str, KnownModel]:
    """Every model by its name, in the order of the file."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["model"]
    return {row["name"]: _model(row) for row in rows}


def _model(row: Mapping[str, Any]) -> KnownModel:
    price = row.get("price")
    if price is not None:
        amounts = {k: Decimal(price[k]) for k in ("input", "output", "cached") if k in price}
        price = PublicPrice(source=row["source"], **{**price, **amounts})
    values = {
        "model": row["name"],
        **row,
        "refuses": frozenset(row.get("refuses", ())),
        "own_sources": tuple(row.get("own_sources", ())),
        "price": price,
    }
    return KnownModel(**values)


def known_model(model: str) -> KnownModel | None:
    """The entry of a model that a server calls so, or of the model whose dated snapshot it is.

    Names of open models can lack their maker, as servers often call them.
    """
    by_name = _by_name()
    last = model.rpartition("/")[2].lower()
    names = (model.lower(), _DATED.sub("", model.lower()), last, _DATED.sub("", last))
    return next((by_name[name] for name in names if name in by_name), None)


@cache
def _by_name() -> dict[str, KnownModel]:
    names: dict[str, KnownModel] = {}
    for known in known_models().values():
        for name in (known.name, known.model, known.model.rpartition("/")[2]):
            names.setdefault(name.lower(), known)
    return names


def price_remark(
    day: date | None, *, today: date, until: date | None = None, source: str = ""
) -> str:
    """What to know about the price of a day before one relies on it; empty if it is recent."""
    compare = f" Compare it with {source} first." if source else " Compare it with the provider’s."
    if day is None:
        return f"The price has no date.{compare}"
    if until is not None and today > until:
        return f"The price ended on {_day(until)}.{compare}"
    if (age := today - day) > OLD_AFTER:
        return f"The price is of {_day(day)}, {age.days:,} days old.{compare}"
    return ""


_REFUSED = {
    TIES: "{model} always names one of the responses, so a setting with a tie finds no ties. "
    "Choose a setting without one, or another model.",
    PROBABILITIES: "{model} gives no probabilities of tokens. Turn option probabilities off, or "
    "choose another model.",
    IMAGES: "{model} takes no pictures. Turn them off for this judge, or choose another model.",
    TEMPERATURE: "{model} refuses a temperature. Leave temperature and top p out for this judge.",
}


def refused(model: str, wanted: frozenset[str]) -> list[str]:
    """What a model refuses of the things that it is asked for, a sentence each."""
    known = known_model(model)
    if known is None:
        return []
    return [
        words.format(model=known.title)
        for name, words in _REFUSED.items()
        if name in known.refuses & wanted
    ]


def host_of(address: str) -> str:
    return urlsplit(address).hostname or ""


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
