"""The benchmark works: every competitor does every request. No timing is judged here."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import chart, labels, report, targets
from bench.compare import compare, verdict
from bench.limit import Script
from bench.recording import Constant, FreshId, FromRequest, Now, Program, Several, Statement
from bench.results import P50, POSTGRES_CPU, SERVER_CPU, THROUGHPUT, UNITS, Figure, Results
from bench.run import QUICK, Run


def figure(of: str, by: str, measure: str, *rounds: float) -> Figure:
    return Figure(of, by, measure, UNITS[measure], rounds)


@pytest.fixture
def results() -> Results:
    made = Results(workers=2)
    for by, speed in ((labels.studiogate(2), 600), (labels.floor(2), 1000), (labels.LIMIT, 4000)):
        made.add([figure(labels.ONE_CLASS, by, THROUGHPUT, speed, speed * 1.1, speed * 0.9)])
        made.add([figure(labels.ONE_CLASS, by, SERVER_CPU, 0.5), figure(labels.ONE_CLASS, by, POSTGRES_CPU, 0.2)])
    return made


def test_every_competitor_does_every_request() -> None:
    results = Run(replace(QUICK, parts=("reads", "bookings", "people", "memory")))()
    assert len(results.scenarios()) == 9
    studiogate, floor, textbook = labels.studiogate(1), labels.floor(1), labels.textbook(1)
    for scenario in results.scenarios():
        for by in (studiogate, floor, labels.LIMIT):
            assert results.find(scenario, by, THROUGHPUT), (scenario, by)
    assert all(results.find(scenario, textbook, THROUGHPUT) for scenario in targets.TIMES_THE_TEXTBOOK)
    assert results.find(labels.MEMORY, labels.STUDIOGATE, labels.MEMORY)


def test_results_survive_their_file(results: Results) -> None:
    assert Results.from_json(results.as_json()) == results


def test_ratios_are_judged(results: Results) -> None:
    judged = {each.what: each for each in targets.targets(results)}
    against_the_floor = judged[f"{labels.ONE_CLASS}: throughput of the floor's"]
    assert (against_the_floor.value, against_the_floor.met) == (pytest.approx(0.6), True)
    assert "met" in report.verdicts(results)


def test_the_table_goes_between_the_marks(results: Results, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    report.write_readme(results, readme)
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert f"| {labels.ONE_CLASS} |" in text


def test_the_chart_is_xml_with_a_title_and_all_figures(results: Results) -> None:
    root = ElementTree.fromstring(chart.chart(results))  # noqa: S314  our own
    texts = [each.text or "" for each in root.iter()]
    assert any("Requests a second" in text for text in texts)
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
    slots = (Constant(7), FromRequest("id"), FreshId(0), Several((Now(), Constant(None), Constant(""))))
    statement = Statement("select $1, $2, $3, $4::text[], $1", slots, ("int4", "uuid", "uuid", "text[]"))
    script = Script(Program((Statement("BEGIN;"), statement), 1, 200, b""), {"x": ":n + 1"}, {"id": "md5(:x::text)"})
    begin, select = script.text.strip().splitlines()[-2:]
    assert begin == "BEGIN;"
    assert select == (
        "select (:constant_0)::int4, (md5(:x::text))::uuid,"
        " ('01900000-0000-7000-8000-' || lpad(:n::text, 12, '0'))::uuid,"
        " (array[clock_timestamp(), null, ''])::text[]::text[], (:constant_1)::int4;"
    )
    assert script.constants == {"constant_0": "7", "constant_1": "7"}
