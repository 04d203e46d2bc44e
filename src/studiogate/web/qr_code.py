"""Draw a short text as a QR code (ISO/IEC 18004): byte mode, error correction level L, up to 458 bytes.

The modules are a grid of booleans: finder, alignment and timing patterns first, then the codewords in their zigzag,
XORed with the one of eight masks that leaves the fewest misleading patterns.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

Grid = list[list[bool]]
QUIET = 4  # modules of empty border that scanners need
FORMAT_L = 0b01
# By version: error correction codewords per block, then (blocks, data codewords per block).
BLOCKS: Sequence[tuple[int, Sequence[tuple[int, int]]]] = (
    (7, ((1, 19),)),
    (10, ((1, 34),)),
    (15, ((1, 55),)),
    (20, ((1, 80),)),
    (26, ((1, 108),)),
    (18, ((2, 68),)),
    (20, ((2, 78),)),
    (24, ((2, 97),)),
    (30, ((2, 116),)),
    (18, ((2, 68), (2, 69))),
    (20, ((4, 81),)),
    (24, ((2, 92), (2, 93))),
    (26, ((4, 107),)),
    (30, ((3, 115), (1, 116))),
)
# The centres of alignment patterns, for versions 2 and up.
CENTRES: Sequence[Sequence[int]] = (
    *((18,), (22,), (26,), (30,), (34,)),
    *((22, 38), (24, 42), (26, 46), (28, 50), (30, 54), (32, 58), (34, 62)),
    (26, 46, 66),
)


def qr_svg_path(text: str) -> tuple[int, str]:
    """Return the size of the code with its border, and the dark modules as the path of an SVG; raise ValueError if the
    text is too long."""
    grid = qr_grid(text.encode())
    runs = []
    for y, row in enumerate(grid):
        x = 0
        for dark, group in groupby(row):
            width = len(list(group))
            if dark:
                runs.append(f"M{x + QUIET} {y + QUIET}h{width}v1h-{width}z")
            x += width
    return len(grid) + 2 * QUIET, "".join(runs)


def qr_grid(content: bytes, mask: int | None = None) -> Grid:
    """Return the modules of a code, dark ones as True. A mask is only given to compare it with another encoder."""
    version = _version_for(len(content))
    size = 17 + 4 * version
    grid: Grid = [[False] * size for _ in range(size)]
    fixed: Grid = [[False] * size for _ in range(size)]
    _draw_patterns(grid, fixed, version)
    _draw_codewords(grid, fixed, _codewords(content, version))
    masked = [_masked(grid, fixed, each) for each in (range(8) if mask is None else (mask,))]
    return min(masked, key=_penalty)


def _version_for(length: int) -> int:
    for version, (_, groups) in enumerate(BLOCKS, 1):
        if length + (2 if version < 10 else 3) <= sum(blocks * size for blocks, size in groups):
            return version
    raise ValueError("the text is too long for a QR code of ours")


# Codewords.


def _codewords(content: bytes, version: int) -> bytes:
    """Return data and error correction, interleaved over the blocks."""
    correction, groups = BLOCKS[version - 1]
    sizes = [size for blocks, size in groups for _ in range(blocks)]
    bits = f"0100{len(content):0{8 if version < 10 else 16}b}" + "".join(f"{byte:08b}" for byte in content) + "0000"
    bits = bits[: 8 * sum(sizes)]
    bits += "0" * (-len(bits) % 8)
    data = bytearray(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))
    data += bytes(0xEC if number % 2 == 0 else 0x11 for number in range(sum(sizes) - len(data)))
    blocks, at = [], 0
    for size in sizes:
        blocks.append(bytes(data[at : at + size]))
        at += size
    checks = [_remainder(block, correction) for block in blocks]
    columns = [block[at] for at in range(max(sizes)) for block in blocks if at < len(block)]
    return bytes(columns + [check[at] for at in range(correction) for check in checks])


def _remainder(data: bytes, degree: int) -> bytes:
    """Return the Reed-Solomon codewords of a block."""
    generator, root = [1], 1
    for _ in range(degree):
        generator = [
            _times(above, 1) ^ _times(below, root)
            for above, below in zip([*generator, 0], [0, *generator], strict=True)
        ]
        root = _times(root, 2)
    rest = [0] * degree
    for byte in data:
        factor = byte ^ rest.pop(0)
        rest.append(0)
        rest = [each ^ _times(part, factor) for each, part in zip(rest, generator[1:], strict=True)]
    return bytes(rest)


def _times(one: int, other: int) -> int:
    """Multiply in the field of 256 elements."""
    product = 0
    for bit in range(7, -1, -1):
        product = (product << 1) ^ (0x11D if product & 0x80 else 0)
        product ^= one if other >> bit & 1 else 0
    return product


# Modules.


def _draw_patterns(grid: Grid, fixed: Grid, version: int) -> None:
    size = len(grid)

    def put(x: int, y: int, dark: bool) -> None:
        if 0 <= x < size and 0 <= y < size:
            grid[y][x], fixed[y][x] = dark, True

    for at in range(size):
        put(6, at, at % 2 == 0)
        put(at, 6, at % 2 == 0)
    for x, y in ((3, 3), (size - 4, 3), (3, size - 4)):
        for dx in range(-4, 5):
            for dy in range(-4, 5):
                put(x + dx, y + dy, max(abs(dx), abs(dy)) not in (2, 4))
    for x, y in _alignment_centres(version):
        for dx in range(-2, 3):
            for dy in range(-2, 3):
                put(x + dx, y + dy, max(abs(dx), abs(dy)) != 1)
    for x, y, _ in _format_places(size):
        put(x, y, False)
    put(8, size - 8, True)
    for x, y, bit in _version_places(size, version):
        put(x, y, bit)


def _alignment_centres(version: int) -> Iterator[tuple[int, int]]:
    if version < 2:
        return
    places = (6, *CENTRES[version - 2])
    corners = {(6, 6), (6, places[-1]), (places[-1], 6)}
    yield from ((x, y) for x in places for y in places if (x, y) not in corners)


def _format_places(size: int) -> Iterator[tuple[int, int, int]]:
    """Yield column, row and number of the bits of the format, which is there twice."""
    for bit in range(15):
        near = bit if bit < 6 else bit + 1
        yield (8, near, bit) if bit < 8 else (14 - bit if bit > 8 else 7, 8, bit)
        yield (size - 1 - bit, 8, bit) if bit < 8 else (8, size - 15 + bit, bit)


def _version_places(size: int, version: int) -> Iterator[tuple[int, int, bool]]:
    if version < 7:
        return
    bits = version << 12 | _bch(version << 12, 0x1F25, 12)
    for bit in range(18):
        near, far = bit // 3, size - 11 + bit % 3
        yield near, far, bool(bits >> bit & 1)
        yield far, near, bool(bits >> bit & 1)


def _bch(value: int, generator: int, degree: int) -> int:
    for shift in range(value.bit_length() - 1, degree - 1, -1):
        if value >> shift & 1:
            value ^= generator << (shift - degree)
    return value


def _draw_codewords(grid: Grid, fixed: Grid, codewords: bytes) -> None:
    """Fill the free modules in columns of two, from the right, upwards and downwards in turn."""
    size, bits = len(grid), (byte >> bit & 1 for byte in codewords for bit in range(7, -1, -1))
    for number, right in enumerate(each if each > 6 else each - 1 for each in range(size - 1, 0, -2)):
        rows = range(size - 1, -1, -1) if number % 2 == 0 else range(size)
        for y in rows:
            for x in (right, right - 1):
                if not fixed[y][x]:
                    grid[y][x] = bool(next(bits, 0))


MASKS: Sequence[Callable[[int, int], int]] = (
    lambda x, y: (x + y) % 2,
    lambda x, y: y % 2,
    lambda x, y: x % 3,
    lambda x, y: (x + y) % 3,
    lambda x, y: (x // 3 + y // 2) % 2,
    lambda x, y: x * y % 2 + x * y % 3,
    lambda x, y: (x * y % 2 + x * y % 3) % 2,
    lambda x, y: ((x + y) % 2 + x * y % 3) % 2,
)


def _masked(grid: Grid, fixed: Grid, mask: int) -> Grid:
    flips = MASKS[mask]
    masked = [
        [dark ^ (not fixed[y][x] and flips(x, y) == 0) for x, dark in enumerate(row)] for y, row in enumerate(grid)
    ]
    value = FORMAT_L << 3 | mask
    bits = (value << 10 | _bch(value << 10, 0x537, 10)) ^ 0x5412
    for x, y, bit in _format_places(len(grid)):
        masked[y][x] = bool(bits >> bit & 1)
    return masked


def _penalty(grid: Grid) -> int:
    """Return how misleading a code is: long runs, squares, patterns like a finder's, and an uneven share of dark."""
    lines = [*grid, *map(list, zip(*grid, strict=True))]
    texts = ["".join("1" if dark else "0" for dark in line) for line in lines]
    runs = sum(length - 2 for text in texts for _, run in groupby(text) if (length := len(list(run))) >= 5)
    finders = sum(text.count(each) for text in texts for each in ("10111010000", "00001011101"))
    squares = sum(
        grid[y][x] == grid[y][x + 1] == grid[y + 1][x] == grid[y + 1][x + 1]
        for y in range(len(grid) - 1)
        for x in range(len(grid) - 1)
    )
    dark = sum(map(sum, grid)) * 20 // len(grid) ** 2
    return runs + 3 * squares + 40 * finders + 10 * abs(dark - 10)
