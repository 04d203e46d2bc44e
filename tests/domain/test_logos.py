"""Which files are accepted as a studio's logo."""

import hashlib

import pytest

from studiogate.domain.logos import MAX_BYTES, MAX_SIDE, Logo, LogoFault, is_logo_name, logo_path, read_logo
from tests.support.pictures import chunk, gif, jpeg, png, webp

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.mark.parametrize(
    ("content", "kind", "ending"),
    [(png(), "image/png", "png"), (jpeg(), "image/jpeg", "jpg"), (webp(), "image/webp", "webp")],
)
def test_images_of_pixels_are_logos(content: bytes, kind: str, ending: str) -> None:
    name = f"{hashlib.sha256(content).hexdigest()[:16]}.{ending}"
    assert read_logo(content) == Logo(name, kind, content)
    assert is_logo_name(name)
    assert logo_path("north", name) == f"/logo/north/{name}"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is not a PNG, JPEG or WebP"),
        (SVG, "is not a PNG, JPEG or WebP"),
        (gif(), "is not a PNG, JPEG or WebP"),
        (b"%PDF-1.7 %%EOF", "is not a PNG, JPEG or WebP"),
        (png()[:-4], "is damaged"),
        (png() + b"PK\x05\x06", "is damaged"),
        (jpeg() + b"PK\x05\x06", "more than one kind"),
        (jpeg(comment=SVG), "more than one kind"),
        (png(extra=chunk(b"teXt", bytes(MAX_BYTES))), "is larger than 512 KiB"),
        (png(MAX_SIDE + 1, 1), "has 4097 x 1 pixels"),
        (jpeg(1, MAX_SIDE + 1), "has 1 x 4097 pixels"),
        (webp(MAX_SIDE + 1, 1), "has 4097 x 1 pixels"),
        (png(100_000, 1), "a side of more than"),
    ],
)
def test_other_files_are_refused(content: bytes, reason: str) -> None:
    fault = read_logo(content)
    assert isinstance(fault, LogoFault)
    assert reason in fault.reason


def test_the_limits_themselves_are_allowed() -> None:
    assert isinstance(read_logo(png(MAX_SIDE, MAX_SIDE)), Logo)
    filling = MAX_BYTES - len(png(extra=chunk(b"teXt", b"")))
    content = png(extra=chunk(b"teXt", bytes(filling)))
    assert len(content) == MAX_BYTES
    assert isinstance(read_logo(content), Logo)
