"""Derive readable palettes for light and dark screens from a studio's colour (WCAG 2 contrast)."""

import re
from typing import NamedTuple, TypeAlias

Rgb: TypeAlias = tuple[int, int, int]

DEFAULT = "2f5d50"
WHITE: Rgb = (255, 255, 255)
NIGHT: Rgb = (23, 24, 28)  # the dark card, --surface in tokens.css
DEEP: Rgb = (12, 13, 15)  # the background around the dark card
INK: Rgb = (20, 22, 26)
BLACK: Rgb = (0, 0, 0)
TEXT_CONTRAST = 4.6  # WCAG requires 4.5; the margin allows for rounding
DARK_TEXT_CONTRAST = 6.5  # thin letters on a dark card fade: links looked disabled at the minimum
_HEX = re.compile(r"#?([0-9a-f]{3}|[0-9a-f]{6})", re.ASCII | re.IGNORECASE)


class Shades(NamedTuple):
    """Accent surfaces, text on them, accent-coloured text on the card, a tint on the card, and one around it."""

    accent: Rgb
    on_accent: Rgb
    ink: Rgb
    soft: Rgb
    page: Rgb


def hex_digits(colour: str | None) -> str:
    """Return the six hex digits of a studio's colour, or the default green if it is not a colour."""
    found = _HEX.fullmatch((colour or "").strip())
    if not found:
        return DEFAULT
    digits = found[1].lower()
    return "".join(2 * digit for digit in digits) if len(digits) == 3 else digits


def light(digits: str) -> Shades:
    accent = _rgb(digits)
    soft = mixed(accent, WHITE, 0.11)
    return Shades(accent, readable_on(accent), toward(accent, INK, against=soft), soft, mixed(accent, WHITE, 0.07))


def dark(digits: str) -> Shades:
    """Return the shades for dark screens; an accent too dark to stand out is lightened first, for surfaces too."""
    accent = toward(_rgb(digits), WHITE, against=NIGHT, contrast=3.1)
    soft = mixed(accent, NIGHT, 0.2)
    ink = toward(accent, WHITE, against=soft, contrast=DARK_TEXT_CONTRAST)
    return Shades(accent, readable_on(accent), ink, soft, mixed(accent, DEEP, 0.05))


def readable_on(colour: Rgb) -> Rgb:
    """Return white or black. One of them always has a contrast of at least 4.58; with a softer black that fails."""
    return WHITE if ratio(WHITE, colour) >= ratio(BLACK, colour) else BLACK


def toward(colour: Rgb, goal: Rgb, *, against: Rgb, contrast: float = TEXT_CONTRAST) -> Rgb:
    """Mix the colour with ``goal`` only as far as needed to be readable on ``against``."""
    for step in range(21):
        candidate = mixed(goal, colour, step / 20)
        if ratio(candidate, against) >= contrast:
            return candidate
    return goal


def mixed(one: Rgb, other: Rgb, share: float) -> Rgb:
    red, green, blue = (round(a * share + b * (1 - share)) for a, b in zip(one, other, strict=True))
    return red, green, blue


def ratio(one: Rgb, other: Rgb) -> float:
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def css(colour: Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _rgb(digits: str) -> Rgb:
    red, green, blue = bytes.fromhex(digits)
    return red, green, blue


def _luminance(colour: Rgb) -> float:
    shares = (each / 255 for each in colour)
    red, green, blue = (each / 12.92 if each <= 0.04045 else float(((each + 0.055) / 1.055) ** 2.4) for each in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
