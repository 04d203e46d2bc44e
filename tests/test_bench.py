"""The benchmark works: every competitor can serve every request. Timings are not checked here."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import against, chart, dataset, imports, labels, report, targets
from bench.baseline import compiled, values_for
from bench.compare import compare, verdict
from bench.limit import Script
from bench.measure import FIRST_NUMBER, Effort, order_in_round
from bench.request import given_values
from bench.results import P50, POSTGRES_CPU, SERVER_CPU, THROUGHPUT, UNITS, Figure, Results
from bench.run import QUICK, Run
from bench.scenarios import scenarios as all_scenarios
from bench.service import ROOT
from bench.transactions import Transaction, transaction_for
from studiogate.storage.db import pool


def figure(of: str, by: str, measure: str, *rounds: float) -> Figure:
    return Figure(of, by, measure, UNITS[measure], rounds)


@pytest.fixture
def results() -> Results:
    made = Results(workers=2)
    for by, speed in ((labels.studiogate(2), 600), (labels.baseline(2), 1000), (labels.LIMIT, 4000)):
        made.add([figure(labels.ONE_CLASS, by, THROUGHPUT, speed, speed * 1.1, speed * 0.9)])
        made.add([figure(labels.ONE_CLASS, by, SERVER_CPU, 0.5), figure(labels.ONE_CLASS, by, POSTGRES_CPU, 0.2)])
    return made


def test_every_competitor_does_every_request() -> None:
    results = Run(replace(QUICK, parts=("reads", "bookings", "people", "day", "apart", "held", "memory")))()
    assert len(results.scenarios()) == 11
    studiogate, baseline, textbook = labels.studiogate(1), labels.baseline(1), labels.textbook(1)
    for scenario in results.scenarios():
        for by in (studiogate, baseline, labels.apart(1), *([labels.LIMIT] if scenario != labels.MIXED_DAY else [])):
            assert results.find(scenario, by, THROUGHPUT), (scenario, by)
    assert all(results.find(scenario, textbook, THROUGHPUT) for scenario in targets.TIMES_THE_TEXTBOOK)
    assert results.find(labels.MEMORY, labels.STUDIOGATE, labels.MEMORY)
    assert results.find(labels.HELD, labels.STUDIOGATE, labels.OTHER_CLASSES)


def test_two_checkouts_are_measured_alternately(monkeypatch: pytest.MonkeyPatch) -> None:
    """This one against itself."""
    monkeypatch.setattr(against, "WORKERS", (1,))
    results = against.compare(ROOT, ("leads",), Effort(1, 0.0, 16), QUICK.size)
    assert results.scenarios() == [labels.LEAD]
    assert len(against.table(results).splitlines()) == 2


def test_the_imports_are_measured() -> None:
    results = Run(replace(QUICK, parts=("import",)))()
    for step in imports.STEPS:
        for measure in (labels.SECONDS, labels.CPU_SECONDS, labels.MEMORY):
            assert results.find(step, labels.STUDIOGATE, measure), (step, measure)
    assert "from a CSV file" in report.singles(results)


@pytest.mark.anyio
async def test_side_by_side_a_transaction_does_the_same_work(new_database: Callable[[], str]) -> None:
    """Two connections that play a transaction in lockstep must get the same results. If the second one sent a value of
    the first one's request, it would find a key taken or a row there, and would not do the same work."""
    dsn = new_database()
    await dataset.prepare(dsn, QUICK.size)
    connections = [await pool.connect(dsn) for _ in range(2)]
    for each in connections:
        await each.execute("set lock_timeout = '2s'")
    scenarios = {each.name: each for each in all_scenarios(QUICK.size)}
    alone = (labels.MANY, labels.CANCEL, labels.LEAD)  # the others wait for each other's row lock
    for first, name in zip(count(FIRST_NUMBER, 2), alone, strict=False):
        await dataset.fill(connections[0], scenarios[name].needs, first=first, last=first + 1)
        players = []
        for number, connection in enumerate(connections):
            request = scenarios[name].make(first + number)
            given = given_values(request.path, request.query.encode(), request.headers(""), request.body)
            players.append((connection, values_for(transaction_for(request), given)))
        for statement in transaction_for(scenarios[name].make(first)).statements:
            text, names = compiled(statement)
            statuses = [await each.execute(text, *(values[name] for name in names)) for each, values in players]
            assert statuses[0] == statuses[1], (name, text)
            assert not statuses[0].endswith(" 0"), (name, text)
    for connection in connections:
        await connection.close()


@pytest.mark.parametrize("competitors", [6, 7])
def test_everybody_comes_after_everybody_else(competitors: int) -> None:
    rounds = [order_in_round(range(competitors), number) for number in range(7)]
    assert all(sorted(each) == list(range(competitors)) for each in rounds)
    pairs = Counter(pair for each in rounds for pair in pairwise(each))
    assert max(pairs.values()) <= 2
    assert all(
        {each[place] for each in rounds} == set(range(competitors))
        for place in range(competitors)
        if competitors % 2 == 0
    )


def test_results_survive_their_file(results: Results) -> None:
    assert Results.from_json(results.as_json()) == results


def test_ratios_are_judged(results: Results) -> None:
    judged = {each.what: each for each in targets.targets(results)}
    against_the_baseline = judged[f"{labels.ONE_CLASS}: throughput of the baseline's"]
    assert against_the_baseline.value == pytest.approx(0.6)
    assert against_the_baseline.met is True
    assert "met" in report.verdicts(results)


def test_the_table_goes_between_the_marks(results: Results, tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.publish(results, page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert f"| {labels.ONE_CLASS} |" in text


def test_the_chart_is_xml_with_a_title_and_all_figures(results: Results) -> None:
    root = ElementTree.fromstring(chart.chart(results))  # noqa: S314  our own
    texts = [each.text or "" for each in root.iter()]
    assert any("Requests per second" in text for text in texts)
    assert {"600", "1,000", "4,000"} <= set(texts)


def test_a_difference_within_the_noise_has_no_mark() -> None:
    before = figure("a", "b", THROUGHPUT, 100, 120, 90)
    assert verdict(before, figure("a", "b", THROUGHPUT, 80)) == ""
    assert verdict(before, figure("a", "b", THROUGHPUT, 60)) == "WORSE"
    assert verdict(figure("a", "b", P50, 10), figure("a", "b", P50, 5)) == "better"


def test_two_runs_are_compared(results: Results) -> None:
    text = compare(results, results)
    assert labels.ONE_CLASS in text
    assert "WORSE" not in text


def test_pgbench_gets_the_statements_with_its_own_parameters() -> None:
    text = "select :id::uuid, :new_row::uuid, :body::text, array['rows:read'], :new_line::uuid, :new_row::uuid"
    transaction = Transaction(("begin", text), {"body": "{}"})
    script = Script(transaction, {"x": ":n + 1"}, {"id": "md5(:x::text)"})
    begin, select = script.text.strip().splitlines()[-2:]
    assert begin == "begin;"
    assert select == (
        "select (md5(:x::text))::uuid, ('01900000-0000-7000-8000-' || lpad(:n::text, 12, '0'))::uuid, :body::text,"
        " array['rows' || chr(58) || 'read'], ('01900000-0000-7000-8001-' || lpad(:n::text, 12, '0'))::uuid,"
        " ('01900000-0000-7000-8000-' || lpad(:n::text, 12, '0'))::uuid;"
    )
    assert script.constants == {"body": "{}"}
