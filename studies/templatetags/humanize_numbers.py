import json
from collections.abc import ItemsView, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import template

register = template.Library()
_HOUR, _DAY = 60, 24 * 60  # in minutes


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
