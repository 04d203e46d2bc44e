"""Phone numbers, normalized to the form in which they are compared and stored: E.164."""

import re
from dataclasses import dataclass
from functools import cache

import phonenumbers
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata

# In characters; checked before the text is processed.
MAX_PHONE = 50
MAX_CALLING_CODE = 3
_SEPARATORS = str.maketrans("", "", " ().-")
_PLAIN = re.compile(r"\+?[1-9][0-9]{4,14}")


def normalize_phone(text: str, country: str | None) -> str | None:
    """Return a phone number in E.164, or None if no such number can exist. One without a calling code belongs to
    ``country``. Numbers need only be possible: plans grow faster than lists of valid ranges, and sandboxes use the
    ranges of fiction. One with an extension is refused: without it, the number would reach somebody else."""
    if len(text) > MAX_PHONE:
        return None
    plain = _normalize_plain(text, country)
    if plain is not None:
        return plain
    try:
        number = phonenumbers.parse(text, country)
    except phonenumbers.NumberParseException:
        return None
    if number.extension or not phonenumbers.is_possible_number(number):
        return None
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What decides about the digits of a national number: how many there may be, and how numbers begin that mean
    something else than their digits, such as those with a prefix for long-distance calls."""

    calling_code: str
    lengths: frozenset[int]
    prefixes: re.Pattern[str]


def _normalize_plain(text: str, country: str | None) -> str | None:
    """Return what the library would, in a tenth of its time, if the digits of the number need no interpretation;
    else None. An import has hundreds of thousands of numbers, and nearly all are of this kind."""
    digits = text.translate(_SEPARATORS)
    if not _PLAIN.fullmatch(digits):
        return None
    if digits.startswith("+"):
        plan = _plan_of_code(_calling_code(digits[1:]))
        national = digits[1 + len(plan.calling_code) :] if plan else ""
    else:
        plan = _plan_of_country(country) if country else None
        national = digits
    if plan is None or len(national) not in plan.lengths or plan.prefixes.match(national):
        return None
    return f"+{plan.calling_code}{national}"


def _calling_code(digits: str) -> str:
    """Return the calling code with which the digits begin, or an empty text. None is the beginning of another."""
    starts = (digits[:length] for length in range(1, MAX_CALLING_CODE + 1))
    return next((start for start in starts if int(start) in COUNTRY_CODE_TO_REGION_CODE), "")


@cache
def _plan_of_code(code: str) -> _Plan | None:
    main = COUNTRY_CODE_TO_REGION_CODE.get(int(code or 0), ("",))[0]
    return _plan(PhoneMetadata.metadata_for_region_or_calling_code(int(code or 0), main))


@cache
def _plan_of_country(country: str) -> _Plan | None:
    if (found := PhoneMetadata.metadata_for_region(country)) is None:
        return None
    return _plan(found, found.international_prefix, str(found.country_code))


def _plan(found: PhoneMetadata | None, *prefixes: str | None) -> _Plan | None:
    """Return the plan of a country; its lengths are those of the first country with the same calling code."""
    if found is None or found.country_code is None:
        return None
    main = COUNTRY_CODE_TO_REGION_CODE[found.country_code][0]
    general = PhoneMetadata.metadata_for_region_or_calling_code(found.country_code, main)
    if general is None or general.general_desc is None:
        return None
    # A leading zero is part of the number in a few countries only.
    begins = [prefix for prefix in ("0", found.national_prefix_for_parsing, *prefixes) if prefix]
    pattern = re.compile("|".join(f"(?:{prefix})" for prefix in begins))
    return _Plan(str(found.country_code), frozenset(general.general_desc.possible_length), pattern)
