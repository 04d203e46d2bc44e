"""A studio's rows in the file's own format: PostgreSQL writes the JSON, and rows are streamed one by one."""

import json
from collections.abc import AsyncIterator
from uuid import UUID

from studiogate.domain.access import Access
from studiogate.domain.fields.schedule import DAY_NAMES
from studiogate.domain.json_values import json_text
from studiogate.storage.db.pool import Connection

PREFETCH = 500

STUDIO = """
    select studio_id as id, name, slug, timezone, logo_url,
           (select translate(encode(l.content, 'base64'), E'\n', '') from studio_logos l
            where l.studio_id = $1) as logo, primary_color, currency, country, test, policy,
           schedule_weeks_ahead, mail_switches, created_at, revision
    from studios where studio_id = $1"""

SPOTS = """
    select coalesce(json_agg(row_to_json(w)), '[]') from (
        select p.id, p.label, p.x, p.y, p.created_at, p.revision from room_spots p
        where p.studio_id = r.studio_id and p.room_id = r.id order by p.created_at, p.id) w"""

PRICES = """
    select coalesce(json_agg(row_to_json(w)), '[]') from (
        select p.id, p.amount::text as amount, p.currency, p.price_type, p."interval", p."default", p.active,
               array(select o.location_id from price_locations o
                     where o.studio_id = p.studio_id and o.price_id = p.id order by 1) as location_ids,
               p.created_at, p.revision
        from prices p where p.studio_id = d.studio_id and p.product_id = d.id order by p.created_at, p.id) w"""

VERSIONS = """
    select coalesce(json_agg(row_to_json(w)), '[]') from (
        select v.version, v.fields, v.created_at from form_versions v
        where v.studio_id = f.studio_id and v.form_id = f.id order by v.version) w"""

FILES = """
    select coalesce(json_agg(row_to_json(w)), '[]') from (
        select u.id, u.field_key, u.filename, u.content_type, u.size, encode(u.sha256, 'hex') as sha256, u.created_at
        from form_uploads u
        where u.studio_id = n.studio_id and u.submission_id = n.id order by u.created_at, u.id) w"""

UPLOADS = """
    select id, stored_name from form_uploads where studio_id = $1 and submission_id is not null order by id"""

_DAYS = ", ".join(f"'{name}'" for name in DAY_NAMES)
WEEKDAYS = f"array(select (array[{_DAYS}])[d.day] from unnest(weekdays) d(day) order by d.day)"

# Sections with columns of type json, which keeps the spaces that a writer happened to use.
REWRITTEN = frozenset({"forms", "cancellations"})

