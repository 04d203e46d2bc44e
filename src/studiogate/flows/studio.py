"""The studio itself: create it, change it, store its logo."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from studiogate.domain.access import Access
from studiogate.domain.events import EventType
from studiogate.domain.fields import Values
from studiogate.domain.fields.readers import Setting
from studiogate.domain.logos import LogoFault, logo_path, read_logo
from studiogate.domain.money import is_currency
from studiogate.domain.refusals import NOT_FOUND, Code, Fault, Refusal
from studiogate.domain.schedule.fields import NEW_STUDIO, STUDIO, currency_faults, reference_faults
from studiogate.domain.schedule.warnings import ScheduleWarning, WarningCode, Warnings, strict_refusal
from studiogate.domain.staff import Permission
from studiogate.domain.staff_input import invalid, read_fields
from studiogate.flows.changes import audited, changing, recorded
from studiogate.flows.schedule import rows
from studiogate.flows.staff_flow import staff_flow
from studiogate.storage import audit
from studiogate.storage import studio as storage
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.schedule import rows as rows_of_schedule

SLUG_TAKEN = Refusal(Code.SLUG_TAKEN, param="slug")


@staff_flow(Permission.STUDIO)
async def create(connection: Connection, access: Access, given: rows.Given) -> rows.Saved | Refusal:
    """Create the studio of the access, which names an id that no studio has yet."""
    values, faults = read_fields(NEW_STUDIO, given.values, _setting(given.values, Setting()), new=True)
    faults += reference_faults({} if faults else values, {}, ())
    if refusal := invalid(faults):
        return refusal
    async with audited(connection, access, "studio.create", audit.Subject("studio", access.studio_id)):
        created = await storage.create_studio(connection, access, values)
    return rows.Saved(access.studio_id) if created else SLUG_TAKEN


@staff_flow(Permission.STUDIO)
async def change(connection: Connection, access: Access, given: rows.Given) -> rows.Saved | Refusal:
    """Change the given fields. A new policy also applies to the classes to come, which are announced."""
    refusal = access.refusal_without_all_locations(Permission.STUDIO)
    stored = await storage.lock_studio(connection, access)
    if refusal is not None or stored is None:
        return refusal or NOT_FOUND
    if isinstance(values := await _values(connection, access, given, stored), Refusal):
        return values
    warnings: Warnings = ()
    if values.get("slug") not in (None, stored["slug"]):
        text = (
            "The addresses of the studio's forms and of its logo change with its slug. Links that were given out end."
        )
        warnings = (ScheduleWarning(WarningCode.ADDRESSES_CHANGE, text, {"slug": stored["slug"]}),)
    if refusal := strict_refusal(warnings, given.strict):
        return refusal
    studio_id = access.studio_id
    async with (
        recorded(connection, access, "studio.change", audit.Subject("studio", studio_id)),
        rows.inherited_policy(connection, access, "studio", studio_id, values),
    ):
        changed = await storage.update_studio(connection, access, values)
    return rows.Saved(studio_id, warnings) if changed else SLUG_TAKEN


@staff_flow(Permission.STUDIO)
async def change_rules(connection: Connection, access: Access, members: Mapping[str, object]) -> rows.Saved | Refusal:
    """Change the given members of the studio's policy; the others stay as they are."""
    if (stored := await storage.lock_studio(connection, access)) is None:
        return NOT_FOUND
    return await change(connection, access, rows.Given({"policy": {**json.loads(stored["policy"]), **members}}))


def _setting(values: Mapping[str, object], stored: Setting) -> Setting:
    """Return the setting in which given values are read: a given currency decides the decimals of a policy's fee."""
    currency = values.get("currency")
    return replace(stored, currency=str(currency)) if is_currency(currency) else stored


async def _values(connection: Connection, access: Access, given: rows.Given, stored: Record) -> Values | Refusal:
    setting = _setting(given.values, Setting(stored["currency"], stored["country"], stored["timezone"]))
    values, faults = read_fields(STUDIO, given.values, setting)
    known = {} if faults else values
    faults += reference_faults(known, {}, await rows_of_schedule.forms_of(connection, access, known))
    if values.get("currency", stored["currency"]) != stored["currency"]:
        inherited = {} if "policy" in values else {"the studio": json.loads(stored["policy"])}
        faults += currency_faults(values["currency"], {**inherited, **await storage.policies(connection, access)})
    return invalid(faults) or values


@staff_flow(Permission.STUDIO)
async def store_logo(connection: Connection, access: Access, content: bytes) -> str | Refusal:
    """Store a file as the studio's logo and return its path. It takes precedence over ``studios.logo_url``, which is
    left alone: that belongs to the studio file."""
    logo = read_logo(content)
    if isinstance(logo, LogoFault):
        return Refusal(Code.VALIDATION_ERROR, faults=[Fault(("logo",), "value_error", logo.reason)])
    if refusal := access.refusal_without_all_locations(Permission.STUDIO):
        return refusal
    await storage.lock_studio(connection, access)
    async with _recorded_logo(connection, access, logo.name):
        await storage.write_logo(connection, access, logo)
    return logo_path(await storage.slug_of(connection, access), logo.name)


@staff_flow(Permission.STUDIO)
async def remove_logo(connection: Connection, access: Access) -> bool | Refusal:
    """Remove the stored logo; return whether there was one."""
    if refusal := access.refusal_without_all_locations(Permission.STUDIO):
        return refusal
    await storage.lock_studio(connection, access)
    async with _recorded_logo(connection, access, None):
        return await storage.remove_logo(connection, access)


@asynccontextmanager
async def _recorded_logo(connection: Connection, access: Access, after: str | None) -> AsyncIterator[None]:
    """Announce the change of the logo, and record the names of the files, which are hashes of their content."""
    before = await storage.logo_name(connection, access)
    async with changing(connection, access, EventType.STUDIO_UPDATED, access.studio_id):
        yield
    if before != after:
        entry = audit.Entry("studio.logo", audit.Subject("studio", access.studio_id), {"logo": [before, after]})
        await audit.add(connection, access, entry)
