"""Set up, confirm and remove the second factor of a signed-in person."""

from typing import NamedTuple

from studiogate.domain.encryption import SealError
from studiogate.domain.refusals import Code, Refusal
from studiogate.domain.staff import tokens
from studiogate.flows.staff.sessions import SignedIn, Visit, record_everywhere
from studiogate.storage import secret_key
from studiogate.storage.accounts import accounts
from studiogate.storage.accounts.accounts import Account


class Offered(NamedTuple):
    """A second factor to be confirmed: as text to type, and as the address that a QR code holds."""

    secret: str
    uri: str


async def set_up(visit: Visit, signed_in: SignedIn) -> Offered | Refusal:
    """Offer a new second factor. It counts from the confirmation on; an earlier offer is replaced."""
    if refusal := signed_in.refusal_without_password():
        return refusal
    session, secret = signed_in.session, tokens.new_totp_secret()
    async with visit.database.transaction() as connection:
        visit.sealer.use(await secret_key.key_fingerprint(connection, "share"))
        account = await accounts.lock(connection, session.account_id)
        if account is None or account.state.has_second_factor:
            return Refusal(Code.INVALID_TRANSITION, {"from": "confirmed", "to": "offered"})
        sealed = visit.sealer.seal(secret, tokens.totp_purpose(account.id))
        await accounts.set_second_factor(connection, account.id, sealed)
        await record_everywhere(connection, account, visit.origin, "staff.second_factor_offered")
    return Offered(tokens.secret_text(secret), tokens.provisioning_uri(secret, session.email))


async def confirm(visit: Visit, signed_in: SignedIn, code: str) -> Refusal | None:
    """Confirm the offered second factor with its first code; sign-ins need a code from now on."""
    async with visit.database.transaction() as connection:
        account = await accounts.lock(connection, signed_in.session.account_id)
        if account is None or account.totp_secret is None or account.state.has_second_factor:
            return Refusal(Code.INVALID_TRANSITION, {"from": "none", "to": "confirmed"})
        if (step := step_of_code(visit, account, code)) is None:
            return Refusal(Code.SIGN_IN_FAILED)
        await accounts.use_step(connection, account.id, step)
        await accounts.confirm_second_factor(connection, account.id)
        await record_everywhere(connection, account, visit.origin, "staff.second_factor_on")
    return None


def step_of_code(visit: Visit, account: Account, code: str) -> int | None:
    """Return the step of a code of the account's second factor; None if the code is wrong."""
    try:
        secret = visit.sealer.open(account.totp_secret or b"", tokens.totp_purpose(account.id))
    except SealError:  # the deployment's key was lost: an operator has to remove the second factor
        return None
    return tokens.matching_step(secret, code, account.now, account.totp_last_step)


async def remove(visit: Visit, signed_in: SignedIn) -> Refusal | None:
    """Remove the second factor, or the offer of one."""
    if refusal := signed_in.refusal_without_password():
        return refusal
    async with visit.database.transaction() as connection:
        account = await accounts.lock(connection, signed_in.session.account_id)
        if account is None or account.totp_secret is None:
            return Refusal(Code.NOT_FOUND)
        await accounts.set_second_factor(connection, account.id, None)
        await record_everywhere(connection, account, visit.origin, "staff.second_factor_off")
    return None
