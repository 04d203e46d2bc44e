"""Declare a flow of the studio's side: the permission that it needs, and its one transaction."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from studiogate.domain.access import Access
from studiogate.domain.refusals import Refusal
from studiogate.domain.staff import FormToken, Permission
from studiogate.storage import form_tokens
from studiogate.storage.db.pool import Connection
from studiogate.storage.db.transactions import transaction_on

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Flow = Callable[Concatenate[Connection, Access, Arguments], Coroutine[Any, Any, Result | Refusal]]

# Every flow of the studio's side by its dotted name, with its permission: the table that tests and the console read.
STAFF_FLOWS: dict[str, Permission] = {}


class _RefusedError(Exception):
    """Carries a refusal out of a transaction, which is then rolled back."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


class RepeatedFormError(Exception):
    """The form has taken effect already: it was sent twice. Nothing was done now."""


def staff_flow(permission: Permission) -> Callable[[Flow[Arguments, Result]], Flow[Arguments, Result]]:
    """Run the decorated flow in a transaction of its own, if the access has the permission.

    A flow that returns a refusal has changed nothing: whatever it did before is rolled back. A flow that a form of the
    console calls raises RepeatedFormError if the same form has taken effect before.
    """

    def declare(flow: Flow[Arguments, Result]) -> Flow[Arguments, Result]:
        STAFF_FLOWS[f"{flow.__module__}.{flow.__qualname__}".removeprefix("studiogate.flows.")] = permission

        @wraps(flow)
        async def guarded(
            connection: Connection, access: Access, /, *args: Arguments.args, **kwargs: Arguments.kwargs
        ) -> Result | Refusal:
            refusal = access.refusal_without_permission(permission)
            if refusal is not None:
                return refusal
            claimed: FormToken | None = None
            try:
                async with transaction_on(connection):
                    claimed = await _claim_form(connection, access)
                    outcome = await flow(connection, access, *args, **kwargs)
                    if isinstance(outcome, Refusal):
                        raise _RefusedError(outcome)
                    return outcome
            except BaseException as error:
                if claimed is not None:
                    claimed.is_claimed = False
                if isinstance(error, _RefusedError):
                    return error.refusal
                raise

        return guarded

    return declare


async def _claim_form(connection: Connection, access: Access) -> FormToken | None:
    """Claim the token of the form that is being sent, if an earlier flow of the request has not; return it then."""
    staff = access.staff
    if staff is None or staff.form is None or staff.form.is_claimed or staff.account_id is None:
        return None
    if not await form_tokens.claim(connection, access, staff.account_id, staff.form.value):
        raise RepeatedFormError
    staff.form.is_claimed = True
    return staff.form
