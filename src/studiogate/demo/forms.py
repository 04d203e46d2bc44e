"""The forms, and what was sent: signed waivers, intakes with a doctor's note, and requests from leads.

Answers go through the service's own checks (``domain.forms``), so the stored rows are those of the hosted page."""

from datetime import date, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from studiogate.demo.people import OF_THE_DAY, Person
from studiogate.demo.seed import Seed, daytime, midnight, read_file, sections, written
from studiogate.domain.forms.answer_checks import FormSetting
from studiogate.domain.forms.answers import judge
from studiogate.domain.instants import instant_text

SIGNATURES = sections("signatures.json")


def signature_url(name: str) -> str:
    """A line of ink, in one of a few hands."""
    return str(SIGNATURES[sum(map(ord, name)) % len(SIGNATURES)])


def note_pdf(name: str) -> bytes:
    """One page that clears a person for exercise."""
    text = f"{name} may take part in guided exercise. No jumping for six weeks."
    plain = text.encode("ascii", "replace").replace(b"(", b"").replace(b")", b"")
    stream = b"BT /F1 12 Tf 72 720 Td (" + plain + b") Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length " + str(len(stream)).encode() + b" >>\nstream\n" + stream + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    document, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(document))
        document += str(number).encode() + b" 0 obj\n" + body + b"\nendobj\n"
    table = b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    size, start = len(objects) + 1, len(document)
    document += f"xref\n0 {size}\n".encode() + b"0000000000 65535 f \n" + table
    return document + f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()


Row = dict[str, Any]
WAIVER, INTAKE, INTRO_OFFER = "liability-waiver", "movement-intake", "intro-offer"
# They have not signed the waiver that the class which starts soon asks for.
UNSIGNED = frozenset({"Lucía Gómez", "Tomás Ortega"})
BIRTHDAY = "Sofia Varga"
INJURED = {"Nia Campbell": "Left knee, since a fall in spring.", "Wei Chen": "Lower back, on and off for two years."}
WITH_INTAKE = {*INJURED, "Tomás Ortega", "Freya Nilsen", "Marisol Vega"}
ASKED_BY_FORM = 8
CLEARANCE = "clearance"


class Sent(NamedTuple):
    """A submission before it is written down."""

    form: Row
    email: str
    name: str
    answers: Row
    at: datetime
    status: str = "pending"
    member_id: str | None = None
    lead_id: str | None = None
    verified: bool = True


def form_rows(seed: Seed) -> list[Row]:
    forms = [{"id": seed.uuid("form", form["slug"]), **form} for form in read_file("forms.json")]
    return [form | {"fields": [field | {"order": n} for n, field in enumerate(form["fields"])]} for form in forms]


def submission_rows(seed: Seed, persons: list[Person], forms: list[Row], leads: list[Row], today: date) -> list[Row]:
    by_slug = {form["slug"]: form for form in forms}
    of_the_day = {part.name for part in OF_THE_DAY}
    regulars = {_name(person) for person in persons if person.weekdays and person.number % 3 == 0}
    signed = regulars | of_the_day - UNSIGNED
    sent = [
        *(_waiver(seed, by_slug[WAIVER], each, today) for each in persons if each.email and _name(each) in signed),
        *(_intake(seed, by_slug[INTAKE], each, today) for each in persons if _name(each) in WITH_INTAKE),
        *_requests(seed, by_slug[INTRO_OFFER], leads),
    ]
    rows = [_row(seed, each) for each in sent]
    return sorted(rows, key=lambda row: (row["created_at"], row["id"]))


def upload_contents(seed: Seed) -> dict[str, bytes]:
    """The files of the submissions by their ids."""
    return {_note_id(seed, name): note_pdf(name) for name in INJURED}


def with_submissions(leads: list[Row], submissions: list[Row]) -> list[Row]:
    """A lead knows the forms that they sent."""
    noted = {}
    for row in submissions:
        at = instant_text(datetime.fromisoformat(row["created_at"]))
        entry = {"form_id": row["form_id"], "submission_id": row["id"], "submitted_at": at}
        noted[row["lead_id"]] = {"form_submissions": [entry]}
    return [lead | {"metadata": lead["metadata"] | noted.get(lead["id"], {})} for lead in leads]


def _name(person: Person) -> str:
    return f"{person.first_name} {person.last_name}"


