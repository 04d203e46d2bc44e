"""Signed links that open a form for one member, to fill in here or on their phone."""

from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.forms.signed_links import Link, make_link, open_link_secret
from studiogate.storage.forms.hosted import LinkGround
from studiogate.web.public_address import known_address

LIFE = timedelta(days=7)


def link_address(request: ConsoleRequest, ground: LinkGround, form_id: UUID, member_id: UUID) -> str:
    """Return the address of a form for a member, which works for ``LIFE``."""
    secret = open_link_secret(request.runtime.sealer, ground.studio_id, ground.link_secret)
    token = make_link(secret, form_id, Link(member_id, ground.now + LIFE))
    origin = known_address(request.runtime.settings)
    return f"{origin}/f/{ground.studio_slug}/{ground.form_slug}?{urlencode({'link': token})}"
