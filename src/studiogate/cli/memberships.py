"""studiogate membership: sell, pause, resume, cancel, renewal and credits."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import typer

from studiogate.cli import lists
from studiogate.cli.actions import Action, RowId, StudioOption, Undo, act, act_in_studio, option_id, option_time
from studiogate.cli.context import AsJson, DataFolder, counted, print_json, screen
from studiogate.domain.access import Access
from studiogate.domain.membership_changes import Pause
from studiogate.domain.memberships import MembershipState
from studiogate.domain.money import money_text
from studiogate.domain.refusals import Refusal
from studiogate.domain.sales import Order
from studiogate.flows import membership_changes as flow
from studiogate.flows.sales import Sold, sell
from studiogate.storage.db.pool import Connection

app = lists.memberships
SHOWN = (
    "status",
    "auto_renew",
    "state_version",
    "current_period_end",
    "pause_starts_at",
    "pause_ends_at",
    "cancel_at_period_end",
    "credits_remaining",
)


class Switch(StrEnum):
    ON = "on"
    OFF = "off"


WhyOptional = Annotated[str | None, typer.Option("--reason", help="Why; partners see it.")]


@app.command("sell")
def sell_membership(
    studio: lists.Slug,
    member: Annotated[UUID, option_id("Who buys.")],
    product: Annotated[UUID, option_id("What is sold.")],
    price: Annotated[UUID | None, option_id("At which price; the default one if none is named.")] = None,
    location: Annotated[UUID | None, option_id("Where it is sold.")] = None,
    quantity: Annotated[int, typer.Option(help="How many; credits and total are multiplied.")] = 1,
    pending: Annotated[bool, typer.Option("--pending", help="The payment has not arrived yet.")] = False,
    starts: Annotated[datetime | None, option_time("From when it can be used; by default now.")] = None,
    ends: Annotated[datetime | None, option_time("When a one-time purchase ends.")] = None,
    renew: Annotated[
        bool | None, typer.Option("--renew/--no-renew", help="By default a recurring price renews.")
    ] = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Sell a membership: the purchase and the membership with its period and credits."""
    order = Order(member, product, price, location, quantity, not pending, starts, ends, renew)
    sold = act_in_studio(data, studio, "product", lambda c, access: sell(c, access, order))
    if as_json:
        _print_sale(sold)
        return
    line = sold.sale.line
    total = f"{money_text(line.amount_total, line.currency)} {line.currency}"
    screen.print(
        f"Sold for {total}, {line.status}: membership {sold.membership_id}, purchase {sold.purchase_id}.",
        soft_wrap=True,
    )


def _print_sale(sold: Sold) -> None:
    line, state = sold.sale.line, sold.sale.membership
    purchase = {"amount_total": str(line.amount_total), "currency": line.currency, "status": line.status}
    print_json(
        {
            "membership": {"id": str(sold.membership_id), **_shown(state)},
            "purchase": {"id": str(sold.purchase_id), "quantity": line.quantity, **purchase},
        }
    )


def _shown(state: MembershipState) -> dict[str, object]:
    return {name: getattr(state, name) for name in SHOWN}


def _change(
    data: DataFolder, studio: str | None, membership_id: UUID, as_json: bool, action: Action[MembershipState]
) -> MembershipState | None:
    """Run a flow; return the membership unless it was printed as JSON."""
    state = act(data, studio, "membership", membership_id, action)
    if as_json:
        print_json({"id": str(membership_id), **_shown(state)})
        return None
    return state


def _when(moment: datetime | None) -> str:
    return "later" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


@app.command("pause")
def pause(
    membership_id: RowId,
    starts: Annotated[datetime | None, option_time("When it begins; by default now.", "--from")] = None,
    ends: Annotated[datetime | None, option_time("When it ends.", "--until")] = None,
    reason: WhyOptional = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Pause a membership, now or from a time on. Its bookings stay."""
    asked = Pause(starts, ends, reason)
    state = _change(data, studio, membership_id, as_json, lambda c, access: flow.pause(c, access, membership_id, asked))
    if state is not None:
        until = "somebody resumes it" if ends is None else _when(ends)
        begins = "paused" if state.status == "paused" else f"to be paused from {_when(starts)}"
        screen.print(f"The membership is {begins} until {until}.", soft_wrap=True)


@app.command("resume")
def resume(
    membership_id: RowId,
    at: Annotated[datetime | None, option_time("When the pause ends; by default now.")] = None,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """End a pause, now or at a time, or withdraw a planned one."""
    state = _change(data, studio, membership_id, as_json, lambda c, access: flow.resume(c, access, membership_id, at))
    if state is not None:
        paused = f"The pause ends at {_when(at)}." if at is not None else f"The membership is {state.status.value} now."
        screen.print(paused, soft_wrap=True)


@app.command("cancel")
def cancel(
    membership_id: RowId,
    at_period_end: Annotated[bool, typer.Option("--at-period-end", help="Not now, but when the period ends.")] = False,
    reason: WhyOptional = None,
    undo: Undo = False,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Cancel a membership, now or at the end of its period. Its bookings stay. `--undo` withdraws a planned end."""

    async def action(c: Connection, access: Access) -> MembershipState | Refusal:
        if undo:
            return await flow.uncancel(c, access, membership_id)
        return await flow.cancel(c, access, membership_id, reason, at_period_end=at_period_end)

    state = _change(data, studio, membership_id, as_json, action)
    if state is None:
        return
    if undo:
        screen.print("The membership is not cancelled any more.", soft_wrap=True)
    elif at_period_end:
        screen.print(f"The membership ends at {_when(state.current_period_end)}.", soft_wrap=True)
    else:
        screen.print("The membership is cancelled.", soft_wrap=True)


@app.command("renewal")
def renewal(
    membership_id: RowId,
    switch: Annotated[Switch, typer.Argument(metavar="on|off")],
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Switch the automatic renewal on or off."""
    renews = switch is Switch.ON
    state = _change(
        data, studio, membership_id, as_json, lambda c, access: flow.set_renewal(c, access, membership_id, renews)
    )
    if state is not None:
        screen.print(_renewal(state), soft_wrap=True)


def _renewal(state: MembershipState) -> str:
    if state.current_period_end is None:
        return "The membership has no end, and does not renew."
    return f"The membership {'renews' if state.auto_renew else 'ends'} at {_when(state.current_period_end)}."


@app.command("credits")
def adjust_credits(
    membership_id: RowId,
    reason: Annotated[str, typer.Option(help="Why; kept in the audit log.")],
    add: Annotated[int, typer.Option(min=0, help="Give so many credits.")] = 0,
    take: Annotated[int, typer.Option(min=0, help="Take so many credits.")] = 0,
    studio: StudioOption = None,
    as_json: AsJson = False,
    data: DataFolder = None,
) -> None:
    """Give or take credits. They never become negative."""
    by = add - take
    state = _change(
        data,
        studio,
        membership_id,
        as_json,
        lambda c, access: flow.adjust_credits(c, access, membership_id, by, reason),
    )
    if state is not None:
        screen.print(f"The membership has {counted(state.credits_remaining or 0, 'credit')} now.", soft_wrap=True)
