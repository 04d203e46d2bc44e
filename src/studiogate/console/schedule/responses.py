"""Where the forms of the schedule lead."""

from urllib.parse import parse_qsl, urlencode, urlsplit

from studiogate.console.framework.request import ConsoleRequest, UndoAction, is_own_path
from studiogate.console.schedule.week import PATH, View
from studiogate.web.response import Answer


def done(request: ConsoleRequest, href: str, toast: str, undo: UndoAction | None = None) -> Answer:
    """Lead to a page after a form took effect; a form in the drawer leads the whole page there. Whoever changed a class
    from Today or from its own page stays there, and a week stays arranged as it was."""
    return request.go_to(_desk_page(request) or arranged(request, href), toast, undo)


def arranged(request: ConsoleRequest, href: str) -> str:
    """Return the address of a week, arranged by rooms or instructors as on the page that sent the request."""
    shown, address = urlsplit(_current_page(request)), urlsplit(href)
    by = dict(parse_qsl(shown.query)).get("by", "")
    if (shown.path, address.path) != (PATH, PATH) or by not in set(View):
        return href
    return f"{PATH}?{urlencode({**dict(parse_qsl(address.query)), 'by': by})}"


def _desk_page(request: ConsoleRequest) -> str | None:
    """Return the page that sent the form, or over which the drawer was open, if it shows a class of the desk."""
    shown = _current_page(request)
    path = shown.partition("?")[0]
    is_of_desk = path == "/console/today" or path.startswith("/console/classes/")
    return shown if is_of_desk and is_own_path(shown) else None


def _current_page(request: ConsoleRequest) -> str:
    """Return path and query of the page that sent the request, or over which the drawer is open."""
    headers = request.http.headers
    address = (headers.get(b"hx-current-url") or headers.get(b"referer") or b"").decode("latin-1")
    return "/" + address.partition("://")[2].partition("/")[2]
