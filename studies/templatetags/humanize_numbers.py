from decimal import Decimal

from django import template

register = template.Library()


@register.filter
def grouped(number: int) -> str:
    """Format 1234567 as “1,234,567”."""
    return f"{number:,}"


@register.filter
def dollars(amount: Decimal) -> str:
    """Format 1234.5 as “$1,234.50”, and amounts below a dollar to a hundredth of a cent."""
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${amount:.4f}"
