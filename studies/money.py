"""Sums of money as people read them."""

_SIGNS = {"USD": "$", "GBP": "£", "EUR": "€"}
_WITHOUT_CENTS = {"JPY", "KRW", "ISK", "CLP", "VND"}


def format_money(minor_units: float, currency: str) -> str:
    """450 USD cents as “$4.50”; a currency without a well-known sign by its code."""
    amount = f"{minor_units:,.0f}" if currency in _WITHOUT_CENTS else f"{minor_units / 100:,.2f}"
    sign = _SIGNS.get(currency)
    return f"{sign}{amount}" if sign else f"{amount} {currency}"
