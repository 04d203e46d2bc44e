"""The page about error codes: complete, in order, and each code where its `doc_url` leads."""

import pytest

from studiogate.api import guides
from studiogate.api.framework.errors import CHAPTERS, STATUS, example_body
from studiogate.docs.rendering import render
from studiogate.domain.refusals import Code, RefusalType

PAGE = guides.errors()
RENDERED = render(PAGE, lambda target: target, {})


@pytest.mark.parametrize("code", list(Code))
def test_every_code_is_explained(code: Code) -> None:
    kind, status = STATUS[code]
    entry = CHAPTERS[kind].entries[code]
    assert all(len(text.split()) >= least for text, least in ((entry.meaning, 15), (entry.action, 4), (entry.retry, 1)))
    section = PAGE.split(f"\n### {code.value}\n")[1].split("\n### ")[0]
    assert f"**{status}** `{kind.value}`" in section
    assert code.message in section
    assert all(name in section for name in example_body(code)["error"]["details"])


def test_every_code_and_every_type_keeps_its_anchor() -> None:
    anchors = {section.anchor for section in RENDERED.sections}
    assert {code.value for code in Code} <= anchors
    assert all(f'<a id="{kind.value}">' in RENDERED.html for kind in RefusalType)


def test_codes_stand_in_the_chapter_of_their_type_and_order() -> None:
    explained = [code for chapter in CHAPTERS.values() for code in chapter.entries]
    assert sorted(explained, key=list(Code).index) == list(Code)
    for kind, chapter in CHAPTERS.items():
        assert [code for code in Code if STATUS[code][0] is kind] == list(chapter.entries)


def test_codes_of_the_console_stand_apart() -> None:
    partners, console = PAGE.split("\n## Errors of the console\n")
    for code in Code:
        assert f"\n### {code.value}\n" in (console if code in guides.OF_CONSOLE else partners)
