"""A hand-written SVG bar chart: the throughput of each competitor, one group of bars per request."""

from collections.abc import Iterator, Sequence
from html import escape

from bench import labels
from bench.results import THROUGHPUT, Results

# Colours that remain distinguishable in greyscale, on white and on black.
COLOURS = {
    labels.STUDIOGATE: "#2f7fd6",
    labels.BASELINE: "#8a8f98",
    labels.TEXTBOOK: "#d9822b",
    labels.LIMIT: "#3d9a50",
}
LABELS, BAR, ROW, GROUP, WIDTH, FIGURES, TOP = 210, 13, 16, 14, 520, 80, 60
STYLE = "text{font:12px system-ui,sans-serif;fill:#24292f}@media(prefers-color-scheme:dark){text{fill:#e6edf3}}"


def chart(results: Results) -> str:
    """Return the chart; every bar has its figure beside it, so that nothing depends on length or colour alone."""
    competitors = _competitors(results.workers)
    groups = [(of, found) for of in results.scenarios() if (found := _found(results, of, competitors))]
    height = TOP + sum(len(found) * ROW + GROUP for _, found in groups)
    title = f"Requests per second with {results.workers} workers"
    description = "; ".join(f"{of}: {', '.join(f'{by} {value:.0f}' for by, value in found)}" for of, found in groups)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title desc" '
            f'viewBox="0 0 {LABELS + WIDTH + FIGURES} {height}">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="desc">{escape(description)}</desc>',
            f"<style>{STYLE}</style>",
            f'<text x="0" y="16" style="font-weight:bold">{escape(title)}, {results.date[:10]}</text>',
            *_legend(competitors),
            *_bars(groups),
            "</svg>\n",
        ]
    )


def _competitors(workers: int) -> Sequence[str]:
    return labels.studiogate(workers), labels.baseline(workers), labels.textbook(workers), labels.LIMIT


def _found(results: Results, of: str, competitors: Sequence[str]) -> list[tuple[str, float]]:
    values = [(by, results.find(of, by, THROUGHPUT)) for by in competitors]
    return [(by, value) for by, value in values if value is not None]


def _colour(competitor: str) -> str:
    return COLOURS[labels.kind(competitor)]


def _legend(competitors: Sequence[str]) -> Iterator[str]:
    for number, by in enumerate(competitors):
        x = number * 160
        yield f'<rect x="{x}" y="28" width="12" height="12" fill="{_colour(by)}"/>'
        yield f'<text x="{x + 18}" y="38">{escape(by)}</text>'


def _bars(groups: Sequence[tuple[str, list[tuple[str, float]]]]) -> Iterator[str]:
    y = TOP
    for of, found in groups:
        # Each group has its own scale: lists and single rows differ too much for a common one.
        longest = max(value for _, value in found)
        yield f'<text x="0" y="{y + BAR - 2}">{escape(of)}</text>'
        for by, value in found:
            width = WIDTH * value / longest
            yield f'<rect x="{LABELS}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{_colour(by)}"/>'
            yield f'<text x="{LABELS + width + 6:.1f}" y="{y + BAR - 2}">{value:,.0f}</text>'
            y += ROW
        y += GROUP
