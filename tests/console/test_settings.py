"""The settings: the studio's fields, its logo, the mails to members."""

import json
import re
import struct
import zlib
from dataclasses import replace
from datetime import timedelta
from html import unescape
from uuid import uuid4

import pytest

from studiogate.console.settings.countries import COUNTRIES, CURRENCIES, ZONES
from studiogate.domain.bookings.policy import POLICY_MEMBERS, Policy, WaitlistMode
from studiogate.domain.mails import MailKind
from studiogate.domain.money import is_currency
from studiogate.domain.schedule.fields import STUDIO
from studiogate.domain.staff import Role
from tests.support.console import ORIGIN, Console, texts
from tests.support.week_pages import fields_of as form_of

pytestmark = pytest.mark.anyio
PATH = "/console/settings/studio"


def values_of(text: str) -> dict[str, str]:
    """The names and values of a page's text inputs and lists."""
    found = {
        name: unescape(value) for name, value in re.findall(r'<input [^>]*name="([^"]+)"[^>]*value="([^"]*)"', text)
    }
    for name, options in re.findall(r'<select [^>]*name="([^"]+)"[^>]*>(.*?)</select>', text, re.DOTALL):
        chosen = re.search(r'<option value="([^"]*)"[^>]*selected', options)
        found[name] = "" if chosen is None else unescape(chosen[1])
    return found


