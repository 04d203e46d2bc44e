"""Pages of the documentation that the interface itself writes, as Markdown: errors, and what all operations share."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from studiogate.api.framework import openapi
from studiogate.api.framework.errors import CHAPTERS, RETRYABLE, STATUS, example_body
from studiogate.domain.refusals import Code

# Requests with a partner's key never get these.
OF_CONSOLE = frozenset(
    {
        Code.SIGN_IN_FAILED,
        Code.SECOND_FACTOR_REQUIRED,
        Code.SESSION_ENDED,
        Code.LINK_EXPIRED,
        Code.PERMISSION_DENIED,
        Code.PASSWORD_REQUIRED,
        Code.SCHEDULE_CONFLICT,
        Code.LAST_OWNER,
        Code.CHECK_IN_STOPPED,
    }
)
_INTRODUCTION = """# Errors

Every response that is not a success has the same JSON body. Its `error` says what is wrong and what to do:

- `code` is stable: decide by it. This page has a section for each code, and `doc_url` of an error leads to it.
- `message` is for people and may be reworded.
- `retryable` says whether the very same request can succeed later without anything else changing.
- `details` has facts that belong to the code. `param` names the parameter or field at fault, where one is.
- `request_id` identifies the request: quote it when you ask for help.
"""
_CONSOLE = """## Errors of the console

The console and the commands use the same codes, and a few of their own. A partner's key never gets these.
"""


def errors() -> str:
    """Return the page about all error codes: those of partners, then those of the console alone."""
    parts = [_INTRODUCTION]
    for kind, chapter in CHAPTERS.items():
        codes = [code for code in chapter.entries if code not in OF_CONSOLE]
        parts.append(f'<a id="{kind.value}"></a>\n\n## {chapter.title}\n\n`{kind.value}`. {chapter.intro}\n')
        parts += map(_section, codes)
    return "\n".join([*parts, _CONSOLE, *map(_section, (code for code in Code if code in OF_CONSOLE))])


def conventions() -> str:
    """Return the page about what all operations share, which also introduces the OpenAPI document."""
    return "# Conventions\n\n" + openapi.introduction()


TEXTS: Mapping[str, Callable[[], str]] = {"errors": errors, "conventions": conventions}


def _section(code: Code) -> str:
    kind, status = STATUS[code]
    entry = CHAPTERS[kind].entries[code]
    retry = "retryable" if code in RETRYABLE else "not retryable"
    example = json.dumps(example_body(code), indent=2, ensure_ascii=False)
    return "\n".join(
        [
            f"### {code.value}\n",
            f"**{status}** `{kind.value}`, {retry}\n",
            f"> {code.message}\n",
            f"{entry.meaning}\n",
            f"**What to do.** {entry.action}\n",
            f"**Does a retry help?** {entry.retry}\n",
            *_details((name, detail.text) for name, detail in entry.details.items()),
            f"<details>\n<summary>Example</summary>\n\n```json\n{example}\n```\n\n</details>\n",
        ]
    )


def _details(details: Iterable[tuple[str, str]]) -> Iterator[str]:
    rows = [f"| `{name}` | {text} |" for name, text in details]
    if rows:
        yield "\n".join(["| field of `details` | |", "|---|---|", *rows, ""])
