"""Pages of the documentation that the interface itself writes, as Markdown: errors, and what all operations share."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from studiogate.api.framework import openapi
from studiogate.api.framework.errors import CHAPTERS, RETRYABLE, STATUS, example_body
from studiogate.domain.refusals import Code

# Requests with a partner's key never get these.
OF_CONSOLE = {code for chapter in CHAPTERS.values() for code, entry in chapter.entries.items() if entry.of_console}
_TEXTS = Path(__file__).parent / "framework" / "texts"
_INTRODUCTION = (_TEXTS / "errors.md").read_text(encoding="utf-8")
_CONSOLE = (_TEXTS / "errors-of-the-console.md").read_text(encoding="utf-8")


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
