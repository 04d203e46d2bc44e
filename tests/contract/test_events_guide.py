"""The code snippets of the events guide work as described."""

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import WebhookVerificationError

from studiogate.domain.events import EventType
from studiogate.domain.webhooks.deliveries import new_secret, signed_headers

GUIDE = (Path(__file__).parents[2] / "docs/guides/events.md").read_text()
BODY = json.dumps({"id": "e1", "type": "booking.created", "note": "Zoë"}, ensure_ascii=False)
SECRET = new_secret()


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.S)


def headers(secret: str = SECRET, age: timedelta = timedelta(0), body: str = BODY) -> dict[str, str]:
    sent = signed_headers([new_secret(), secret], "e1", datetime.now(UTC) - age, body)
    return {name.decode(): value.decode() for name, value in sent}


WRONG = [headers(new_secret()), headers(age=timedelta(minutes=6)), headers(body=BODY + " ")]


def test_python_verifies() -> None:
    known: dict[str, Any] = {}
    exec(snippets("python")[0], known)  # noqa: S102  our own guide
    assert known["receive"](SECRET, headers(), BODY.encode())["type"] == "booking.created"
    for wrong in WRONG:
        with pytest.raises(WebhookVerificationError):
            known["receive"](SECRET, wrong, BODY.encode())


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed here")
def test_node_verifies(tmp_path: Path) -> None:
    (snippet,) = [each for each in snippets("javascript") if "node:crypto" in each]
    script = tmp_path / "verify.mjs"
    script.write_text(
        snippet
        + "const [secret, body, cases] = JSON.parse(process.argv[2]);\n"
        + "const one = (headers) => { try { return receive(secret, headers, body).type } catch { return null } };\n"
        + "const tried = cases.map(one);\n"
        + "console.log(JSON.stringify(tried));\n"
    )
    given = json.dumps([SECRET, BODY, [headers(), *WRONG]])
    done = subprocess.run(["node", str(script), given], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["booking.created", None, None, None]


def test_the_guide_names_every_type_and_every_language() -> None:
    assert [each for each in EventType if f"`{each.value}`" not in GUIDE] == []
    for language in ("python", "javascript", "php", "go"):
        assert snippets(language), language
