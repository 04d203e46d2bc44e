"""An import in a real browser: its page shows the progress and then the result, with scripts and without."""

import pytest
from playwright.sync_api import Browser, expect

from studiogate.domain.staff import Role
from tests.support.desk import Desk

HEADER = "email,first_name,last_name\n"


@pytest.mark.parametrize("scripts", [True, False])
def test_a_file_is_previewed_and_imported(browser: Browser, desk_site: Desk, scripts: bool) -> None:
    email = f"scripts-{scripts}@example.com".lower()
    content = f"{HEADER}{email},Ada,Moss\nnot-an-email,Ben,Fischer\n".encode()
    with desk_site.open(browser, Role.OWNER, script=scripts) as page:
        page.goto(desk_site.url("/import"))
        page.get_by_label("File", exact=True).set_input_files(
            {"name": "people.csv", "mimeType": "text/csv", "buffer": content}
        )
        page.get_by_label("What it holds").select_option("members")
        page.get_by_role("button", name="Show every change").click()
        expect(page.get_by_text("1 row cannot be imported.")).to_be_visible()
        expect(page.get_by_role("cell", name="Line 3")).to_be_visible()
        page.get_by_role("link", name="Changes (1)").click()
        expect(page.get_by_role("cell", name=email)).to_be_visible()
        page.get_by_role("button", name="Import the good rows, leave out 1").click()
        expect(page.get_by_text("Imported: 1 created, 1 with faults left out.")).to_be_visible()
    assert desk_site.sql("select first_name from members where email = $1", email)[0]["first_name"] == "Ada"