def png(side: int = 4) -> bytes:
    """A picture of one colour."""
    rows = b"".join(b"\0" + b"\x20\x60\x40" * side for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    made = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(made)


async def stored(console: Console) -> dict[str, object]:
    return dict((await console.studio.rows("studios", "true"))[0])


async def test_every_field_that_staff_may_set_is_in_the_form(console: Console) -> None:
    page = (await console.get(PATH)).text
    assert set(STUDIO) - {"policy", "logo"} <= set(values_of(page))


async def test_only_changed_fields_are_saved_and_can_be_undone(console: Console) -> None:
    before = await stored(console)
    form = values_of((await console.get(PATH)).text)
    await console.studio.sql("update studios set schedule_weeks_ahead = 5 where studio_id = $1")
    saved = await console.post(
        PATH, {**form, "name": "North Loop", "timezone": "Asia/Tokyo", "primary_color": "#123456"}
    )
    assert saved.status_code == 303
    after = await stored(console)
    changed = {name for name, value in after.items() if before[name] != value} - {"updated_at", "revision"}
    assert changed == {"name", "timezone", "primary_color", "schedule_weeks_ahead"}, "what another person changed stays"
    page = (await console.get(PATH)).text
    undo = page[page.index("data-toast") :].partition("</form>")[0]
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', undo))
    assert {name for name in fields if name not in ("csrf", "idempotency")} == {"name", "timezone", "primary_color"}
    await console.post(
        PATH, {name: unescape(value) for name, value in fields.items() if name not in ("csrf", "idempotency")}
    )
    again = await stored(console)
    assert [again[each] for each in ("name", "timezone")] == [before[each] for each in ("name", "timezone")]


async def test_wrong_values_are_refused_beside_their_fields(console: Console) -> None:
    before = await stored(console)
    wrong = {"name": " ", "timezone": "Nowhere", "currency": "euro", "primary_color": "red", "slug": "Not A Slug"}
    for weeks, faulty in (("x", {"schedule_weeks_ahead"}), ("4", set(wrong))):  # numbers are read before the flow
        refused = await console.post(PATH, {**wrong, "schedule_weeks_ahead": weeks})
        assert refused.status_code == 422
        assert set(re.findall(r'id="f-(\w+)-fault"', refused.text)) == faulty
    assert 'value="Not A Slug"' in refused.text
    assert await stored(console) == before


async def test_a_slug_of_another_studio_is_refused_at_its_field(console: Console) -> None:
    await console.studio.api.connection.execute(
        "insert into studios (studio_id, name, slug, timezone, currency, country)"
        " values ($1, 'Other', 'taken', 'UTC', 'EUR', 'DE')",
        uuid4(),
    )
    refused = await console.post(PATH, {"slug": "taken"})
    assert refused.status_code == 422
    assert 'id="f-slug-fault"' in refused.text


async def test_a_manager_of_one_location_does_not_change_the_studio(console: Console) -> None:
    before = await stored(console)
    manager = await console.as_role(Role.MANAGER, console.studio.location)
    assert (await manager.post(PATH, {"name": "Mine"})).status_code == 403
    assert (await manager.post("/console/settings/mails", {"kind": "booked", "state": "off"})).status_code == 403
    assert await stored(console) == before


async def test_a_logo_is_shown_in_the_frame_and_where_people_sign_in(console: Console) -> None:
    async def send(content: bytes) -> int:
        data = {"csrf": await console.csrf(), "idempotency": uuid4().hex}
        files = {"logo": ("logo.png", content)}
        answer = await console.client.post(f"{PATH}/logo", data=data, files=files, headers={"Origin": ORIGIN})
        return answer.status_code

    assert await send(b"<svg/>") == 422
    assert await send(b"") == 422
    assert await send(png()) == 303
    found = re.search(r'src="(/logo/[^"]+\.png)"', (await console.get("/console/account")).text)
    assert found is not None
    signed_in = console.anonymous()
    signed_in.client.cookies.set("studiogate_studio", str(console.studio.id), domain="console.test", path="/console")
    for path in ("/console/sign-in", "/console/forgotten"):
        assert found[1] in (await signed_in.get(path)).text
        signed_in.client.cookies.set("studiogate_studio", str(uuid4()), domain="console.test", path="/console")
        assert found[1] not in (await signed_in.get(path)).text
        signed_in.client.cookies.set(
            "studiogate_studio", str(console.studio.id), domain="console.test", path="/console"
        )
    assert (await console.post(f"{PATH}/logo/remove")).status_code == 303
    assert found[1] not in (await console.get("/console/account")).text


async def test_each_kind_of_mail_is_shown_with_an_example_and_switched(console: Console) -> None:
    page = texts(await console.get("/console/settings/mails"))
    for kind in MailKind:
        assert f"When {kind.sent_when}" in page
        assert f"{kind.headline}: Vinyasa Flow" in page
    assert "Hello Mia," in page
    await console.post("/console/settings/mails", {"kind": "booked", "state": "off"})
    assert json.loads(str((await stored(console))["mail_switches"])) == {"booked": False}
    page = texts(await console.get("/console/settings/mails"))
    assert "no mail is sent any more" in page
    assert (await console.post("/console/settings/mails", {"kind": "spam", "state": "on"})).status_code == 404


@pytest.mark.parametrize(("sends", "said"), [(None, "not known"), (False, "sends no mail"), (True, "")])
async def test_the_mails_say_whether_any_is_sent(console: Console, sends: bool | None, said: str) -> None:
    await console.people.sql("insert into deployment (key_fingerprint) values ($1) on conflict do nothing", bytes(16))
    seen = "null" if sends is None else "clock_timestamp()"
    await console.people.sql(f"update deployment set worker_seen_at = {seen}, worker_sends_mail = $1", bool(sends))
    page = (await console.get("/console/settings/mails")).text
    assert ("notice warn" in page) == bool(said)
    assert said in page


def test_zones_countries_and_currencies_fit_together() -> None:
    codes = {each.code for each in COUNTRIES}
    assert {each.country for each in ZONES} <= codes
    assert {each.currency for each in COUNTRIES if each.currency} == {each.code for each in CURRENCIES}
    assert {each.code for each in COUNTRIES if not each.currency} == {"AQ"}
    assert all(is_currency(each.code) for each in CURRENCIES)
    assert {(each.name, each.country) for each in ZONES} >= {("Europe/Berlin", "DE"), ("America/Denver", "US")}


async def test_the_settings_lead_to_each_of_their_pages(console: Console) -> None:
    page = await console.get("/console/settings")
    for path in ("studio", "rules", "mails"):
        assert f'href="/console/settings/{path}"' in page.text
    developer = await console.as_role(Role.DEVELOPER)
    assert (await developer.get("/console/settings")).status_code == 403


RULES = "/console/settings/rules"


async def test_every_member_of_the_policy_has_an_input_and_a_sentence(console: Console) -> None:
    page = (await console.get(RULES)).text
    assert set(POLICY_MEMBERS) <= set(values_of(page))
    for name in POLICY_MEMBERS:
        says = re.search(rf'id="says-{name}">([^<]+)<', page)
        assert says is not None, name
        assert says[1].endswith("."), name
    assert "Cancelling later than 12 hours before the start costs the credit." in texts(await console.get(RULES))


async def test_only_changed_rules_are_saved_and_can_be_undone(console: Console) -> None:
    form = values_of((await console.get(RULES)).text)
    assert (form["cancellation_window_minutes"], form["cancellation_window_minutes_unit"]) == ("12", "60")
    await console.studio.sql("""update studios set policy = '{"waitlist_mode": "manual"}' where studio_id = $1""")
    fee = {"late_action": "fee_and_forfeit", "late_fee_amount": "15"}
    saved = await console.post(RULES, {**form, **fee, "cancellation_window_minutes_unit": "1440"})
    assert saved.status_code == 303, texts(saved)
    members = {"cancellation_window_minutes": 12 * 1440, "late_action": "fee_and_forfeit", "late_fee_amount": "15.00"}
    assert json.loads(str((await stored(console))["policy"])) == {**members, "waitlist_mode": "manual"}
    page = await console.get(RULES)
    assert "Cancelling later than 12 days before the start costs the credit and $15.00." in texts(page)
    undo = page.text[page.text.index("data-toast") :].partition("</form>")[0]
    hidden = dict(re.findall(r'name="(\w+)" value="([^"]*)"', undo))
    await console.post(RULES, {name: hidden[name] for name in hidden if name not in ("csrf", "idempotency")})
    policy = json.loads(str((await stored(console))["policy"]))
    assert Policy.from_json(policy) == replace(Policy(), waitlist_mode=WaitlistMode.MANUAL)


async def test_wrong_rules_are_refused_beside_their_inputs(console: Console) -> None:
    before = await stored(console)
    for wrong in (
        {"cancellation_window_minutes": "soon"},
        {"cancellation_window_minutes": "-5"},
        {"late_fee_amount": "1.234"},
        {"late_action": "prison"},
        {"free_late_cancels_days": "0"},
        {"waiver_form_id": "x"},
        {"cancellation_window_minutes": ""},
    ):
        for path in (RULES, f"{RULES}/preview"):
            refused = await console.post(path, wrong)
            assert refused.status_code == 422, wrong
            assert f'id="f-{next(iter(wrong))}-fault"' in refused.text, wrong
    long = {"cancellation_window_minutes": "9999", "cancellation_window_minutes_unit": "1440"}
    assert "must be at most 3660 days" in texts(await console.post(RULES, long))
    assert await stored(console) == before


async def test_a_preview_compares_with_the_last_days_and_saves_nothing(console: Console) -> None:
    """Classes whose type has a rule of its own are no part of it."""
    studio, before = console.studio, await stored(console)
    assert "nothing to compare with" in texts(await console.get(RULES))
    for hours in (5, 20, 30):
        class_id = await studio.new_class(start=await studio.now() + timedelta(hours=hours))
        booking = await studio.booked(class_id, await studio.new_member())
        await studio.cancel(booking["id"])
    assert "Of 3 cancellations in the last 90 days, 1 would have been late." in texts(await console.get(RULES))
    day = {"cancellation_window_minutes": "1", "cancellation_window_minutes_unit": "1440"}
    page = texts(await console.post(f"{RULES}/preview", day))
    assert "Of 3 cancellations in the last 90 days, 2 would have been late instead of 1." in page
    assert "Cancelling later than 1 day before the start costs the credit." in page
    closes = {"booking_closes_minutes_before": "6", "booking_closes_minutes_before_unit": "60"}
    page = texts(await console.post(f"{RULES}/preview", closes))
    assert (
        "Of 3 bookings in the last 90 days, 1 would have been refused because booking has closed instead of 0." in page
    )
    assert await stored(console) == before
    own = """update class_types set policy = '{"cancellation_window_minutes": 60}' where studio_id = $1"""
    await studio.sql(own)
    assert "0 cancellations in" in texts(await console.post(f"{RULES}/preview", day))


async def test_a_studio_chooses_how_times_and_dates_are_written_or_leaves_it_to_its_country(console: Console) -> None:
    await console.studio.api.connection.execute(
        "update studios set hour_cycle = null, date_order = null where studio_id = $1", console.studio.id
    )
    fields = form_of(await console.get(PATH), PATH)
    assert (fields["hour_cycle"], fields["date_order"]) == ("", "")
    assert (await console.post(PATH, {**fields, "name": "Renamed"})).status_code == 303
    assert (await stored(console))["hour_cycle"] is None, "saving something else chooses nothing"
    await console.post(PATH, {**fields, "hour_cycle": "24h", "date_order": "iso"})
    row = await stored(console)
    assert (row["hour_cycle"], row["date_order"]) == ("24h", "iso")
    await console.post(PATH, {"hour_cycle": "", "date_order": ""})
    row = await stored(console)
    assert (row["hour_cycle"], row["date_order"]) == (None, None)
