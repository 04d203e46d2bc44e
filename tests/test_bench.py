"""The benchmark works: every competitor can serve every request. Timings are not checked here."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from uuid import uuid4
from xml.etree import ElementTree

import pytest

from bench import chart, dataset, imports, labels, report, targets
from bench.compare import compare, verdict
from bench.limit import Script
from bench.measure import FIRST_NUMBER, order_in_round
from bench.recording import (
    LARGEST_LOCK,
    Constant,
    FreshId,
    FreshNumber,
    FromRequest,
    Json,
    Now,
    Program,
    Several,
    Statement,
    _Reader,
    _Take,
)
from bench.request import given_values
from bench.results import P50, POSTGRES_CPU, SERVER_CPU, THROUGHPUT, UNITS, Figure, Results
from bench.run import QUICK, Run
from bench.scenarios import scenarios as all_scenarios
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
    results = Run(replace(QUICK, parts=("reads", "bookings", "people", "memory")))()
    assert len(results.scenarios()) == 9
    studiogate, baseline, textbook = labels.studiogate(1), labels.baseline(1), labels.textbook(1)
    for scenario in results.scenarios():
        for by in (studiogate, baseline, labels.LIMIT):
            assert results.find(scenario, by, THROUGHPUT), (scenario, by)
    assert all(results.find(scenario, textbook, THROUGHPUT) for scenario in targets.TIMES_THE_TEXTBOOK)
    assert results.find(labels.MEMORY, labels.STUDIOGATE, labels.MEMORY)


def test_the_imports_are_measured() -> None:
    results = Run(replace(QUICK, parts=("import",)))()
    for step in imports.STEPS:
        for measure in (labels.SECONDS, labels.CPU_SECONDS, labels.MEMORY):
            assert results.find(step, labels.STUDIOGATE, measure), (step, measure)
    assert "from a CSV file" in report.singles(results)


@pytest.mark.anyio
async def test_side_by_side_a_program_does_the_same_work(new_database: Callable[[], str]) -> None:
    """Two connections that play a program in lockstep must get the same results. If the second one sent an argument of
    the first one's request, it would find a key taken, skip the work of the booking, and be faster for it."""
    dsn, run = new_database(), Run(QUICK)
    programs = await run.record(dsn, await dataset.prepare(dsn, QUICK.size))
    connections = [await pool.connect(dsn) for _ in range(2)]
    for each in connections:
        await each.execute("set lock_timeout = '2s'")
    scenarios = {each.name: each for each in all_scenarios(QUICK.size)}
    for name in (labels.MANY, labels.CANCEL, labels.LEAD):  # the others wait for each other's row lock
        await dataset.fill(connections[0], scenarios[name].needs, first=FIRST_NUMBER, last=FIRST_NUMBER + 1)
        players = []
        for number, connection in enumerate(connections):
            request = scenarios[name].make(FIRST_NUMBER + number)
            given = given_values(request.path, request.query.encode(), request.headers(""), request.body)
            players.append((connection, given, programs[name].make_fresh_ids()))
        for statement in programs[name].statements:
            found = []
            for connection, given, fresh in players:
                if not statement.slots:  # such as the begin of a transaction, with its settings
                    await connection.execute(statement.text)
                    continue
                row = await connection.fetchrow(statement.text, *(each.fill(given, fresh) for each in statement.slots))
                found.append([value if isinstance(value, bool) else value is None for value in row or ()])
            assert found[:1] == found[1:], (name, statement.text)
    for connection in connections:
        await connection.close()


@pytest.mark.parametrize("count", [6, 7])
def test_everybody_comes_after_everybody_else(count: int) -> None:
    rounds = [order_in_round(range(count), number) for number in range(7)]
    assert all(sorted(each) == list(range(count)) for each in rounds)
    pairs = Counter(pair for each in rounds for pair in pairwise(each))
    assert max(pairs.values()) <= 2
    assert all({each[place] for each in rounds} == set(range(count)) for place in range(count) if count % 2 == 0)


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
    several = Several((Now(), Constant(None), Constant("")))
    slots = (Constant(7), FromRequest("id"), FreshId(0), several, FreshNumber(0))
    types = ("int4", "uuid", "uuid", "text[]", "int8")
    statement = Statement("select $1, $2, $3, $4::text[], $5, $1", slots, types)
    script = Script(Program((Statement("BEGIN;"), statement), 1, 200, b""), {"x": ":n + 1"}, {"id": "md5(:x::text)"})
    begin, select = script.text.strip().splitlines()[-2:]
    assert begin == "BEGIN;"
    assert select == (
        "select (:constant_0)::int4, (md5(:x::text))::uuid,"
        " ('01900000-0000-7000-8000-' || lpad(:n::text, 12, '0'))::uuid,"
        " (array[clock_timestamp(), null, ''])::text[]::text[], ((:n::bigint << 8) + 0)::int8, (:constant_1)::int4;"
    )
    assert script.constants == {"constant_0": "7", "constant_1": "7"}


def test_values_inside_json_are_slots_too() -> None:
    ids = [str(uuid4()) for _ in range(2)]
    bodies = [
        [
            {
                "number": 0,
                "id": each,
                "key": f"k{n}",
                "lock": n,
                "at": f"2026-11-17 0{n}:00:00+00:00",
                "is": [None, "x", {}, []],
            }
        ]
        for n, each in enumerate(ids)
    ]
    first, second = (_Take({"key": f"k{n}"}, []) for n in range(2))
    (slot,) = _Reader(first, second).slots([json.dumps(bodies[0])], [json.dumps(bodies[1])])
    fresh = [uuid4(), uuid4()]
    (row,) = json.loads(slot.fill({"key": "mine"}, fresh))
    at = datetime.fromisoformat(row.pop("at"))
    lock = fresh[1].int & LARGEST_LOCK
    assert row == {"number": 0, "id": str(fresh[0]), "key": "mine", "lock": lock, "is": [None, "x", {}, []]}
    assert (at.tzinfo, at > datetime(2026, 11, 17, tzinfo=UTC)) == (UTC, True)


def test_pgbench_composes_json_itself() -> None:
    slot = Json(('[{"id":"', FreshId(0), '","lock":', FreshNumber(1), "}]"))
    script = Script(Program((Statement("select $1", (slot,), ("json",)),), 2, 200, b""), {}, {})
    assert script.text.strip().splitlines()[-1] == (
        "select ((:constant_0)::text || ('01900000-0000-7000-8000-' || lpad(:n::text, 12, '0'))::text"
        " || (:constant_1)::text || ((:n::bigint << 8) + 1)::text || (:constant_2)::text)::json;"
    )
    assert list(script.constants.values()) == ['[{"id":"', '","lock":', "}]"]
