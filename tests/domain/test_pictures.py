"""What is accepted as a picture, what is kept of it, and what hostile files cost."""

import io
import tracemalloc
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from studiogate.domain import pictures
from studiogate.domain.forms.image_sizes import Size
from studiogate.domain.pictures import (
    MAX_BYTES,
    MAX_PIXELS,
    SIZES,
    Picture,
    PictureFault,
    is_exported_picture,
    is_picture_name,
    read_picture,
)
from tests.support.pictures import PDF, ZIP, chunk, drawn, gif, jpeg, png, webp

SIZE = Size(120, 80)
FORMATS = ("JPEG", "PNG", "WEBP")


def read(content: bytes, size: Size = SIZE) -> Image.Image:
    picture = read_picture(content, size)
    assert isinstance(picture, Picture), picture
    assert is_picture_name(picture.name)
    image = Image.open(io.BytesIO(picture.content))
    image.load()
    assert (image.format, image.mode, image.size) == ("JPEG", "RGB", size)
    return image


def refusal(content: bytes) -> str:
    fault = read_picture(content, SIZE)
    assert isinstance(fault, PictureFault)
    return fault.reason


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("size", [(200, 200), (1000, 250), (250, 1000), (1201, 801)])
def test_every_format_becomes_a_jpeg_of_the_same_size(format_: str, size: tuple[int, int]) -> None:
    read(drawn(format_, size))


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "LA", "RGBA", "I;16"])
def test_every_mode_is_read(mode: str) -> None:
    read(drawn("JPEG" if mode == "CMYK" else "PNG", mode=mode))


def test_a_transparent_picture_is_on_white() -> None:
    file = io.BytesIO()
    Image.new("RGBA", (300, 300), (0, 0, 0, 0)).save(file, "PNG")
    assert read(file.getvalue()).getpixel((5, 5)) == (255, 255, 255)


def test_the_name_follows_from_what_can_be_seen() -> None:
    once, again = (read_picture(drawn("PNG"), SIZE) for _ in range(2))
    assert once == again == read_picture(drawn("PNG", compress_level=1), SIZE)
    assert once != read_picture(drawn("PNG", (500, 300)), SIZE)


def test_nothing_that_cannot_be_seen_remains() -> None:
    """The position of the camera, comments, colour profiles, thumbnails and what was appended."""
    exif = Image.Exif()
    exif[0x010E] = "SECRET description"
    exif.get_ifd(0x8825).update({1: "N", 2: (40.0, 41.0, 42.0), 3: "W", 4: (73.0, 58.0, 59.0), 29: "SECRET date"})
    assert exif.tobytes().count(b"SECRET") == 2
    for content in (
        drawn(exif=exif, comment=b"SECRET comment", icc_profile=b"SECRET profile"),
        drawn("PNG", exif=exif, icc_profile=b"SECRET profile"),
        drawn("WEBP", exif=exif, xmp=b"SECRET xmp"),
        drawn() + b"SECRET appended",
    ):
        assert b"SECRET" in content or b"eXIf" in content
        picture = read_picture(content, SIZE)
        assert isinstance(picture, Picture)
        image = Image.open(io.BytesIO(picture.content))
        assert not image.getexif()
        assert set(image.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density", "progressive", "progression"}
        for trace in (b"SECRET", b"Exif", b"ICC_PROFILE", b"http://ns.adobe.com"):
            assert trace not in picture.content


def test_a_picture_taken_upright_stays_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: what is at the left of the file is at the top
    file = io.BytesIO()
    image = Image.new("RGB", (400, 200), "white")
    image.paste("black", (0, 0, 200, 200))
    image.save(file, "JPEG", exif=exif, quality=95)
    upright = read(file.getvalue(), Size(200, 400)).convert("L")
    top, bottom = upright.getpixel((100, 20)), upright.getpixel((100, 380))
    assert isinstance(top, int)
    assert isinstance(bottom, int)
    assert top < 50 < 200 < bottom


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is not a JPEG"),
        (b"just text", "is not a JPEG"),
        (gif(), "is not a JPEG"),
        (PDF, "is not a JPEG"),
        (ZIP, "is not a JPEG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is not a JPEG"),
        (drawn("TIFF"), "is not a JPEG"),
        (drawn("PNG", (199, 800)), "each side needs 200"),
        (drawn() + ZIP, "more than one kind of file"),
        (drawn("PNG") + ZIP, "not only the image"),
        (drawn("PNG") + b"<script>", "not only the image"),
        (b"\xff\xd8\xff\xe0<script>alert(1)</script>" + drawn()[2:], "not only the image"),
        (png(300, 300), "is damaged"),
        (jpeg(300, 300), "is damaged"),
        (webp(300, 300), "is damaged"),
    ],
)
def test_other_files_are_refused(content: bytes, reason: str) -> None:
    assert reason in refusal(content)


def test_a_file_that_is_too_large_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "examine", None)
    assert "larger than 12 MiB" in refusal(b"\0" * (MAX_BYTES + 1))


@pytest.mark.parametrize("make", [png, jpeg, webp])
@pytest.mark.parametrize("size", [(30_000, 30_000), (8_001, 6_250), (16_000, 16_000)])
def test_huge_pictures_are_refused_by_their_header(make: Any, size: tuple[int, int]) -> None:
    assert size[0] * size[1] > MAX_PIXELS
    tracemalloc.start()
    try:
        assert "million are allowed" in refusal(make(*size))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_header_that_lies_is_refused() -> None:
    """What the decoder finds is not what the header said: a VP8X canvas, or a second image header."""
    small, vp8 = webp(300, 300), drawn("WEBP", (900, 900))
    assert refusal(b"RIFF" + (len(small) + len(vp8) - 20).to_bytes(4, "little") + small[8:] + vp8[12:]) == "is damaged"
    header = drawn("PNG", (300, 300))[8:33]
    assert refusal(b"\x89PNG\r\n\x1a\n" + header + drawn("PNG", (900, 900))[8:]).startswith("is damaged")


def test_compressed_text_is_not_inflated_without_end() -> None:
    bomb = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"\0" * 200_000_000, 9))
    whole = drawn("PNG")
    tracemalloc.start()
    try:
        read_picture(whole[:33] + bomb + whole[33:], SIZE)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("format_", FORMATS)
def test_a_truncated_file_is_refused(format_: str) -> None:
    whole = drawn(format_, (400, 300))
    for share in (0.1, 0.5, 0.9, 0.99):
        assert isinstance(read_picture(whole[: int(len(whole) * share)], SIZE), PictureFault), share


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(FORMATS), st.integers(0, 2_000), st.binary(min_size=1, max_size=12))
def test_damaged_files_raise_nothing(format_: str, place: int, bytes_: bytes) -> None:
    whole = drawn(format_, (200, 200))
    read_picture(whole[:place] + bytes_ + whole[place + len(bytes_) :], SIZE)


def test_an_exported_picture_is_known_by_its_name() -> None:
    picture = read_picture(drawn(), SIZES["instructor"])
    assert isinstance(picture, Picture)
    assert is_exported_picture(*picture)
    assert not is_exported_picture(picture.name, picture.content + b"\0")
    for other in (drawn(), drawn("PNG", SIZES["instructor"]), PDF, b""):
        assert not is_exported_picture(pictures.named(other).name, other)


@pytest.mark.parametrize(
    "text", ["", "a.jpg", "A" * 32 + ".jpg", "0" * 32, "0" * 32 + ".jpg\n", "../" + "0" * 32 + ".jpg"]
)
def test_other_names_are_no_pictures(text: str) -> None:
    assert not is_picture_name(text)
