"""The board of leads: its columns and their counts, moving a lead, notes, and making a member of one."""

import re
from typing import Any
from uuid import UUID

import pytest

from studiogate.console.leads import PER_COLUMN
from tests.support.console import Console, texts

pytestmark = pytest.mark.anyio


async def lead(console: Console, number: int = 1, **columns: Any) -> UUID:
    usual = {"email": f"lead{number}@example.com", "first_name": "Lea", "last_name": f"Number{number}"}
    return await console.studio.add("leads", **{**usual, **columns})


async def test_columns_count_all_leads_and_show_the_newest(console: Console) -> None:
    for number in range(PER_COLUMN + 2):
        await lead(console, number, created_at=(await console.studio.now()).replace(year=2025, microsecond=number))
    await lead(console, 99, status="contacted", source="walk_in")
    page = await console.get("/console/leads")
    new = page.text.split('data-column="new"')[1].split("</section>")[0]
    assert new.count("data-lead=") == PER_COLUMN
    assert f'<span class="muted">{PER_COLUMN + 2}</span>' in new
    assert f"Number{PER_COLUMN + 1}" in new
    more = re.search(r'class="more"><a[^>]*href="([^"]*)"', new)
    assert more is not None
    following = texts(await console.get(more[1].replace("&amp;", "&")))
    assert ("Number0" in following, "Number1" in following, "Number2" in following) == (True, True, False)
    filtered = texts(await console.get("/console/leads?source=walk_in"))
    assert "Number99" in filtered
    assert "Number3" not in filtered
    assert len(page.content) <= 60_000


async def test_the_board_and_its_lists_are_filtered_by_the_form_that_was_sent_last(console: Console) -> None:
    trial, other = [
        str(await console.studio.add("forms", title=each, slug=each.lower(), status="published"))
        for each in ("Trial", "Other")
    ]
    usual = {"submitted_at": "2026-01-02T10:00:00Z"}
    sent = [{**usual, "form_id": each, "submission_id": each} for each in (trial, other)]
    await lead(console, 1, metadata={"form_submissions": sent[:1]})
    await lead(console, 2, metadata={"form_submissions": sent}, source="form")
    await lead(console, 3, metadata={"form_submissions": {"form_id": trial}}, source=trial[:8])
    for path in ("/console/leads", "/console/leads/list"):
        for form, expected in ((trial, {"Number1"}), (other, {"Number2"}), (str(UUID(int=7)), set())):
            page = await console.get(f"{path}?source={form}")
            assert set(re.findall(r"Number\d", page.text)) == expected, (path, form)
    board = await console.get(f"/console/leads?source={trial}")
    assert '<h2 id="column-new">New <span class="muted">1</span>' in board.text
    assert f'<option value="{trial}" selected>Trial</option>' in board.text


async def test_a_lead_moves_and_is_moved_back(console: Console) -> None:
    lead_id = await lead(console)
    at, here = f"/console/leads/{lead_id}", f"/console/leads?source=x#lead-{await lead(console, 2)}"
    answer = await console.post(f"{at}/move", {"status": "qualified", "next": here})
    assert answer.headers["location"] == here
    assert (await console.studio.row("leads", lead_id))["status"] == "qualified"
    page = await console.get("/console/leads")
    assert "Lea Number1: qualified." in texts(page)
    assert 'name="status" value="new"' in page.text, "the undo moves it back"
    for wrong in ("gone", ""):
        assert (await console.post(f"{at}/move", {"status": wrong})).status_code == 422
    refused = await console.post(f"{at}/move", {"status": "converted"})
    assert refused.status_code == 409, "only by becoming a member"


async def test_notes_forms_and_conversion(console: Console) -> None:
    studio = console.studio
    form = await studio.add("forms", title="Trial week", slug="trial")
    sent = {"form_id": str(form), "submission_id": str(form), "submitted_at": "2026-01-02T10:00:00Z"}
    lead_id = await lead(console, source="form", metadata={"form_submissions": [sent]})
    at = f"/console/leads/{lead_id}"
    assert "Trial week" in texts(await console.get("/console/leads"))
    await console.post(f"{at}/note", {"note": "Called <twice>.", "next": at})
    drawer = await console.get(at)
    assert "Trial week" in texts(drawer)
    assert "Called &lt;twice&gt;." in drawer.text
    form_page = await console.get(f"{at}/convert")
    assert 'value="Lea"' in form_page.text
    seen = re.search(r'name="seen" value="([^"]*)"', form_page.text)
    given = {"first_name": "Leah", "last_name": "Number1", "phone": ""}
    if seen:
        given["seen"] = seen[1].replace("&#34;", '"').replace("&quot;", '"')
    answer = await console.post(f"{at}/convert", given)
    (member,) = await studio.rows("members", "email = 'lead1@example.com'")
    assert answer.headers["location"] == f"/console/members/{member['id']}"
    assert member["first_name"] == "Leah"
    assert (await studio.row("leads", lead_id))["status"] == "converted"
    assert (await console.get(f"{at}/convert")).status_code == 404
    assert "Move to" not in texts(await console.get(at)), "a member stays one"
