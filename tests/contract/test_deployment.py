"""The files of deploy/: as far as this machine can, each is checked by the program that reads it.

Not here: images are not built (that needs an engine and its registry), and the chart is rendered by Go's templates, not
by Helm itself.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from requirements import audit
from requirements.audit import Locked
from studiogate.cli.main import PLACES
from studiogate.server.postgres.programs import installation
from studiogate.settings import PREFIX, Settings
from studiogate.storage.db.service_role import NAME
from tests.support.clusters import own_cluster
from tests.support.generators import deployment_tools, node_generators, run

__all__ = ["deployment_tools", "node_generators"]
pytestmark = pytest.mark.timeout(900)
ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "studiogate"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
METRICS = set(re.findall(r"^\| `(studiogate_\w+)`", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
RENDER = "import sys; from go_template import render_template; render_template(*sys.argv[1:])"


def test_the_containerfile_has_no_finding(deployment_tools: Path) -> None:
    run(deployment_tools / "hadolint", DEPLOY / "Containerfile", folder=ROOT)


def test_the_images_copy_what_the_build_context_lets_in() -> None:
    """What the wheel needs is in the context, and nothing else: no data folder, no history."""
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    text = (DEPLOY / "Containerfile").read_text()
    named = {path for line in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE) for path in line.split()}
    assert all(any(path == "." or path.startswith(each) for each in allowed) for path in named), named
    for line in (ROOT / "pyproject.toml").read_text().splitlines():
        if "studiogate/docs/repository" in line:
            assert line.split('"')[1].split("/")[0] in allowed, line


def test_the_compose_file_is_valid(node_generators: Path) -> None:
    run(node_generators / "dclint", DEPLOY / "compose.yaml", folder=ROOT)


def test_the_services_role_owns_its_database_and_is_no_superuser() -> None:
    """As in compose.yaml: the superuser and the database exist, and the script runs once."""
    role, database, password = "studiogate_app", "studiogate", "it's"
    with own_cluster() as cluster:
        cluster.run("createdb", "-h", str(cluster.folder), "-U", NAME, database)
        named = {"POSTGRES_USER": NAME, "POSTGRES_DB": database, "SERVICE_PASSWORD": password}
        path = f"{installation() / 'bin'}:{os.environ['PATH']}"
        script = ["sh", str(DEPLOY / "postgres" / "role.sh")]
        subprocess.run(script, check=True, env={**named, "PATH": path, "PGHOST": str(cluster.folder)})
        facts = f"""select r.rolsuper, r.rolcreatedb, d.datdba = r.oid from pg_roles r, pg_database d
            where r.rolname = '{role}' and d.datname = '{database}'"""
        psql, folder = str(installation() / "bin" / "psql"), str(cluster.folder)
        asked = [psql, "-h", folder, "-U", NAME, "-d", database, "-Atc", facts]
        assert subprocess.run(asked, check=True, capture_output=True, text=True).stdout == "f|t|t\n"
    assert f"postgresql://{role}:CHANGE_ME@postgres/{database}\n" in (DEPLOY / "studiogate.env.example").read_text()


def test_every_service_runs_a_command_that_exists() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    ours = {name: each["command"] for name, each in services.items() if name != "postgres"}
    assert set(ours) == {"migrate", "api", "worker"}
    started = [each[0] for each in ours.values()]
    started += re.findall(r"^Exec\w+=.*/opt/studiogate/bin/studiogate (\w+)", _text(UNITS), re.MULTILINE)
    started += re.findall(r"args: \[(\w+)", _text(sorted(CHART.glob("templates/*.yaml"))))
    started += re.findall(r'^CMD \["(\w+)"', (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    assert len(started) >= 12
    assert set(started) <= set(PLACES)


def test_every_setting_exists() -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    files = [path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix != ".json"]
    named = set(re.findall(rf"\b{PREFIX}[A-Z_]+", _text(files)))
    assert len(named) > 8
    assert named <= known


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_the_units_are_valid(tmp_path: Path) -> None:
    """In a root of its own, with the program that they start and the targets of this system."""
    program = tmp_path / "opt/studiogate/bin/studiogate"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    shutil.copytree("/usr/lib/systemd/system", tmp_path / "usr/lib/systemd/system", symlinks=True)
    folder = tmp_path / "etc/systemd/system"
    folder.mkdir(parents=True)
    for unit in UNITS:
        shutil.copy(unit, folder)
    shutil.copy(DEPLOY / "systemd/studiogate-backup.timer", folder)
    for name in ("bin/sh", "usr/bin/mkdir"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(f"/{name}", tmp_path / name)
    names = [*(unit.name for unit in UNITS), "studiogate-backup.timer"]
    checked = subprocess.run(
        ["systemd-analyze", "verify", f"--root={tmp_path}", *names], capture_output=True, text=True, check=False
    )
    ours = [line for line in checked.stderr.splitlines() if "studiogate" in line]
    assert (ours, checked.returncode) == ([], 0), checked.stderr


def test_the_units_are_the_same_but_for_what_they_run() -> None:
    confined = r"^(?:No|Private|Protect|Restrict|System|Capab|Lock|UMask).*$"
    first, *others = (re.findall(confined, unit.read_text(), re.MULTILINE) for unit in UNITS)
    assert others == [first, first]
    assert len(first) > 15


@pytest.fixture(params=["claim", "bucket"])
def rendered(request: pytest.FixtureRequest, deployment_tools: Path, tmp_path: Path) -> list[Path]:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    values["ingress"].update(host="studio.example", tls="studio-tls")
    values["claim"] = values["claim"] if request.param == "claim" else ""
    values["backup"]["schedule"] = "0 3 * * *"
    given = tmp_path / "values.yaml"
    given.write_text(yaml.safe_dump({"Release": {"Name": "one"}, "Values": values}))
    files = []
    for template in sorted(CHART.glob("templates/*.yaml")):
        source, target = tmp_path / f"{template.stem}.tpl", tmp_path / template.name
        source.write_text(_text(sorted(CHART.glob("templates/_*.tpl"))) + template.read_text())
        run(deployment_tools / "python", "-c", RENDER, source, given, target, folder=tmp_path)
        files.append(target)
    return files


def test_the_chart_makes_valid_resources(
    rendered: list[Path], deployment_tools: Path, request: pytest.FixtureRequest
) -> None:
    for path in rendered:
        run(deployment_tools / "kubernetes-validate", "--strict", path, folder=path.parent)
    made = [each for path in rendered for each in yaml.safe_load_all(path.read_text())]
    kinds = ["Deployment", "Service", "PodDisruptionBudget", "Ingress", "CronJob", "Job", "Deployment"]
    assert [each["kind"] for each in made] == kinds
    for each in made:
        pod = each["spec"].get("jobTemplate", each)["spec"].get("template", {}).get("spec")
        if pod is not None:
            _is_confined(pod)
            kind = {"claim": "persistentVolumeClaim", "bucket": "emptyDir"}[request.node.callspec.params["rendered"]]
            assert [kind in each for each in pod["volumes"] if each["name"] == "data"] == [True]
            drained = float(yaml.safe_load((CHART / "values.yaml").read_text())["settings"]["STUDIOGATE_DRAIN_SECONDS"])
            assert pod.get("terminationGracePeriodSeconds", 90) > drained


def _is_confined(pod: dict[str, Any]) -> None:
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["envFrom"] == [{"secretRef": {"name": "studiogate"}}]


def test_the_chart_selects_the_pods_that_it_makes(rendered: list[Path]) -> None:
    made = [each for path in rendered for each in yaml.safe_load_all(path.read_text())]
    pods = [each["spec"]["template"]["metadata"]["labels"] for each in made if each["kind"] == "Deployment"]
    for each in made:
        selector = each["spec"].get("selector")
        if selector is not None:
            wanted = selector.get("matchLabels", selector)
            assert sum(wanted.items() <= labels.items() for labels in pods) == 1, each["metadata"]["name"]


def test_alerts_and_dashboard_ask_for_metrics_that_exist() -> None:
    groups = yaml.safe_load((DEPLOY / "monitoring/alerts.yaml").read_text())["groups"]
    alerts = [rule["expr"] for group in groups for rule in group["rules"]]
    board = json.loads((DEPLOY / "monitoring/grafana.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    for text in (alerts, asked):
        names = {name.removesuffix("_bucket") for name in re.findall(r"\bstudiogate_\w+", " ".join(text))}
        assert len(names) > 5
        assert names <= METRICS
    assert [panel["id"] for panel in board["panels"]] == list(range(1, len(board["panels"]) + 1))


@pytest.mark.skipif(not shutil.which("promtool"), reason="Prometheus is not installed")
def test_the_alerts_are_valid() -> None:
    run("promtool", "check", "rules", DEPLOY / "monitoring/alerts.yaml", folder=ROOT)


def test_the_bill_of_materials_lists_what_is_installed(deployment_tools: Path, tmp_path: Path) -> None:
    """Made as `make package` makes it; without an address of where this machine installs from."""
    command = re.search(r"bin/cyclonedx-py ((?:.|\\\n)+?) -o", (ROOT / "Makefile").read_text())
    assert command
    arguments = command[1].replace("\\\n", " ").split()
    texts = []
    for name in ("one.json", "two.json"):
        run(deployment_tools / "cyclonedx-py", *arguments, "-o", tmp_path / name, folder=ROOT)
        texts.append((tmp_path / name).read_text())
    bill = json.loads(texts[0])
    locked = audit.requirements((ROOT / "requirements/service.txt").read_text())
    assert {each["name"] for each in bill["components"]} == {each.name for each in locked if isinstance(each, Locked)}
    assert bill["metadata"]["component"]["name"] == "studiogate"
    assert texts[0] == texts[1]


@pytest.mark.parametrize("hook", ["pre-backup", "post-restore"])
def test_a_hook_is_a_program(hook: str) -> None:
    path = DEPLOY / "all-in-one/hooks" / hook
    assert path.stat().st_mode & 0o111
    run("sh", "-n", path, folder=ROOT)


def _text(paths: list[Path]) -> str:
    return "\n".join(path.read_text() for path in paths)
