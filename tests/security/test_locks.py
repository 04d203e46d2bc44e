"""The lock files pin everything, and the audit says what it knows and what it does not. No network is needed here."""

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from requirements import audit
from requirements.audit import Locked, NotReachableError

FOLDER = Path(audit.__file__).parent
HASH = "--hash=sha256:" + "0" * 64
THING = Locked("thing", "1.0", None)


@pytest.mark.parametrize("name", ["runtime.txt", "service.txt", "dev.txt", "generators.txt", "deployment.txt"])
def test_every_requirement_is_pinned_to_its_hashes(name: str) -> None:
    text = (FOLDER / name).read_text()
    assert audit.lock_faults(text) == []
    assert len(list(audit.requirements(text))) > 30


@pytest.mark.parametrize(
    "line",
    [
        "thing",
        "thing==1.0",
        f"thing>=1.0 {HASH}",
        f"thing==1.* {HASH}",
        f"thing @ https://example.com/thing.whl {HASH}",
        "-e .",
        "--index-url https://example.com/simple",
        "--extra-index-url https://example.com/simple",
        "--hash=sha256:" + "0" * 64,
        "thing==1.0 --hash=md5:0123",
        f"thing==1.0 {HASH} https://example.com",
        "-r other.txt",
    ],
)
def test_a_loose_requirement_is_found(line: str) -> None:
    pinned = f"first==1.0 ; sys_platform == 'linux' \\\n    {HASH} \\\n    {HASH}\n"
    assert audit.lock_faults(pinned) == []
    assert len(audit.lock_faults(f"{pinned}{line}\n")) == 1


def test_another_version_than_the_locked_one_is_found() -> None:
    own = metadata.version("pytest")
    assert audit.installed_faults([Locked("pytest", own, None), Locked("nothing", "1", "sys_platform == 'none'")]) == []
    wrong = [Locked("pytest", "0.1", None), Locked("no-such-thing", "1", None)]
    assert audit.installed_faults(wrong) == [
        f"pytest: 0.1 is locked, {own} is installed",
        "no-such-thing: 1 is locked, nothing is installed",
    ]


# The index, as it answers in various places.


def page(version: str, *vulnerabilities: dict[str, Any], yanked: bool = False) -> dict[str, Any]:
    return {"info": {"version": version, "yanked": yanked}, "vulnerabilities": list(vulnerabilities)}


BAD = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fixed_in": ["1.1"], "withdrawn": None}
HONEST = {audit.KNOWN_BAD: page("2.6.1", BAD)}


def audited(**pages: dict[str, Any]) -> tuple[list[str], list[Locked]]:
    return audit.audit([THING], (HONEST | pages).get)


def test_advisories_are_reported() -> None:
    assert audited(**{"thing/1.0": page("1.0")}) == ([], [])
    assert audited(**{"thing/1.0": page("1.0", BAD)}) == (["thing 1.0: PYSEC-1, CVE-1; fixed in 1.1"], [])
    assert audited(**{"thing/1.0": page("1.0", BAD | {"withdrawn": "2026-01-01"})}) == ([], [])
    assert audited(**{"thing/1.0": page("1.0", yanked=True)}) == (["thing 1.0 was withdrawn: no reason"], [])


def test_what_the_index_does_not_say_is_not_called_clean() -> None:
    """A mirror may know the newest version only, or nothing at all."""
    assert audited(thing=page("1.0", BAD))[0] != []
    assert audited(thing=page("2.0")) == ([], [THING])
    assert audited() == ([], [THING])
    for empty in ({}, {audit.KNOWN_BAD: page("2.6.1")}):
        with pytest.raises(NotReachableError):
            audit.audit([THING], empty.get)


@pytest.mark.parametrize(
    ("answer", "status"), [(([], []), 0), ((["bad"], [THING]), 1), (([], [THING]), 2), (NotReachableError("gone"), 2)]
)
def test_the_status_distinguishes_clean_from_unchecked(
    answer: Any, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answered(_locked: object) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(audit, "audit", answered)
    monkeypatch.setattr(audit, "installed_faults", lambda _: [])
    assert audit.main([]) == status
    assert audit.main(["--offline"]) == 0
    assert ("NOT checked" in capsys.readouterr().out) == isinstance(answer, Exception)
