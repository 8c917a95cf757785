import json
from collections.abc import ItemsView, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import template

from studies.money import format_money

register = template.Library()
_HOUR, _DAY = 60, 24 * 60  # in minutes
_MONEY = ("cost", "total")  # details of log entries in minor units


@register.filter
def grouped(number: int) -> str:
    """Format 1234567 as “1,234,567”."""
    return f"{number:,}"


@register.filter
def entries(mapping: Mapping[str, Any]) -> ItemsView[str, Any]:
    """The names and values of a mapping that may have a key “items”, which hides `.items`."""
    return mapping.items()


@register.filter
def as_json(value: Any) -> str:
    """A value as JSON, as it was entered."""
    return json.dumps(value, ensure_ascii=False)


@register.filter
def facts(detail: Mapping[str, Any], currency: str) -> list[tuple[str, str]]:
    """The details of a log entry; a changed setting has its old and new value."""
    before, after = detail.get("before"), detail.get("after")
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return [(name, f"{_short(before[name])} → {_short(after.get(name))}") for name in before]
    return [
        (name, format_money(value, currency) if name in _MONEY else _short(value, 200))
        for name, value in detail.items()
    ]


def _short(value: Any, most: int = 100) -> str:
    text = " ".join(_words(value).split()) or "–"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _words(value: Any) -> str:
    """A value of JSON as people write it; what is empty within it is left out."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(part)}" for name, part in value.items() if part)
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


@register.filter
def as_percent(share: float) -> str:
    """Format 0.125 as “12.5 %”."""
    return f"{100 * share:.3g} %"


@register.filter
def ago(moment: datetime) -> str:
    """A moment as “2 min ago” or “3 h ago”; after a day as its date."""
    from studies.statements import clock  # Here, because a report of a table has no database.

    minutes = int((clock.now() - moment).total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < _HOUR:
        return f"{minutes} min ago"
    if minutes < _DAY:
        return f"{minutes // _HOUR} h ago"
    return f"{moment.day} {moment:%b %Y}"


@register.filter
def dollars(amount: Decimal) -> str:
    """Format 1234.5 as “$1,234.50”, and amounts below a dollar to a hundredth of a cent."""
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${amount:.4f}"
