"""python -m bench [--only reads,bookings] [--quick] [--publish] | --compare A.json B.json | --against CHECKOUT"""

import argparse
from dataclasses import replace
from pathlib import Path

from bench import against, chart, report
from bench.compare import compare
from bench.dataset import Size
from bench.measure import Effort
from bench.results import FOLDER, Results
from bench.run import PARTS, QUICK, ROWS, Plan, Run

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="How fast Studiogate is on this machine.")
    parser.add_argument("--only", help=f"some parts, separated by commas: {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="a few requests only: does everything work?")
    parser.add_argument("--publish", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--results", type=Path, default=FOLDER, help="the folder for the figures and the chart")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("A", "B"), help="two files of figures")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="measure this and another checkout in turns")
    parser.add_argument("--rounds", type=int, default=7, help="how often, with --against; --only also takes row names")
    options = parser.parse_args()
    if options.compare:
        print(compare(*(Results.from_json(path.read_text()) for path in options.compare)))
        return
    if options.against:
        effort = Effort(options.rounds, against.WINDOW_SECONDS)
        rows = options.only.lower().split(",") if options.only else ROWS
        print(against.table(against.compare(options.against, rows, effort, Size())))
        return
    parts = options.only.split(",") if options.only else PARTS
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    results = Run(replace(QUICK if options.quick else Plan(), parts=parts))()
    _keep(results, options.results, results.date.replace(":", "").partition("+")[0])
    print(f"\n{report.table(results)}\n\n{report.singles(results)}\n{report.machine(results)}.\n")
    print("These figures say nothing: too few requests.\n" if options.quick else f"{report.verdicts(results)}\n")
    if options.publish:
        _keep(results, FOLDER, report.PUBLISHED)
        report.publish(results, PAGE)


def _keep(results: Results, folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(results.as_json())
    path.with_suffix(".svg").write_text(chart.chart(results))
    print(f"\n{path}\n{path.with_suffix('.svg')}")


if __name__ == "__main__":
    main()
