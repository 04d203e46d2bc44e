"""The pictures of class types and instructors: soft hills, and a figure before them, drawn when they are needed."""

import colorsys
from functools import cache

from PIL import Image, ImageDraw

from studiogate.demo.seed import Seed
from studiogate.domain.pictures import SIZES, Picture, encoded

# Drawn at a quarter of the size and enlarged: that makes soft edges.
DETAIL = 4
HILLS = 4


@cache
def picture_of(seed: Seed, kind: str, key: str) -> Picture:
    """Return the picture of a class type or an instructor, in colours of its own."""
    size, hue = SIZES[kind], seed.fraction("hue", kind, key)
    width, height = (side // DETAIL for side in size)
    image = Image.new("RGB", (width, height), _colour(hue, 0.14, 0.97))
    draw = ImageDraw.Draw(image)
    for hill in range(HILLS):
        middle, top = width * seed.fraction("hill", key, hill), height * (0.3 + 0.17 * hill)
        box = (middle - 0.8 * width, top, middle + 0.8 * width, top + height)
        draw.ellipse(box, fill=_colour(hue + 0.03 * hill, 0.22 + 0.1 * hill, 0.92 - 0.1 * hill))
    if kind == "instructor":
        dark, middle = _colour(hue + 0.1, 0.5, 0.38), width / 2
        draw.ellipse((middle - 0.42 * width, 0.66 * height, middle + 0.42 * width, 1.7 * height), fill=dark)
        draw.ellipse((middle - 0.17 * width, 0.24 * height, middle + 0.17 * width, 0.62 * height), fill=dark)
    return encoded(image.resize(size, Image.Resampling.BICUBIC))


def _colour(hue: float, saturation: float, value: float) -> tuple[int, int, int]:
    red, green, blue = (round(255 * part) for part in colorsys.hsv_to_rgb(hue % 1, saturation, value))
    return red, green, blue
