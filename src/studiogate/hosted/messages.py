"""Messages to visitors about faults in their answers."""

from collections.abc import Mapping, Sequence

from studiogate.domain.forms.definition import FieldType
from studiogate.domain.forms.upload_limits import MAX_FILES_PER_SUBMISSION
from studiogate.domain.refusals import Fault
from studiogate.hosted.posted_form import input_name
from studiogate.hosted.steps import EMAIL, Field, Plan

_MISSING: Mapping[str, str] = {
    FieldType.SELECT: "Please choose one.",
    FieldType.CHECKBOX_GROUP: "Please choose at least one.",
    FieldType.CHECKBOX: "Please tick this box.",
    FieldType.CONSENT: "Please tick the box to agree.",
    FieldType.SIGNATURE: "Please sign here.",
    FieldType.FILE_UPLOAD: "Please add a file.",
    FieldType.RATING: "Please choose a rating.",
    FieldType.DATE: "Please give a date.",
}
_INVALID: Mapping[str, str] = {
    FieldType.EMAIL: "Please give an email address such as name@example.com.",
    FieldType.PHONE: "Please give a phone number, with the country code for numbers from abroad.",
    FieldType.DATE: "Please give a date as YYYY-MM-DD.",
    FieldType.SELECT: "Please choose one of the options.",
    FieldType.CHECKBOX_GROUP: "Please choose from the options.",
    FieldType.SIGNATURE: "Please sign again: the drawing could not be read.",
    FieldType.FILE_UPLOAD: "Please add the file again.",
}
GENERIC = "Please check your answers and send the form again."


def messages(plan: Plan, faults: Sequence[Fault], email_key: str | None) -> dict[str, str]:
    """Return a message for the first fault of each input, by input name, in the order of the form."""
    by_key = {str(field.get("key")): field for field in plan.fields}
    found: dict[str, str] = {}
    for fault in faults:
        key = str(fault.loc[-1])
        if key in by_key and fault.loc[-2:-1] == ("data",):
            found.setdefault(input_name(key), message(by_key[key], fault))
        elif key == EMAIL:
            found.setdefault(input_name(email_key) if email_key else EMAIL, _INVALID[FieldType.EMAIL])
    order = [EMAIL, *(input_name(key) for key in by_key)]
    return {name: found[name] for name in order if name in found}


def message(field: Field, fault: Fault) -> str:
    kind = str(field.get("type"))
    if fault.type == "too_many_files":
        return f"At most {MAX_FILES_PER_SUBMISSION} files can be sent with one form."
    if fault.type == "missing":
        return _MISSING.get(kind, "Please fill this in.")
    return _INVALID.get(kind) or "This " + fault.msg.removeprefix("Answer ") + "."


def size_in_words(size: int) -> str:
    for unit, bytes_ in (("MB", 1024 * 1024), ("kB", 1024)):
        if size >= bytes_:
            return f"{size / bytes_:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} bytes"


def file_limits(field: Field, most: int) -> str:
    """Describe the files that a field accepts: "PDF, JPEG or PNG, up to 5 MB"."""
    accept = field.get("accept") if isinstance(field.get("accept"), str) else ""
    kinds = list(dict.fromkeys(_kind(each) for each in str(accept).split(",") if each.strip()))
    listed = " or ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
    limit = f"up to {size_in_words(most)}"
    return f"{listed}, {limit}" if listed else limit[:1].upper() + limit[1:]


def _kind(accepted: str) -> str:
    kind = accepted.strip().lower()
    family, _, name = kind.partition("/")
    if name in ("*", ""):
        return {"image": "images", "video": "videos", "audio": "sound"}.get(family, family.lstrip(".").upper())
    return name.split(".")[-1].split("+")[0].upper()
