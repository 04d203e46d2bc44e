"""Money is a decimal string with the currency's number of decimals (ISO 4217)."""

import re
from decimal import ROUND_DOWN, Decimal

# Any other currency has two decimals.
_CURRENCIES = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_DECIMALS = {currency: decimals for decimals, named in _CURRENCIES.items() for currency in named.split()}
_CURRENCY = re.compile(r"[A-Z]{3}")


def is_currency(value: object) -> bool:
    return isinstance(value, str) and _CURRENCY.fullmatch(value) is not None


def currency_decimals(currency: str) -> int:
    return _DECIMALS.get(currency, 2)


def money_text(amount: Decimal, currency: str) -> str:
    """Return the amount with the currency's decimals, rounded down so that nobody pays more than the stated amount."""
    unit = Decimal(1).scaleb(-currency_decimals(currency))
    return f"{amount.quantize(unit, rounding=ROUND_DOWN):f}"
