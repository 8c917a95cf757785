"""Amounts of money: stored in minor units, shown in readable form."""

from collections import Counter
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

_SIGNS = {"USD": "$", "GBP": "£", "EUR": "€"}
# The number of decimals of currencies that do not have two (ISO 4217).
_DECIMALS = dict.fromkeys(
    "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split(), 0
) | dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3)


def decimals(currency: str) -> int:
    return _DECIMALS.get(currency, 2)


def major_units(minor_units: float, currency: str) -> Decimal:
    """450 USD cents as 4.50, 450 yen as 450; rounded to the decimals of the currency."""
    places = decimals(currency)
    amount = Decimal(str(minor_units)).scaleb(-places)
    return amount.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)


def minor_units(amount: Decimal, currency: str) -> int:
    """The inverse of `major_units`; a part of a minor unit is rounded half up.

    >>> minor_units(Decimal("4.50"), "USD"), minor_units(Decimal(300), "JPY")
    (450, 300)
    >>> minor_units(Decimal("4.999"), "USD"), minor_units(Decimal("0.5"), "JPY")
    (500, 1)
    """
    return int(amount.scaleb(decimals(currency)).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def format_money(minor_units: float, currency: str) -> str:
    """450 USD cents as “$4.50”; a currency without a well-known sign by its code."""
    minus = "−" if minor_units < 0 else ""
    amount = f"{major_units(abs(minor_units), currency):,f}"
    sign = _SIGNS.get(currency)
    return f"{minus}{sign}{amount}" if sign else f"{minus}{amount} {currency}"


def sums_in_words(amounts: Iterable[tuple[str, int]], currency: str) -> str:
    """The sum of amounts in each currency; no amounts are zero in `currency`.

    >>> sums_in_words([("GBP", 450), ("USD", 450), ("GBP", 50)], "USD"), sums_in_words([], "EUR")
    ('£5.00 + $4.50', '€0.00')
    """
    sums = Counter[str]()
    for named, amount in amounts:
        sums[named] += amount
    return " + ".join(
        format_money(sums[currency_code], currency_code)
        for currency_code in sorted(sums) or [currency]
    )


def format_cost(value: float | None, currency: str = "USD") -> str:
    """A cost in major units, without a sign; small ones with more digits.

    >>> format_cost(4.5), format_cost(0.0123), format_cost(13500.0, "JPY"), format_cost(4.5, "KWD")
    ('4.50', '0.012', '13500', '4.500')
    """
    if value is None:
        return "–"
    places = decimals(currency)
    return f"{value:.{places}f}" if value == 0 or value >= 10 ** (1 - places) else f"{value:.2g}"
