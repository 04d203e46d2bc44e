"""The templates of pages and mails."""

from pathlib import Path

from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape


def templates_in(folder: Path) -> Environment:
    """Return the templates of a folder. Names that a template does not get fail loudly; HTML is escaped.

    They are read now, because a process that drops root privileges may not be able to read them later. Each is compiled
    when it is first used: all of them together would delay the start of a process by a second.
    """
    sources = {
        file.relative_to(folder).as_posix(): (file.read_text(encoding="utf-8"), str(file))
        for file in folder.rglob("*")
        if file.is_file()
    }

    def load(name: str) -> tuple[str, str, None] | None:
        return (*sources[name], None) if name in sources else None

    return Environment(
        loader=FunctionLoader(load),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
