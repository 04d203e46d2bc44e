"""The form builder: what is edited is a draft, saved while somebody edits, shown by the hosted page, then published.

The browser sends the whole draft as JSON, in the format of partners and of files, and gets its faults back. The page is
form_builder.js; without JavaScript it shows the questions in words.
"""

import json
from collections.abc import Mapping
from dataclasses import replace

from studiogate import clock
from studiogate.console.answers import place_of
from studiogate.console.forms import words as form_words
from studiogate.console.forms.pages import FORM, address
from studiogate.console.framework import ConsoleRequest, Values, about, action, page, show_about, shown, status_of
from studiogate.console.framework.formats import clock_time
from studiogate.console.framework.inputs import Row, whole_number
from studiogate.console.framework.templating import WITH_FRAMES
from studiogate.domain.form_body import read_form
from studiogate.domain.forms import definition
from studiogate.domain.forms.canonical import fields_without_defaults
from studiogate.domain.forms.signed_links import PREVIEW_LIFE, Preview, open_link_secret, preview_path, sign
from studiogate.domain.json_values import json_text
from studiogate.domain.refusals import Code, Fault, Refusal
from studiogate.domain.staff import Permission
from studiogate.flows.forms import drafts as flows
from studiogate.flows.forms.drafts import DraftToSave
from studiogate.storage.db.pool import Connection
from studiogate.storage.forms import drafts as storage
from studiogate.storage.forms import hosted
from studiogate.storage.forms.inbox import FormRow
from studiogate.web.body import strict_json
from studiogate.web.response import Answer, as_json


@page("/forms/{form_id}/edit", Permission.FORMS)
async def edit(request: ConsoleRequest) -> Answer:
    answer = await show_about(request, FORM, "forms/builder.html", _values)
    return answer._replace(headers=(*answer.headers, WITH_FRAMES))


async def _values(request: ConsoleRequest, connection: Connection, form: Row) -> Values:
    draft = await storage.read(connection, request.access, form["id"])
    names = ("title", "slug", "description", "settings")
    content = {name: form[name] for name in names} | {"fields": form["fields"]} if draft is None else draft.content
    content = {**content, "fields": _compact(content.get("fields"))}
    return {
        "content": json_text(content),
        "vocabulary": json.dumps(_vocabulary()),
        "faults": json.dumps(_faults(content)),
        "revision": 0 if draft is None else draft.revision,
        "is_behind": draft is not None and draft.form_version != form["version"],
        "preview": await _preview_path(request, connection, form),
        "shown": form_words.shown_fields(form["fields"]),
        "groups": form_words.FORM_SETTINGS,
    }


def _compact(fields: object) -> list[object]:
    """Return the fields in the order in which they are shown, without what is a default."""
    given: list[FormRow] = [each for each in fields if isinstance(each, dict)] if isinstance(fields, list) else []
    ordered: list[FormRow] = sorted(given, key=place_of)
    return fields_without_defaults(ordered)


def _vocabulary() -> dict[str, object]:
    return {
        "types": form_words.TYPES,
        "ops": form_words.OPS,
        "opsOf": form_words.OPS_OF,
        "withoutValue": form_words.WITHOUT_VALUE,
        "settingsOf": form_words.SETTINGS_OF,
        "maxFields": definition.MAX_FIELDS,
    }


async def _preview_path(request: ConsoleRequest, connection: Connection, form: Row) -> str:
    """Return the signed address at which the hosted page shows the draft, for as long as anybody edits."""
    stored = await hosted.link_secret_of(connection, request.access)
    secret = open_link_secret(request.runtime.sealer, request.access.studio_id, stored)
    preview = Preview(request.signed_in.session.account_id, clock.now() + PREVIEW_LIFE)
    return preview_path(form["studio_slug"], form["slug"], sign(secret, form["id"], preview))


def _faults(content: Mapping[str, object]) -> list[dict[str, object]]:
    return [each._asdict() for each in form_words.shown_faults(read_form(content, new=True)[1], content)]


@action("/forms/{form_id}/draft", Permission.FORMS)
@about(FORM.of_path)
async def save(request: ConsoleRequest, form: Row) -> Answer:
    """Save what the builder shows, faults included, and say what they are."""
    content = strict_json(request.form.get("definition", "").encode("utf-8", "replace"))
    revision = whole_number("revision", request.form.get("revision", ""))
    if not isinstance(content, dict) or isinstance(revision, Fault):
        return _not_saved(Refusal(Code.INVALID_JSON) if not isinstance(content, Refusal) else content)
    saved = await request.run(flows.save_draft, form["id"], DraftToSave(content, revision))
    if isinstance(saved, Refusal):
        return _not_saved(saved)
    saved_at = clock_time(clock.now(), request.frame.timezone)
    return as_json(200, {"revision": saved, "faults": _faults(content), "saved_at": saved_at})


def _not_saved(refusal: Refusal) -> Answer:
    why = shown(refusal, {})
    return as_json(status_of(refusal), {"message": " ".join([why.text, *why.other_faults]), "code": why.code})


@action("/forms/{form_id}/publish", Permission.FORMS)
@about(FORM.of_path)
async def publish(request: ConsoleRequest, form: Row) -> Answer:
    """Publish what is in the draft, or the form as it is if there is none."""
    revision = whole_number("revision", request.form.get("revision", ""))
    seen = -1 if isinstance(revision, Fault) else revision
    done = await request.run(flows.publish_draft, form["id"], seen)
    if isinstance(done, Refusal):
        draft = await request.read(storage.read, form["id"])
        found = form_words.shown_faults(done.faults, form if draft is None else draft.content)
        named = zip(done.faults, found, strict=True)
        faults = [Fault((), fault.type, f"{each.where}: {each.text}") for fault, each in named]
        return request.refused(replace(done, faults=faults), address(form["id"], "edit"))
    return request.go_to(address(form["id"]), f"Published version {done['version']} of {done['title']}.")
