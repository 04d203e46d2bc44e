"""Fill in the demo studio's forms as a person does, with or without JavaScript."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"
WELCOME = "https://www.example.com/north-loop/welcome"


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def intro_offer(page: Page, _script: bool, _folder: Path) -> None:
    page.get_by_label("First name").fill("Sam")
    page.get_by_label("Your email").fill("sam@example.com")
    page.get_by_label("Mobile phone").fill("(212) 555-0100")
    page.get_by_text("Denver").click()
    page.get_by_label("Reformer").check()
    page.get_by_label("Yoga").check()
    page.get_by_label("Send me the monthly schedule").check()


def liability_waiver(page: Page, script: bool, _folder: Path) -> None:
    page.get_by_label("Full legal name").fill("Sam Example")
    page.get_by_label("Your email").fill("sam-script@example.com" if script else "sam-plain@example.com")
    page.get_by_label("Date of birth").fill("1990-05-01")
    page.get_by_label("Street and number").fill("1 Main St")
    page.get_by_label("City").fill("Denver")
    page.get_by_label("I take part at my own risk").check()
    page.get_by_label("I release the studio").check()
    if script:
        draw(page)
    else:
        page.get_by_label("Type your full name to sign").fill("Sam Example")


def draw(page: Page) -> None:
    canvas = page.locator("canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + 60, box["y"] + 100)
    page.mouse.down()
    for number in range(1, 40):
        page.mouse.move(box["x"] + 60 + number * 8, box["y"] + 100 + (number % 7 - 3) * 9)
    page.mouse.up()


def movement_intake(page: Page, script: bool, folder: Path) -> None:
    page.get_by_label("What should we call you?").fill("Sam")
    page.get_by_label("Your email").fill("sam@example.com")
    page.get_by_label("Age").fill("34")
    page.get_by_role("textbox", name="Emergency contact", exact=True).fill("Kim Example")
    page.get_by_label("Emergency contact's phone").fill("212 555 0100")
    press(page, "Continue")
    page.get_by_text("Does any of this apply to you?").wait_for()
    page.get_by_label("A current injury").check()
    if not script:
        press(page, "Continue")
    page.get_by_label("Where does it hurt").fill("The left knee, since spring.")
    if not script:
        press(page, "Continue")
    page.get_by_text("Pain today").wait_for()
    page.locator("label.option", has_text="4 of 10").click()
    note = folder / "note.pdf"
    note.write_bytes(PDF)
    page.get_by_label("Choose files").set_input_files(note)
    if script:
        page.get_by_role("button", name="Remove note.pdf").wait_for()
        page.get_by_label("Uploading note.pdf").wait_for(state="detached")
    press(page, "Continue")
    page.get_by_label("How much have you done before?").select_option("I train every week")
    if not script:
        page.get_by_label("My instructors may read").check()
        press(page, "Send to my instructor")
    page.get_by_label("Hours of training a week").fill("6")
    page.locator(".star-option", has_text="4 of 5").click()
    page.get_by_label("My instructors may read").check()


FORMS: dict[str, tuple[Callable[[Page, bool, Path], None], str, dict[str, Any]]] = {
    "intro-offer": (intro_offer, "Hold my place", {"first_name": "Sam", "interests": ["Reformer", "Yoga"]}),
    "liability-waiver": (liability_waiver, "Sign", {"home_address": "1 Main St\nDenver", "risk": "true"}),
    "movement-intake": (
        movement_intake,
        "Send to my instructor",
        {"conditions": ["injury"], "pain_today": "4", "hours_a_week": "6", "motivation": "4"},
    ),
}


def data_of(submission: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(submission["data"])
    return data
