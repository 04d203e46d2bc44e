"""Validation of a studio file: every invalid value is a fault with its place, and nothing raises."""

from typing import Any

import pytest

from studiogate.domain.fields.readers import Setting
from studiogate.domain.studio_file.rows import EVERY_SECTION, GIVEN, KEPT, STUDIO, Fault, Faults, RowReader, place_of
from tests.support.studio_files import small_studio, uid, with_history

SETTING = Setting("USD", "US", "America/New_York")
READERS = {name: RowReader(section, SETTING) for name, section in {**EVERY_SECTION, "studio": STUDIO}.items()}
ID = uid("any")


# Sections that the small studio does not have.
MORE: dict[str, dict[str, Any]] = {
    "series": {
        "id": ID,
        "title": "Slow Flow",
        "location_id": ID,
        "capacity": 10,
        "weekdays": ["monday"],
        "local_start": "07:00",
        "minutes": 50,
        "first_date": "2026-11-02",
    },
    "closures": {"id": ID, "first_date": "2026-12-24", "last_date": "2026-12-26", "mode": "skip"},
    "external_ids": {"source": "mindbody", "kind": "members", "external_id": "100017", "row_id": ID},
    "merged_people": {"id": ID, "kind": "member", "member_id": ID},
}


def good_row(section: str) -> dict[str, Any]:
    if section in MORE:
        return dict(MORE[section])
    studio = with_history(small_studio())
    outer = {"spots": "rooms", "prices": "products", "versions": "forms", "files": "submissions"}
    rows = {**studio, **{nested: studio[name][0][nested] for nested, name in outer.items()}}
    row = rows[section] if section == "studio" else rows[section][0]
    return dict(row)


def faults_of(section: str, **members: Any) -> list[str]:
    """Return the places of the faults of a valid row with these members replaced; ``...`` removes a member."""
    row = {name: value for name, value in {**good_row(section), **members}.items() if value is not ...}
    return [place_of(section, loc) for loc, _message in READERS[section].read(row)[1]]


@pytest.mark.parametrize("section", READERS)
def test_a_good_row_has_no_faults(section: str) -> None:
    assert faults_of(section) == []


@pytest.mark.parametrize("section", READERS)
@pytest.mark.parametrize("row", [None, 7, "row", [], True])
def test_a_row_is_an_object(section: str, row: object) -> None:
    assert READERS[section].read(row) == ({}, [((), "must be an object")])


@pytest.mark.parametrize("section", READERS)
@pytest.mark.parametrize("value", [{"a": [1]}, [[]], 1.5, -3, "\x7f?", True, ""])
def test_no_value_of_any_member_raises(section: str, value: object) -> None:
    for member in READERS[section].section.fields:
        READERS[section].read({**good_row(section), member.name: value})


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        5,
        "{3f2504e0-4f89-11d3-9a0c-0305e82c3301}",
        "urn:uuid:3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "3f2504e04f8911d39a0c0305e82c3301",
        "3f2504e0-4f89-11d3-9a0c-0305e82c330g",
        " 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301\n",
    ],
)
def test_ids_are_strict(value: object) -> None:
    assert faults_of("classes", id=value, room_id=value) == ["classes.id", "classes.room_id"]


def test_ids_are_kept_in_lower_case() -> None:
    values, faults = READERS["rooms"].read({**good_row("rooms"), "id": ID.upper()})
    assert not faults
    assert values["id"] == ID


@pytest.mark.parametrize(
    "value",
    [
        "2031-05-01",
        "2031-05-01T09:00:00",
        "2031-05-01 09:00:00Z",
        "1700000000",
        1700000000,
        "2031-02-30T09:00:00Z",
        "2031-05-01T25:00:00Z",
        "2031-05-01T09:00:00+25:00",
        "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59-05:00",
        "1850-01-01T00:00:00Z",
        "20310501T090000Z",
        "2031-W10-1T09:00:00Z",
        "٢٠٣١-05-01T09:00:00Z",
    ],
)
def test_instants_are_strict(value: object) -> None:
    assert faults_of("members", created_at=value) == ["members.created_at"]


