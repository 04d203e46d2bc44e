"""Compare two runs, and mark where they differ by more than the rounds within each run."""

from collections.abc import Iterator

from bench.results import Figure, Results

# Two runs of the same code can differ by this much, however close together their rounds are.
LEAST_NOISE = 0.10
FEWER_IS_BETTER = ("ms", "ms per request", "MB per worker", "s")


def compare(before: Results, after: Results) -> str:
    earlier = {each.name: each for each in before.figures}
    pairs = [(earlier[each.name], each) for each in after.figures if each.name in earlier]
    return "\n".join([_head(before, after), *_lines(pairs)])


def _head(before: Results, after: Results) -> str:
    warning = "" if before.machine["cpu"] == after.machine["cpu"] else "\nTwo different machines: compare ratios only."
    return f"A {before.date}   B {after.date}{warning}"


def _lines(pairs: list[tuple[Figure, Figure]]) -> Iterator[str]:
    subject = ""
    for before, after in pairs:
        if before.of != subject:
            subject = before.of
            yield f"\n{subject:56}{'A':>10}{'B':>10}{'B/A':>7}"
        ratio = after.value / before.value if before.value else float("nan")
        name = f"  {before.by}, {before.measure}"
        yield f"{name:56}{before.value:10.2f}{after.value:10.2f}{ratio:7.2f} {verdict(before, after)}".rstrip()


def verdict(before: Figure, after: Figure) -> str:
    """Return the mark for a difference, or an empty string if it is within the noise."""
    if not before.value or abs(after.value / before.value - 1) <= max(LEAST_NOISE, before.noise, after.noise):
        return ""
    fell = after.value < before.value
    return "better" if fell == (before.unit in FEWER_IS_BETTER) else "WORSE"
