"""The reference as text: Markdown of its chapters, and what searches find of them."""

from collections.abc import Iterator, Sequence

from studiogate.docs.reference import NAME, Chapter, Member, Reference
from studiogate.docs.rendering import Section


def sections(chapter: Chapter) -> list[Section]:
    """Return what searches find of a chapter."""
    found = [Section(1, "", chapter.title, chapter.text)]
    for operation in chapter.operations:
        names = " ".join(each.name for each in (*operation.parameters, *operation.body))
        text = f"{operation.method} {operation.path} {operation.text} {names}"
        found.append(Section(2, operation.id, operation.title, text))
    for kind in chapter.objects:
        text = " ".join([kind.text, *(f"{each.name}: {each.text}" for each in kind.members)])
        found.append(Section(2, kind.name, f"The object {kind.name}", text))
    return found + [Section(2, event.type, event.type, event.text) for event in chapter.events]


def index(whole: Reference) -> str:
    """Return the list of all operations and events as Markdown."""
    lines = [
        "# API reference",
        "",
        f"Paths are below `{whole.base}`. All of it in one text: {whole.base}/openapi.txt",
        "",
    ]
    for chapter in whole.chapters.values():
        lines += [f"## [{chapter.title}](/docs/{NAME}/{chapter.name}.md)", "", chapter.text, ""]
        lines += [f"- `{each.method} {each.path}`: {each.title}" for each in chapter.operations]
        lines += [f"- event `{each.type}`: {each.text}" for each in chapter.events]
        lines.append("")
    return "\n".join(lines)


def markdown(chapter: Chapter, base: str) -> str:
    """Return a chapter as Markdown, for people and models that read no HTML."""
    lines = [f"# {chapter.title}", "", chapter.text, "", f"Paths are below `{base}`.", ""]
    for each in chapter.operations:
        lines += [f"## {each.title}", "", f"`{each.method} {each.path}`, scope: {each.scope or 'any key'}", ""]
        for title, members in (("Parameters", each.parameters), ("Body", each.body)):
            if members:
                lines += [f"**{title}**", "", *_listed(members), ""]
        lines += [each.text, ""] if each.text else []
        lines += [f"Returns {each.returns}.", ""] if each.returns else []
        lines += (
            ["Errors: " + ", ".join(f"[{code}](/docs/errors.md#{code})" for code in each.codes), ""]
            if each.codes
            else []
        )
        lines += ["```sh", each.sample, "```", ""]
        lines += ["```json", each.answers[0].example, "```", ""] if each.answers[0].example else []
    for kind in chapter.objects:
        lines += [f"## The object {kind.name}", "", kind.text, "", *_listed(kind.members), ""]
    for event in chapter.events:
        lines += [f"## {event.type}", "", f"{event.text} {event.receivers}", "", "```json", event.example, "```", ""]
    return "\n".join(lines)


def _listed(members: Sequence[Member], indent: str = "") -> Iterator[str]:
    for each in members:
        facts = [each.place, each.type, "required" if each.required and each.place else "", each.bounds]
        values = f" One of {', '.join(f'`{value}`' for value in each.values)}." if each.values else ""
        yield f"{indent}- `{each.name}` ({', '.join(filter(None, facts))}): {each.text}{values}"
        yield from _listed(each.members, indent + "  ")
