"""Whatever staff do to a membership in whatever order, its state stays consistent."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from studiogate.domain import membership_changes as changes
from studiogate.domain.bookings.states import MembershipStatus
from studiogate.domain.catalog import Price, Product
from studiogate.domain.membership_changes import Pause
from studiogate.domain.memberships import Interval, MembershipState, advance
from studiogate.domain.purchases import Offer, Order, choose_sale_price, sell
from studiogate.domain.refusals import Refusal
from tests.support.booking_facts import thorough, uid

ZONE = ZoneInfo("America/New_York")
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
DAY = timedelta(days=1)
Step = Callable[[MembershipState, datetime], MembershipState | Refusal]

days = st.one_of(st.none(), st.integers(-2, 40))
later = days.map(lambda n: None if n is None else n * DAY)


def at(now: datetime, delay: timedelta | None) -> datetime | None:
    return None if delay is None else now + delay


steps = st.one_of(
    st.tuples(later, later).map(
        lambda d: lambda state, now: changes.pause(state, Pause(at(now, d[0]), at(now, d[1])), now)
    ),
    later.map(lambda d: lambda state, now: changes.resume(state, at(now, d), now)),
    st.booleans().map(lambda end: lambda state, now: changes.cancel(state, None, now, at_period_end=end)),
    st.just(lambda state, _now: changes.uncancel(state)),
    st.booleans().map(lambda on: lambda state, _now: changes.set_renewal(state, on, has_price=True)),
    st.integers(-12, 12).map(lambda by: lambda state, _now: changes.adjust_credits(state, by, "why")),
)


def product(credits_granted: int | None = 8) -> Product:
    return Product(uid(1), "p", "P", "package", True, True, credits_granted, (), ())


def price(number: int = 2, interval: Interval | None = Interval.MONTH, **values: object) -> Price:
    usual = {"default": False, "active": True, "created_at": NOW, "location_ids": ()}
    kept = {"product_id": uid(1), "amount": Decimal("49.00"), "currency": "USD", "interval": interval}
    return Price(id=uid(number), **{**usual, **kept, **values})  # type: ignore[arg-type]


def sold(interval: Interval | None = Interval.MONTH) -> MembershipState:
    sale, faults = sell(Order(uid(3), uid(1)), Offer(product(), [price(interval=interval)]), ZONE, NOW)
    assert sale is not None, faults
    return sale.membership


@thorough
@given(st.lists(st.tuples(st.integers(0, 20), steps), max_size=12))
def test_any_order_of_changes(plan: list[tuple[int, Step]]) -> None:
    state, now = sold(), NOW
    for wait, step in plan:
        now += wait * DAY
        state = advance(state, Interval.MONTH, ZONE, now).state
        changed = step(state, now)
        if isinstance(changed, Refusal):
            continue
        assert changed.state_version - state.state_version in (0, 1)
        if changed == state._replace(state_version=changed.state_version):
            assert changed == state, "what changes nothing leaves the version alone"
        assert changed.credits_remaining is not None
        assert changed.credits_remaining >= 0
        state = advance(changed, Interval.MONTH, ZONE, now).state
        assert (state.status == MembershipStatus.PAUSED) <= (state.paused_at is not None)
        assert (state.status in ("cancelled", "expired")) == (state.ended_at is not None)
        if state.pause_starts_at and state.pause_ends_at and state.status == MembershipStatus.ACTIVE:
            assert state.pause_starts_at < state.pause_ends_at


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), max_size=5))
def test_a_sale_takes_the_default_price_else_the_oldest(rows: list[tuple[bool, bool, int]]) -> None:
    prices = [
        price(10 + number, default=default, active=active, created_at=NOW + age * DAY)
        for number, (default, active, age) in enumerate(rows)
    ]
    chosen = choose_sale_price(Order(uid(3), uid(1)), Offer(product(), prices))
    on_sale = [each for each in prices if each.active]
    assert (chosen is None) == (not on_sale)
    if chosen is not None:
        assert chosen in on_sale
        assert chosen.default or not any(each.default for each in on_sale)
        rivals = [each for each in on_sale if each.default == chosen.default]
        assert chosen.created_at == min(each.created_at for each in rivals)


def test_a_period_follows_the_calendar() -> None:
    start = datetime(2027, 1, 31, 18, tzinfo=ZONE)
    offer = Offer(product(None), [price()])
    sale, _ = sell(Order(uid(3), uid(1), starts_at=start), offer, ZONE, start)
    assert sale is not None
    assert sale.membership.current_period_end == datetime(2027, 2, 28, 18, tzinfo=ZONE)
    assert sale.membership.credits_remaining is None
