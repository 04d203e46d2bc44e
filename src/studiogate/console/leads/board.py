"""The board of leads: a column for each status, whose cards move by drag and drop, by keys, or in the lead's drawer."""

from collections.abc import Mapping

from studiogate.console.framework import ConsoleRequest, page, words
from studiogate.console.framework.formats import with_query
from studiogate.console.framework.parse import as_id
from studiogate.domain.leads import LeadStatus
from studiogate.domain.staff import Permission
from studiogate.storage import lead_board
from studiogate.storage.forms import inbox
from studiogate.storage.lead_board import Origin
from studiogate.web.response import Answer

PATH = "/console/leads"
PER_COLUMN = 15
PER_PAGE = 50
MAX_FORMS = 200
LABELS: Mapping[str, str] = words.WORDS["leads"]
# Along the pipeline, from left to right; what leads out of it comes last.
COLUMNS = (
    LeadStatus.NEW,
    LeadStatus.CONTACTED,
    LeadStatus.QUALIFIED,
    LeadStatus.CONVERTED,
    LeadStatus.UNQUALIFIED,
    LeadStatus.LOST,
)
SOURCES = {"partner_api": "A partner", "form": "A form"}


def _origin_of(request: ConsoleRequest) -> Origin:
    """Return what the address filters by: a source, or the id of a form."""
    asked = request.query.get("source", "")
    if not asked or not asked.isprintable():
        return Origin()
    return Origin("form", str(form)) if (form := as_id(asked)) else Origin("source", asked)


def source_text(source: str) -> str:
    text = SOURCES.get(source, source.replace("_", " ")) if source else "Not said"
    return text[:1].upper() + text[1:]


@page("/leads", Permission.LEADS)
async def board(request: ConsoleRequest) -> Answer:
    """Show the first leads of each status. On phones one column at a time: ``status`` is the one that is shown."""
    origin, asked = _origin_of(request), request.query.get("status")
    source, shown = origin.value, LeadStatus(asked) if asked in set(LeadStatus) else LeadStatus.NEW
    async with request.database.connection() as connection:
        read = await lead_board.read_board(connection, request.access, origin, PER_COLUMN)
        sources = await lead_board.sources(connection, request.access)
        forms = await inbox.form_titles(connection, request.access, MAX_FORMS)
    found = {each.status: each for each in read}
    return request.render(
        "leads/board.html",
        columns=[found[each] for each in COLUMNS],
        labels=LABELS,
        shown=shown,
        source=source,
        origins=[
            ("Sources", [(each, source_text(each)) for each in sources]),
            ("Forms", [(str(each["id"]), each["title"]) for each in forms]),
        ],
        source_text=source_text,
        here=with_query(PATH, source=source, status=shown if asked else None),
        address=lambda status: with_query(PATH, source=source, status=status),
        more=lambda column: with_query(f"{PATH}/list", status=column.status, source=source, after=column.page.next),
    )


@page("/leads/list", Permission.LEADS)
async def column(request: ConsoleRequest) -> Answer:
    """Show the leads of a status, a page at a time."""
    origin, asked = _origin_of(request), request.query.get("status")
    status, after = LeadStatus(asked) if asked in set(LeadStatus) else LeadStatus.NEW, as_id(request.query.get("after"))
    found = await request.read(lead_board.read_column, status, origin, (after, PER_PAGE))
    given = {"status": status, "source": origin.value}
    return request.render(
        "leads/list.html",
        rows=found.rows,
        label=LABELS[status],
        source_text=source_text,
        here=with_query(f"{PATH}/list", **given, after=after),
        back=with_query(PATH, **given),
        next_href=found.next and with_query(f"{PATH}/list", **given, after=found.next),
    )
