"""The result tables: for the terminal, and for docs/performance.md between its two markers."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bench import labels, targets
from bench.results import P50, P99, POSTGRES_CPU, SERVER_CPU, THROUGHPUT, Results

BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
PUBLISHED = "published"
Cell = Callable[[Results, str], float | None]


def table(results: Results) -> str:
    """Return a Markdown table with one line per request."""
    workers = results.workers
    ours = labels.studiogate(workers)
    columns: list[tuple[str, str, Cell]] = [
        *((_workers(count), "{:,.0f}", _throughput(count)) for count in sorted({1, workers})),
        ("p50 ms", "{:.1f}", lambda r, of: r.find(of, ours, P50)),
        ("p99 ms", "{:.1f}", lambda r, of: r.find(of, ours, P99)),
        ("CPU ms: server", "{:.2f}", lambda r, of: r.find(of, ours, SERVER_CPU)),
        ("PostgreSQL", "{:.2f}", lambda r, of: r.find(of, ours, POSTGRES_CPU)),
        ("of the baseline", "{:.2f}", targets.of_the_baseline),
        ("of the limit", "{:.2f}", targets.of_the_limit),
        ("to the textbook", "{:.1f}", targets.times_the_textbook),
        ("to one worker", "{:.2f}", targets.to_one_worker),
        ("growth", "{:.2f}", targets.growth),
    ]
    head = ["request", *(name for name, _, _ in columns)]
    rows = [[of, *(_cell(cell(results, of), form) for _, form, cell in columns)] for of in results.scenarios()]
    return "\n".join(_aligned([head, ["---"] * len(head), *rows]))


def _workers(count: int) -> str:
    return "requests/s, 1 worker" if count == 1 else f"{count} workers"


def _throughput(workers: int) -> Cell:
    return lambda results, of: results.find(of, labels.studiogate(workers), THROUGHPUT)


def _cell(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        if number == 1:  # figures are right-aligned
            yield "|".join(["", "-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:]), ""])
        else:
            figures = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            yield f"| {' | '.join([row[0].ljust(widths[0]), *figures])} |"


def singles(results: Results) -> str:
    """Return the figures that do not belong to one request, one sentence per figure."""
    wanted: tuple[tuple[str, str, str], ...] = (
        (
            "A crowd of 2,000 on one class of 20 seats has all its answers after {:.1f} s",
            labels.CROWD,
            labels.LAST_ANSWER,
        ),
        ("(reads of other classes take {:.1f} times as long meanwhile),", labels.CROWD, labels.BYSTANDERS),
        ("one that joins the waitlist after {:.1f} s", labels.CROWD_WAITS, labels.LAST_ANSWER),
        ("({:.1f} times as long);", labels.CROWD_WAITS, labels.BYSTANDERS),
        ("in three of the first kind {:.0f} answers were not as promised,", labels.CROWD, labels.WRONG_ANSWERS),
        ("in three of the second {:.0f}.", labels.CROWD_WAITS, labels.WRONG_ANSWERS),
        (
            "While a class is held elsewhere for 2 s, the p99 of bookings of other classes is {:.1f} times as long.",
            labels.HELD,
            labels.OTHER_CLASSES,
        ),
        (
            f"Memory of a worker after {results.requests_for_memory:,} requests: {{:.0f}} MB.",
            labels.MEMORY,
            labels.MEMORY,
        ),
        ("From `studiogate up` to the first 200: {:.1f} s on a new data folder,", labels.START, labels.COLD),
        ("{:.1f} s on a used one.", labels.START, labels.WARM),
        ("Webhook deliveries to ten endpoints: {:.0f} per second.", labels.DELIVERIES, THROUGHPUT),
        ("A partner's booking appears on an open page of the console after {:.2f} s.", labels.LIVE, labels.LIVE),
        ("Importing 100,000 members and 50,000 classes: {:.0f} s,", labels.CREATES, labels.SECONDS),
        ("{:.0f} s if nothing has changed,", labels.SAME, labels.SECONDS),
        ("{:.0f} s if every row has;", labels.CHANGES, labels.SECONDS),
        ("importing 100,000 members from a CSV file: {:.0f} s.", labels.CSV, labels.SECONDS),
    )
    pages = (
        (f"Page {of.removeprefix('console: ')} of the console: {{:.1f}} ms of server CPU.", of) for of in targets.PAGES
    )
    wanted += tuple((text, of, labels.PAGE_CPU) for text, of in pages)
    found = [(text, results.find(of, labels.STUDIOGATE, measure)) for text, of, measure in wanted]
    return " ".join(text.format(value) for text, value in found if value is not None)


def verdicts(results: Results) -> str:
    lines = []
    for each in targets.targets(results):
        sign, word = (">=" if each.at_least else "<="), ("met" if each.met else "MISSED")
        lines.append(f"  {word:7}{each.what:62}{each.value:9.2f} {each.unit:3} (target {sign} {each.bound:g})")
    return "\n".join(lines)


def machine(results: Results) -> str:
    its = results.machine
    return (
        f"{results.date[:10]}, commit {results.commit}, "
        f"{its['cpu']}, {its['cores']} cores for client, server and database together, "
        f"{its['system']}, Python {its['python']}, PostgreSQL {its['postgres']}; "
        f"load {its['load_before']} before the run; other guests of the host took {results.stolen:.0%} of the time; "
        f"{results.repeated} windows repeated because requests failed in them"
    )


def publish(results: Results, page: Path) -> None:
    """Replace the text between the markers of the page by the table."""
    text = page.read_text()
    if BEGIN not in text or END not in text:
        raise ValueError(f"{page} has no {BEGIN} … {END}")
    chart = f"[As a chart](../bench/results/{PUBLISHED}.svg), [raw figures](../bench/results/{PUBLISHED}.json)."
    figures = f"{singles(results)}\nMeasured on {machine(results)}. {chart}"
    block = f"{BEGIN}\n{table(results)}\n\n{figures}\n{END}"
    marked = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
    page.write_text(marked.sub(lambda _: block, text))
