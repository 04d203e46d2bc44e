"""/docs/errors: one paragraph per code, generated from the same tables as the responses themselves."""

import json

from studiogate.api.docs import rendering
from studiogate.api.framework.error_guide import chapters, example_body
from studiogate.api.framework.errors import RETRYABLE, STATUS
from studiogate.domain.refusals import MESSAGES, Code
from studiogate.web.response import Answer

POLICY = "style-src 'self'; img-src data:"


def answer() -> Answer:
    facts = {code: _facts(code) for code in Code}
    return rendering.page("errors.html", POLICY, chapters=chapters(), facts=facts)


def _facts(code: Code) -> dict[str, object]:
    return {
        "status": STATUS[code][1],
        "message": MESSAGES[code],
        "retryable": code in RETRYABLE,
        "example": json.dumps(example_body(code), indent=2, ensure_ascii=False),
    }
