"""Signed links that open a form for one member, to fill in here or on their phone."""

from uuid import UUID

from studiogate.console.framework.request import ConsoleRequest
from studiogate.domain.forms.link_mails import LINK_LIFE
from studiogate.domain.forms.signed_links import Link, link_path, make_link, open_link_secret
from studiogate.storage.forms.hosted import FormLinkFacts
from studiogate.web.public_address import known_address


def link_address(request: ConsoleRequest, facts: FormLinkFacts, form_id: UUID, member_id: UUID) -> str:
    """Return the address of a form for a member, which works for ``LINK_LIFE``."""
    secret = open_link_secret(request.runtime.sealer, facts.studio_id, facts.link_secret)
    token = make_link(secret, form_id, Link(member_id, facts.now + LINK_LIFE))
    return known_address(request.runtime.settings) + link_path(facts.studio_slug, facts.form_slug, token)
