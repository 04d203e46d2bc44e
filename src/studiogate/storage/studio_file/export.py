"""A studio's rows in the file's own format: PostgreSQL writes the JSON, and rows are streamed one by one."""

from collections.abc import AsyncIterator

from studiogate.domain.access import Access
from studiogate.storage.db.pool import Connection

PREFETCH = 500

STUDIO = """
    select studio_id as id, name, slug, timezone, logo_url, primary_color, currency, country, test, policy
    from studios where studio_id = $1"""

SPOTS = """
    select coalesce(json_agg(row_to_json(w)), '[]') from (
        select p.id, p.label, p.x, p.y from room_spots p
        where p.studio_id = r.studio_id and p.room_id = r.id order by p.created_at, p.id) w"""

PRICES = """
    select coalesce(json_agg(row_to_json(w)), '[]') from (
        select p.id, p.amount::text as amount, p.currency, p.price_type, p."interval", p."default", p.active,
               array(select o.location_id from price_locations o
                     where o.studio_id = p.studio_id and o.price_id = p.id order by 1) as location_ids
        from prices p where p.studio_id = d.studio_id and p.product_id = d.id order by p.created_at, p.id) w"""

# In the order of the file. The order of rows is part of the format: the same studio always produces the same bytes.
SECTIONS = {
    "locations": """
        select id, name, city, state, timezone, active, is_primary, policy
        from locations where studio_id = $1 order by created_at, id""",
    "rooms": f"""
        select r.id, r.location_id, r.name, r.capacity, r.active, ({SPOTS}) as spots
        from rooms r where r.studio_id = $1 order by r.created_at, r.id""",
    "class_types": """
        select id, name, description, beginner_safe, recovery, policy
        from class_types where studio_id = $1 order by created_at, id""",
    "instructors": """
        select id, name, tagline, tags, active from instructors where studio_id = $1 order by created_at, id""",
    "classes": """
        select id, title, description, class_type_id, location_id, room_id, instructor_id, start_time, end_time,
               capacity, allow_waitlist, spot_selection_mode, status, visible, policy
        from classes where studio_id = $1 order by created_at, id""",
    "products": f"""
        select d.id, d.key, d.name, d.product_type, d.active, d.client_visible, d.credits_granted,
               array(select o.location_id from product_locations o
                     where o.studio_id = d.studio_id and o.product_id = d.id order by 1) as location_ids,
               array(select o.class_type_id from product_class_types o
                     where o.studio_id = d.studio_id and o.product_id = d.id order by 1) as class_type_ids,
               ({PRICES}) as prices
        from products d where d.studio_id = $1 order by d.created_at, d.id""",
    "members": """
        select id, first_name, last_name, email, phone, role, membership_type, membership_start_date,
               membership_end_date, suspended, created_at
        from members where studio_id = $1 order by created_at, id""",
    "memberships": """
        select id, member_id, product_id, status, auto_renew, state_version, started_at, current_period_start,
               current_period_end, paused_at, pause_starts_at, pause_ends_at, pause_reason, cancel_at_period_end,
               cancel_at, cancelled_at, cancellation_reason, ended_at, credits_granted, credits_remaining
        from memberships where studio_id = $1 order by created_at, id""",
    "purchases": """
        select id, member_id, product_id, product_key, product_type, quantity, amount_total::text as amount_total,
               currency, refunded_amount::text as refunded_amount, status, location_id, created_at
        from purchases where studio_id = $1 order by created_at, id""",
    "leads": """
        select id, email, first_name, last_name, phone, source, status, lifecycle_stage, metadata, created_at
        from leads where studio_id = $1 order by created_at, id""",
    "forms": """
        select id, title, slug, description, fields, settings, status
        from forms where studio_id = $1 order by created_at, id""",
    "bookings": """
        select id, class_id, member_id, status, booking_source, membership_id, class_spot_id, created_at
        from bookings where studio_id = $1 order by created_at, id""",
}


async def studio(connection: Connection, access: Access) -> str:
    row: str = await connection.fetchval(f"select row_to_json(w)::text from ({STUDIO}) w", access.studio_id)
    return row


async def rows(connection: Connection, access: Access, section: str) -> AsyncIterator[str]:
    """Yield the rows of a section. Must run inside a transaction, because it uses a server-side cursor."""
    statement = f"select row_to_json(w)::text as row from ({SECTIONS[section]}) w"
    async for record in connection.cursor(statement, access.studio_id, prefetch=PREFETCH):
        yield record["row"]
