"""Money is a decimal string with the currency's number of decimals (ISO 4217)."""

import re
from decimal import ROUND_DOWN, Decimal

# Currencies that are in none of these sets have two decimals.
_WITHOUT_DECIMALS = frozenset(
    {
        "BIF",
        "CLP",
        "DJF",
        "GNF",
        "ISK",
        "JPY",
        "KMF",
        "KRW",
        "PYG",
        "RWF",
        "UGX",
        "UYI",
        "VND",
        "VUV",
        "XAF",
        "XOF",
        "XPF",
    }
)
_THREE_DECIMALS = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})
_FOUR_DECIMALS = frozenset({"CLF", "UYW"})
_CURRENCY = re.compile(r"[A-Z]{3}")


def is_currency(value: object) -> bool:
    return isinstance(value, str) and _CURRENCY.fullmatch(value) is not None


def currency_decimals(currency: str) -> int:
    if currency in _WITHOUT_DECIMALS:
        return 0
    if currency in _THREE_DECIMALS:
        return 3
    return 4 if currency in _FOUR_DECIMALS else 2


def money_text(amount: Decimal, currency: str) -> str:
    """Return the amount with the currency's decimals, rounded down so that nobody pays more than the stated amount."""
    unit = Decimal(1).scaleb(-currency_decimals(currency))
    return f"{amount.quantize(unit, rounding=ROUND_DOWN):f}"