def _waiver(seed: Seed, form: Row, person: Person, today: date) -> Sent:
    answers = {
        "full_name": _name(person),
        "date_of_birth": _birth(seed, person, today).isoformat(),
        "risk": "true",
        "release": "true",
        "signature": signature_url(_name(person)),
    }
    at = daytime(seed, midnight(today), -seed.whole(2, 40, "signed", person.id), "signed", person.id)
    return Sent(form, str(person.email), _name(person), answers, at, "confirmed", person.id)


def _birth(seed: Seed, person: Person, today: date) -> date:
    if _name(person) == BIRTHDAY:
        return today.replace(year=1988)
    return date(1962, 1, 1) + timedelta(days=seed.whole(0, 14_600, "born", person.id))


def _intake(seed: Seed, form: Row, person: Person, today: date) -> Sent:
    name = _name(person)
    health: Row = {"conditions": ["none"]}
    if name in INJURED:
        health = {
            "conditions": ["injury"],
            "injury_details": INJURED[name],
            "pain_today": str(seed.whole(2, 5, "pain", name)),
            CLEARANCE: [_note_id(seed, name)],
        }
    answers = {
        "preferred_name": person.first_name,
        "age": str(today.year - _birth(seed, person, today).year),
        "emergency_name": seed.pick(("My partner", "My sister", "A neighbour"), "emergency", name),
        "emergency_phone": "+12125550142",
        **health,
        "experience": seed.pick(("New to all of it", "Some classes"), "experience", name),
        "motivation": str(seed.whole(3, 5, "motivation", name)),
        "health_data": "true",
    }
    at = daytime(seed, midnight(today), -seed.whole(1, 12, "intake", person.id), "intake", person.id)
    return Sent(form, person.email or "desk@example.com", name, answers, at, "pending", person.id)


def _requests(seed: Seed, form: Row, leads: list[Row]) -> list[Sent]:
    """Of the newest leads, and one from a machine."""
    asked = [lead for lead in leads if lead["status"] == "new" and lead["first_name"]][-ASKED_BY_FORM:]
    sent = [_request(seed, form, lead) for lead in asked]
    answers = {"first_name": "WIN", "location": "brooklyn"}
    at = sent[-1].at - timedelta(hours=3)
    return [*sent, Sent(form, "promo@example.net", "WIN A PHONE", answers, at, "spam", verified=False)]


def _request(seed: Seed, form: Row, lead: Row) -> Sent:
    answers = {
        "first_name": lead["first_name"],
        "location": seed.pick(("brooklyn", "denver"), "asks for", lead["id"]),
        "interests": seed.shuffled(("Reformer", "Cycle", "Yoga", "Strength", "Recovery"), str, lead["id"])[:2],
    }
    at = datetime.fromisoformat(lead["created_at"])
    return Sent(form, lead["email"], lead["first_name"], answers, at, lead_id=lead["id"])


def _note_id(seed: Seed, name: str) -> str:
    return seed.uuid("upload", INTAKE, name)


def _row(seed: Seed, sent: Sent) -> Row:
    uploads = sent.answers.get(CLEARANCE, [])
    judged = judge(sent.form["fields"], sent.answers, FormSetting("US", dict.fromkeys(uploads, CLEARANCE)))
    if judged.faults:
        raise ValueError(f"The demo studio has a submission with faults: {judged.faults}")
    agreed = [{**each._asdict(), "at": instant_text(sent.at)} for each in judged.consents]
    return {
        "id": seed.uuid("submission", sent.form["slug"], sent.email),
        "form_id": sent.form["id"],
        "form_version": 1,
        "submitter_name": sent.name,
        "submitter_email": sent.email,
        "data": judged.data,
        "consents": agreed,
        "status": sent.status,
        "verified": sent.verified,
        "member_id": sent.member_id,
        "lead_id": sent.lead_id,
        "files": [
            {
                "id": upload,
                "field_key": CLEARANCE,
                "filename": "doctors-note.pdf",
                "content_type": "application/pdf",
                "size": len(note_pdf(sent.name)),
                "sha256": sha256(note_pdf(sent.name)).hexdigest(),
                "created_at": written(sent.at),
            }
            for upload in uploads
        ],
        "created_at": written(sent.at),
    }