@pytest.mark.parametrize(
    "value", ["2031-05-01T09:00Z", "2031-05-01T09:00:00.123456789Z", "9999-12-31T23:59:59Z", "2031-05-01t09:00:00z"]
)
def test_instants_that_are_fine(value: str) -> None:
    assert faults_of("members", created_at=value) == []


WRONG = [
    ("studio", {"slug": "North Star"}, "slug"),
    ("studio", {"slug": "-x"}, "slug"),
    ("studio", {"slug": None}, "slug"),
    ("studio", {"timezone": "Mars/Olympus"}, "timezone"),
    ("studio", {"timezone": "../etc/passwd"}, "timezone"),
    ("studio", {"currency": "usd"}, "currency"),
    ("studio", {"country": "USA"}, "country"),
    ("studio", {"country": "ZZ"}, "country"),
    ("studio", {"test": "yes"}, "test"),
    ("studio", {"name": ""}, "name"),
    ("studio", {"policy": {"late_fee_amount": "5"}}, "policy.late_fee_amount"),
    ("studio", {"policy": {"cancelation_window_minutes": 5}}, "policy.cancelation_window_minutes"),
    ("studio", {"policy": []}, "policy"),
    ("locations", {"active": 1}, "active"),
    ("locations", {"activ": True}, "activ"),
    ("rooms", {"capacity": -1}, "capacity"),
    ("rooms", {"capacity": 2**31}, "capacity"),
    ("rooms", {"capacity": True}, "capacity"),
    ("rooms", {"capacity": 1.0}, "capacity"),
    ("rooms", {"capacity": "9"}, "capacity"),
    ("rooms", {"location_id": None}, "location_id"),
    ("spots", {"x": "1"}, "x"),
    ("spots", {"x": 10**400}, "x"),
    ("spots", {"label": ""}, "label"),
    ("instructors", {"tags": "a"}, "tags"),
    ("instructors", {"tags": ["a", 5]}, "tags[1]"),
    ("classes", {"end_time": "2031-05-01T09:00:00Z"}, "end_time"),
    ("classes", {"end_time": "2031-05-09T09:00:00Z"}, "end_time"),
    ("classes", {"status": "gone"}, "status"),
    ("classes", {"spot_selection_mode": "none"}, "spot_selection_mode"),
    ("products", {"location_ids": [ID, "x"]}, "location_ids[1]"),
    ("products", {"credits_granted": -1}, "credits_granted"),
    ("prices", {"amount": 150}, "amount"),
    ("prices", {"amount": "150", "currency": "USD"}, "amount"),
    ("prices", {"amount": "1e3"}, "amount"),
    ("prices", {"amount": "-1.00"}, "amount"),
    ("prices", {"amount": "150.00", "currency": "JPY"}, "amount"),
    ("prices", {"amount": "150.00", "currency": "KWD"}, "amount"),
    ("prices", {"price_type": "recurring", "interval": None}, "interval"),
    ("prices", {"interval": "month"}, "interval"),
    ("members", {"email": "nobody"}, "email"),
    ("members", {"email": "a@b@c.de"}, "email"),
    ("members", {"email": ""}, "email"),
    ("members", {"phone": "123"}, "phone"),
    ("members", {"phone": "718 555 0100 ext 5"}, "phone"),
    ("members", {"role": "admin"}, "role"),
    ("members", {"first_name": None}, "first_name"),
    ("memberships", {"status": "gone"}, "status"),
    ("memberships", {"state_version": 0}, "state_version"),
    ("memberships", {"credits_remaining": -1}, "credits_remaining"),
    ("purchases", {"quantity": 0}, "quantity"),
    ("purchases", {"amount_total": "15.0", "refunded_amount": None}, "amount_total"),
    ("purchases", {"amount_total": "10.00", "refunded_amount": "10.01", "currency": "USD"}, "refunded_amount"),
    ("leads", {"status": "warm"}, "status"),
    ("leads", {"email": None}, "email"),
    ("leads", {"metadata": []}, "metadata"),
    ("forms", {"slug": "A"}, "slug"),
    ("forms", {"fields": {}}, "fields"),
    ("forms", {"fields": [{"key": "a", "label": "A", "type": "rating", "max_rating": 11}]}, "fields[0].max_rating"),
    ("forms", {"settings": "x"}, "settings"),
    ("bookings", {"status": "waitlisted"}, "class_spot_id"),
    ("bookings", {"status": "pending"}, "status"),
    ("products", {"product_type": "voucher"}, "product_type"),
    ("purchases", {"product_type": None}, "product_type"),
    ("members", {"revision": 0}, "revision"),
    ("waitlist", {"status": "waiting"}, "position"),
    ("ledger", {"reason": "found"}, "reason"),
    ("ledger", {"reason": "returned", "delta": 2, "booking_id": ID}, "delta"),
    ("ledger", {"reason": "adjusted", "booking_id": ID}, "booking_id"),
    ("cancellations", {"cancellation_type": "never"}, "cancellation_type"),
    ("cancellations", {"credits_returned": 1}, "credits_returned"),
    ("renewals", {"period_end": "2020-01-01T00:00:00Z"}, "period_end"),
    ("submissions", {"status": "lost"}, "status"),
    ("submissions", {"consents": {}}, "consents"),
    ("submissions", {"consents": ["waiver"]}, "consents[0]"),
    ("submissions", {"consents": [{"key": "waiver"}, {"slug": "w"}]}, "consents[1].key"),
    ("submissions", {"consents": [{"key": "waiver", "at": 7}]}, "consents[0].at"),
    ("files", {"sha256": "AA"}, "sha256"),
    ("versions", {"fields": {}}, "fields"),
]


