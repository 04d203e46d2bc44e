"""The resources that events carry: for each, its table and its wire columns as one SQL constant."""

import json

from studiogate.domain.bookings.policy import Policy
from studiogate.domain.forms.canonical import FIELD_DEFAULTS, INSTANTS
from studiogate.domain.forms.settings import STUDIO_ONLY
from studiogate.domain.json_values import json_text
from studiogate.storage.paging import Resource

COMPLETED = "f.completed_version is not distinct from f.version"
_DEFAULTS = ", ".join(
    f"('{name}', '{json_text(value)}', {place})" for place, (name, value) in enumerate(FIELD_DEFAULTS.items(), 10_000)
)

# A field's members in their order, then the missing ones. A rule without a value gets one.
_FIELD = f"""
    select ('{{' || string_agg(to_json(m.name)::text || ':' || m.value, ',' order by m.place) || '}}')::json from (
        select g.name,
               case when json_typeof(g.value) = 'null' then coalesce(d.value, 'null')
                    when g.name = 'display_when' and json_typeof(g.value) = 'object' and g.value -> 'value' is null
                    then left(rtrim(g.value::text), -1)
                         || case when exists (select json_object_keys(g.value)) then ',' else '' end || '"value":null}}'
                    else g.value::text end as value,
               g.place
        from json_each(e.field) with ordinality g(name, value, place)
        left join (values {_DEFAULTS}) d(name, value, place) on d.name = g.name
        union all
        select d.name, d.value, d.place from (values {_DEFAULTS}) d(name, value, place)
        where d.name <> all (array(select json_object_keys(e.field)))
    ) m"""

FIELDS = f"""
    case when {COMPLETED} then f.fields else (
        select coalesce(json_agg(case when json_typeof(e.field) = 'object' then ({_FIELD}) else e.field end
                                 order by e.place), '[]')
        from json_array_elements(f.fields) with ordinality e(field, place)
    ) end as fields"""

# Matches only what PostgreSQL parses without an error; any other stored value is returned unchanged.
_DATE = (
    r"([1-9]\d{3}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))"
    r"|[1-9]\d(0[48]|[2468][048]|[13579][26])-02-29)"
)
_TIME = r"[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?([Zz]|[+-](0\d|1[0-4]):[0-5]\d)"
_NAMES = ", ".join(f"'{name}'" for name in INSTANTS)
_HIDDEN = ", ".join(f"'{name}'" for name in STUDIO_ONLY)


def _rebuilt_settings(condition: str) -> str:
    return f"""
        select coalesce('{{' || string_agg(to_json(g.name)::text || ':' || case
                   when g.name in ({_NAMES}) and g.value #>> '{{}}' ~ '^{_DATE}{_TIME}$'
                   then to_json(upper(g.value #>> '{{}}')::timestamptz)::text
                   else g.value::text end, ',' order by g.place) || '}}', '{{}}')::json
        from json_each(f.settings) with ordinality g(name, value, place) where {condition}"""


SETTINGS = f"case when {COMPLETED} then f.settings else ({_rebuilt_settings('true')}) end as settings"
"""All settings, for keys that manage forms."""

SHARED_SETTINGS = f"({_rebuilt_settings(f'g.name not in ({_HIDDEN})')}) as settings"
"""The settings that every reader of the form sees."""


BOOKING = Resource(
    table="bookings",
    alias="b",
    columns="""
        b.id, 'booking' as object, b.class_id, b.member_id, b.status, b.booking_source, b.class_spot_id,
        entry.position as waitlist_position, b.moved_to_booking_id, b.moved_from_booking_id, b.created_at,
        b.updated_at""",
    joins="""
        left join waitlist_entries entry
            on b.status = 'waitlisted' and entry.studio_id = b.studio_id and entry.booking_id = b.id""",
    permitted="b.location_id = any({})",
    located_by="location_id",
)

WAITLIST_ENTRY = Resource(
    table="waitlist_entries",
    alias="entry",
    columns="""
        entry.id, 'waitlist' as object, entry.class_id, entry.member_id, entry.position, entry.status,
        entry.status = 'converted' as converted_to_booking, entry.booking_id, entry.created_at as joined_at,
        entry.promoted_at, entry.skip_reason, entry.updated_at""",
    permitted="entry.location_id = any({})",
    located_by="location_id",
)


def policy_minutes(member: str) -> str:
    """Return SQL for a policy member of class ``c``: the class overrides its type, the type the location, the location
    the studio, and the studio the default.

    ``->`` distinguishes an override of null from an absent one; ``#>>`` then converts it to SQL's null.
    """
    levels = ", ".join(f"{level}.policy->'{member}'" for level in ("c", "class_type", "location", "studio"))
    default = json.dumps(getattr(Policy(), member))
    return f"make_interval(mins => (coalesce({levels}, '{default}') #>> '{{}}')::integer)"


# With time, a scheduled class becomes one in progress and then a completed one.
CLASS_STATUS = """
    case when c.status = 'cancelled' then 'cancelled' when now() < c.start_time then 'scheduled'
         when now() < c.end_time then 'in_progress' else 'completed' end"""

