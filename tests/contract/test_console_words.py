"""The pages of the console are for people of a studio: none of them names a command of the terminal or a setting."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import studiogate.console

CONSOLE = Path(studiogate.console.__file__).parent
# In the samples for partners, STUDIOGATE_KEY stands for the key.
COMMAND = re.compile(r"studiogate [a-z]|STUDIOGATE_(?!KEY\b)[A-Z]|\bmake up\b")


def texts_of(path: Path) -> Iterator[str]:
    """The texts that a file may show: a template, or the strings of a module without its docstrings."""
    source = path.read_text()
    if path.suffix != ".py":
        yield re.sub(r"\{#.*?#\}", "", source, flags=re.DOTALL)
        return
    tree = ast.parse(source)
    documented = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    ]
    docstrings = {ast.get_docstring(each, clean=False) for each in documented}
    for each in ast.walk(tree):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value not in docstrings:
            yield each.value


def test_no_page_names_a_command() -> None:
    files = [
        path
        for path in CONSOLE.rglob("*")
        if path.suffix in (".py", ".html", ".js", ".toml") and "vendor" not in path.parts
    ]
    assert len(files) > 100
    assert [(path.name, text) for path in files for text in texts_of(path) if COMMAND.search(text)] == []


def test_a_command_would_be_noticed() -> None:
    assert COMMAND.search("Run `studiogate staff reset EMAIL`.")
    assert COMMAND.search("set STUDIOGATE_SMTP_URL")