# In the order of the file. The order of rows is part of the format: the same studio always produces the same bytes.
SECTIONS = {
    "locations": """
        select id, name, city, state, timezone, active, is_primary, policy, created_at, revision
        from locations where studio_id = $1 order by created_at, id""",
    "rooms": f"""
        select r.id, r.location_id, r.name, r.capacity, r.active, ({SPOTS}) as spots, r.created_at, r.revision
        from rooms r where r.studio_id = $1 order by r.created_at, r.id""",
    "class_types": """
        select id, name, description, beginner_safe, recovery, active, policy, created_at, revision
        from class_types where studio_id = $1 order by created_at, id""",
    "instructors": """
        select id, name, tagline, tags, active, created_at, revision
        from instructors where studio_id = $1 order by created_at, id""",
    "series": f"""
        select id, title, description, class_type_id, location_id, room_id, instructor_id, capacity, allow_waitlist,
               spot_selection_mode, visible, policy, {WEEKDAYS} as weekdays,
               to_char(local_start, 'HH24:MI') as local_start, minutes, every_weeks, first_date, last_date,
               generated_until, created_at, revision
        from class_series where studio_id = $1 order by created_at, id""",
    "closures": """
        select id, location_id, first_date, last_date, mode, reason, created_at, revision
        from closures where studio_id = $1 order by created_at, id""",
    "classes": """
        select id, title, description, class_type_id, location_id, room_id, instructor_id, start_time, end_time,
               capacity, allow_waitlist, spot_selection_mode, status, visible, policy, series_id, series_date, detached,
               created_at, revision
        from classes where studio_id = $1 order by created_at, id""",
    "products": f"""
        select d.id, d.key, d.name, d.product_type, d.active, d.client_visible, d.credits_granted,
               array(select o.location_id from product_locations o
                     where o.studio_id = d.studio_id and o.product_id = d.id order by 1) as location_ids,
               array(select o.class_type_id from product_class_types o
                     where o.studio_id = d.studio_id and o.product_id = d.id order by 1) as class_type_ids,
               ({PRICES}) as prices, d.created_at, d.revision
        from products d where d.studio_id = $1 order by d.created_at, d.id""",
    "members": """
        select id, first_name, last_name, email, phone, role, membership_type, membership_start_date,
               membership_end_date, suspended, staff_notes, erased_at, created_at, revision
        from members where studio_id = $1 order by created_at, id""",
    "memberships": """
        select id, member_id, product_id, status, auto_renew, state_version, started_at, current_period_start,
               current_period_end, paused_at, pause_starts_at, pause_ends_at, pause_reason, cancel_at_period_end,
               cancel_at, cancelled_at, cancellation_reason, ended_at, credits_granted, credits_remaining,
               price_id, created_at, revision
        from memberships where studio_id = $1 order by created_at, id""",
    "purchases": """
        select id, member_id, product_id, product_key, product_type, quantity, amount_total::text as amount_total,
               currency, refunded_amount::text as refunded_amount, status, location_id, booking_id, created_at,
               revision
        from purchases where studio_id = $1 order by created_at, id""",
    "leads": """
        select id, email, first_name, last_name, phone, source, status, lifecycle_stage, metadata, staff_notes,
               created_at, revision
        from leads where studio_id = $1 order by created_at, id""",
    "forms": f"""
        select f.id, f.title, f.slug, f.description, f.fields, f.settings, f.status, f.version,
               ({VERSIONS}) as versions, f.created_at, f.revision
        from forms f where f.studio_id = $1 order by f.created_at, f.id""",
    "submissions": f"""
        select n.id, n.form_id, n.form_version, n.submitter_name, n.submitter_email, n.data, n.consents, n.status,
               n.verified, n.member_id, n.lead_id, ({FILES}) as files, n.created_at, n.revision
        from form_submissions n where n.studio_id = $1 order by n.created_at, n.id""",
    "bookings": """
        select id, class_id, member_id, status, booking_source, membership_id, class_spot_id, credits_taken, policy,
               promoted_at, created_at, revision
        from bookings where studio_id = $1 order by created_at, id""",
    "waitlist": """
        select id, booking_id, position, status, promoted_at, skip_reason, created_at
        from waitlist_entries where studio_id = $1 order by created_at, id""",
    "ledger": """
        select id, membership_id, booking_id, delta, reason, created_at
        from credit_ledger where studio_id = $1 order by created_at, id""",
    "cancellations": """
        select id, booking_id, cancelled_at, cancellation_type, late, graced_for_promotion, credits_forfeited,
               credits_returned, purchase_id, receipt
        from booking_cancellations where studio_id = $1 order by cancelled_at, id""",
    "sales": """
        select purchase_id as id, membership_id, price_id, created_at
        from sales where studio_id = $1 order by created_at, purchase_id""",
    "renewals": """
        select purchase_id as id, membership_id, period_start, period_end, created_at
        from renewals where studio_id = $1 order by created_at, purchase_id""",
    "merged_people": """
        select id, kind, member_id, merged_at from merged_people where studio_id = $1 order by merged_at, id""",
    "external_ids": """
        select source, kind, external_id, row_id, created_at
        from external_ids where studio_id = $1 order by created_at, source, kind, external_id""",
}


async def studio(connection: Connection, access: Access) -> str:
    row: str = await connection.fetchval(f"select row_to_json(w)::text from ({STUDIO}) w", access.studio_id)
    return row


async def rows(connection: Connection, access: Access, section: str) -> AsyncIterator[str]:
    """Yield the rows of a section. Must run inside a transaction, because it uses a server-side cursor."""
    statement = f"select row_to_json(w)::text as row from ({SECTIONS[section]}) w"
    async for record in connection.cursor(statement, access.studio_id, prefetch=PREFETCH):
        yield json_text(json.loads(record["row"])) if section in REWRITTEN else record["row"]


async def files(connection: Connection, access: Access) -> AsyncIterator[tuple[UUID, str]]:
    """Yield the files of submissions, each by the id of the upload and its name in the upload folder."""
    async for record in connection.cursor(UPLOADS, access.studio_id, prefetch=PREFETCH):
        yield record["id"], record["stored_name"]