# The status, which readers see, changes with time, without a write to the row.
CLASS_UPDATED_AT = """
    greatest(c.updated_at, case when c.status = 'cancelled' or now() < c.start_time then null
                                when now() < c.end_time then c.start_time else c.end_time end)"""

AVAILABLE_COUNT = "case when c.status = 'cancelled' then 0 else greatest(c.capacity - c.booked_count, 0) end"

CLASS_COLUMNS = f"""
    c.id, 'class' as object, c.title, c.description, c.class_type_id, c.location_id, c.room_id, c.instructor_id,
    c.start_time, c.end_time, c.capacity, c.booked_count, {AVAILABLE_COUNT} as available_count,
    c.waitlist_count, c.allow_waitlist, c.spot_selection_mode, {CLASS_STATUS} as status, c.visible,
    c.start_time - {policy_minutes("booking_opens_minutes_before")} as booking_opens_at,
    c.start_time - {policy_minutes("booking_closes_minutes_before")} as booking_closes_at,
    c.start_time - {policy_minutes("cancellation_window_minutes")} as cancellation_cutoff_at,
    c.start_time - {policy_minutes("promotion_cutoff_minutes")} as promotion_cutoff_at,
    {CLASS_UPDATED_AT} as updated_at"""


# $1 and not c.studio_id: otherwise a page of classes is joined by hashing every studio's locations and types.
def class_joins(studio_id: str) -> str:
    """Return the joins that a class's columns need; ``studio_id`` is SQL for the id of the studio."""
    return f"""
    join studios studio on studio.studio_id = {studio_id}
    left join locations location on location.studio_id = {studio_id} and location.id = c.location_id
    left join class_types class_type on class_type.studio_id = {studio_id} and class_type.id = c.class_type_id"""


CLASS = Resource(
    table="classes",
    alias="c",
    columns=CLASS_COLUMNS,
    joins=class_joins("$1"),
    order="start_time",
    descending=False,
    permitted="c.location_id = any({})",
    located_by="location_id",
    updated_at=CLASS_UPDATED_AT,
)


_BEFORE = f"f.id, 'form' as object, f.title, f.slug, f.description, {FIELDS}"
_BEHIND = "f.status, f.version"
# Events contain this one, because a key without forms:write may read them.
FORM = Resource(table="forms", alias="f", columns=f"{_BEFORE}, {SHARED_SETTINGS}, {_BEHIND}")
MANAGED_FORM = Resource(table="forms", alias="f", columns=f"{_BEFORE}, {SETTINGS}, {_BEHIND}")

SUBMISSION = Resource(
    table="form_submissions",
    alias="n",
    columns="""
        n.id, 'form_submission' as object, n.form_id, n.form_version, n.submitter_name, n.submitter_email, n.data,
        n.status, n.verified, n.member_id, n.lead_id, n.created_at, n.updated_at""",
)


# Staff notes are never returned.
LEAD = Resource(
    table="leads",
    alias="e",
    columns="""
        e.id, 'lead' as object, e.email, e.first_name, e.last_name, e.phone, e.source, e.status, e.lifecycle_stage,
        e.metadata, e.created_at, e.updated_at""",
)


# Private staff notes are not part of a profile.
MEMBER = Resource(
    table="members",
    alias="m",
    columns="""
        m.id, 'member' as object, m.name, m.first_name, m.last_name, m.email, m.phone, m.role,
        m.membership_type, m.membership_start_date, m.membership_end_date, m.erased_at, m.created_at, m.updated_at""",
)

MEMBERSHIP = Resource(
    table="memberships",
    alias="s",
    columns="""
        s.id, 'membership' as object, s.member_id, s.product_id, s.status, s.auto_renew, s.state_version, s.started_at,
        s.current_period_start, s.current_period_end, s.paused_at, s.pause_starts_at, s.pause_ends_at, s.pause_reason,
        s.cancel_at_period_end, s.cancel_at, s.cancelled_at, s.cancellation_reason, s.ended_at, s.credits_granted,
        s.credits_remaining, s.updated_at""",
)


PURCHASE = Resource(
    table="purchases",
    alias="u",
    columns="""
        u.id, 'purchase' as object, u.member_id, u.product_id, u.product_key, u.product_type, u.quantity,
        u.amount_total::text as amount_total, u.currency, u.refunded_amount::text as refunded_amount, u.status,
        u.paid_by, u.created_at, u.updated_at""",
    permitted="u.location_id = any({})",
    located_by="location_id",
)


ENDPOINT = Resource(
    table="""(
        select e.*, owner.scopes as owner_scopes, owner.location_ids as owner_locations from webhook_endpoints e
        join credentials owner on owner.studio_id = e.studio_id and owner.id = e.credential_id
        where e.deleted_at is null)""",
    alias="e",
    columns="""
        e.id, 'webhook_endpoint' as object, e.url, e.event_types, e.description, e.enabled, e.disabled_reason,
        e.disabled_at, e.failing_since,
        case when e.previous_secret_until > now() then e.previous_secret_until end as previous_secret_expires_at,
        e.created_at, e.updated_at""",
    permitted="e.owner_locations <@ {}",
)