@pytest.mark.parametrize(("section", "members", "place"), WRONG)
def test_wrong_members_are_named(section: str, members: dict[str, Any], place: str) -> None:
    assert faults_of(section, **members) == [f"{section}.{place}"]


def test_all_faults_of_a_row_at_once() -> None:
    assert faults_of("members", id="x", email="x", role=1, new=1) == [
        "members.new",
        "members.id",
        "members.email",
        "members.role",
    ]


def test_nesting_has_an_end() -> None:
    deep: Any = {}
    for _ in range(200):
        deep = {"a": deep}
    assert faults_of("leads", metadata=deep) == ["leads.metadata"]


def test_what_the_interface_adds_is_passed_over() -> None:
    more = {"object": "class", "booked_count": 3, "available_count": 1, "updated_at": "now"}
    assert faults_of("classes", status="completed", **more) == []
    assert READERS["classes"].read({**good_row("classes"), "status": "in_progress"})[0]["status"] == "scheduled"


def test_people_are_kept_in_their_normal_form() -> None:
    values, _ = READERS["members"].read({**good_row("members"), "email": " A.B@EXÄMPLE.com ", "phone": "718.555.0100"})
    assert (values["email"], values["phone"]) == ("a.b@xn--exmple-cua.com", "+17185550100")


def test_what_is_given_is_known() -> None:
    section = READERS["memberships"].section
    row = good_row("memberships")
    del row["credits_remaining"]
    absent, _ = READERS["memberships"].read(row)
    cleared, _ = READERS["memberships"].read({**row, "credits_remaining": None})
    assert absent["credits_remaining"] is cleared["credits_remaining"] is None
    assert not absent[GIVEN] & section.bit("credits_remaining")
    assert cleared[GIVEN] & section.bit("credits_remaining")
    assert absent[GIVEN] == section.bit(*row)


def test_a_row_needs_an_id_only() -> None:
    """Whether the row is new, and so needs more, is known only once it is compared with the stored ones."""
    for name, reader in READERS.items():
        if reader.section.bit("id"):
            assert reader.read({"id": ID})[1] == [], name
            assert reader.read({})[1] == [(("id",), "is required")], name


def test_faults_are_all_counted_and_the_first_kept_in_order() -> None:
    faults = Faults(Fault(f"row {n}", "is wrong", KEPT - n) for n in range(KEPT + 5))
    assert faults.count == KEPT + 5
    assert len(faults.listed()) == KEPT
    assert faults.listed()[0].place == f"row {KEPT - 1}"
