"""The readable page of a person's archive: what the studio has stored about them, in plain words."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

Rows = Sequence[Mapping[str, Any]]

INTRODUCTION = {
    "member": "Your profile",
    "leads": "Your enquiries",
    "memberships": "Your memberships",
    "credit_ledger": "How your credits were used",
    "purchases": "Your purchases",
    "bookings": "Your bookings",
    "waitlist_entries": "Waitlists you were on",
    "cancellations": "Cancellations and their receipts",
    "submissions": "Forms you have sent",
    "files": "Files you have sent",
    "mails": "Mails sent to you",
    "changes_by_the_studio": "Changes the studio has made to your profile",
    "ids_in_other_systems": "Your numbers in systems that the studio used before",
}
# Said elsewhere on the page, or of no use to a reader; person.json has them.
HIDDEN = frozenset({"fields", "stored_name", "policy"})
STYLE = (
    "body{font:1rem/1.5 sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%;margin:0 0 1rem}"
    "th,td{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0;border-bottom:1px solid #ddd;"
    "overflow-wrap:anywhere}th{width:14rem;font-weight:600}"
)


def page(studio: str, taken_at: str, sections: Mapping[str, Rows], files: Mapping[str, str]) -> str:
    """Return the page as HTML without scripts or foreign references. ``files`` has the paths of files by their ids."""
    title = f"What {studio} has stored about you"
    parts = [_section(INTRODUCTION[name], rows, files) for name, rows in sections.items()]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f"<p>Read on {escape(taken_at)} (UTC). The same data for machines is in person.json"
        f"{' and your files are in the folder files' if files else ''}.</p>{''.join(parts)}</body></html>\n"
    )


def _section(heading: str, rows: Rows, files: Mapping[str, str]) -> str:
    content = "".join(_table(_answers(row), files) for row in rows) or "<p>Nothing.</p>"
    return f"<h2>{escape(heading)}</h2>{content}"


def _answers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a submission with the labels of its fields in place of their keys; any other row as it is."""
    shown = {name: value for name, value in row.items() if name not in HIDDEN}
    if isinstance(row.get("fields"), list):
        labels = {each.get("key"): each.get("label") for each in row["fields"] if isinstance(each, Mapping)}
        answers = shown.pop("data", {})
        shown |= {str(labels.get(key) or key): value for key, value in answers.items()}
    return shown


def _table(row: Mapping[str, object], files: Mapping[str, str]) -> str:
    shown = {_words(name): _value(each) for name, each in row.items()}
    lines = "".join(f"<tr><th>{escape(name)}</th><td>{each}</td></tr>" for name, each in shown.items())
    path = files.get(str(row.get("id")))
    link = "" if path is None else f'<p><a href="{escape(path)}">{escape(path)}</a></p>'
    return f"<table>{lines}</table>{link}"


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _value(value: object) -> str:
    if value in (None, "", [], {}):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "<br>".join(_value(each) for each in value)
    if isinstance(value, Mapping):
        return "<br>".join(f"{escape(_words(str(name)))}: {_value(each)}" for name, each in value.items())
    return escape(str(value)).replace("\n", "<br>")
