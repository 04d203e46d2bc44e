"""QR codes, compared with those of another encoder: the digests are of the modules that the Python package `qrcode`
draws for the same text, version and mask."""

import hashlib
import re

import pytest

from studiogate.web.qr_code import QUIET, qr_grid, qr_svg_path

TEXT = "otpauth://totp/Studiogate:" + "x" * 600
# Bytes of the text, mask, and the digest of the modules as a text of 0 and 1.
DRAWN = [
    (1, 0, "0761cd01deb8bbb276071796"),
    (1, 5, "7106caddadeff7b95f0ed532"),
    (18, 0, "a965ea4795eabae7fc3620c9"),
    (18, 5, "9c4d6395cbd06e46eb3dfaee"),
    (107, 0, "47811ca441b39dcc9f52e89e"),
    (107, 5, "c0172b3758b5118a1c76aa7d"),
    (135, 0, "9757c20f3e1da427cd0ffbd5"),
    (135, 5, "a4d1363e8030f591fb18eff0"),
    (231, 0, "c3f046dae57486761a3dd0d5"),
    (231, 5, "97bfd7ad16b277674c8aafb8"),
    (458, 0, "aa4a70de2ec9021f7c96954f"),
    (458, 5, "c321449bb0dd6fe6fc57209c"),
]


@pytest.mark.parametrize(("length", "mask", "digest"), DRAWN)
def test_codes_are_those_of_another_encoder(length: int, mask: int, digest: str) -> None:
    grid = qr_grid(TEXT[:length].encode(), mask)
    text = "".join("1" if dark else "0" for row in grid for dark in row)
    assert hashlib.sha256(text.encode()).hexdigest().startswith(digest)


def test_the_path_draws_the_modules() -> None:
    size, path = qr_svg_path(TEXT[:100])
    grid = qr_grid(TEXT[:100].encode())
    assert size == len(grid) + 2 * QUIET
    drawn = set()
    for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\3z", path):
        drawn |= {(int(x) + each - QUIET, int(y) - QUIET) for each in range(int(width))}
    assert drawn == {(x, y) for y, row in enumerate(grid) for x, dark in enumerate(row) if dark}


def test_a_text_that_is_too_long_is_refused() -> None:
    qr_grid(TEXT[:458].encode())
    with pytest.raises(ValueError, match="too long"):
        qr_grid(TEXT[:459].encode())
