"""The forms: an intro offer, a waiver, a long intake in steps, one being written and one put away."""

from typing import Any, NamedTuple

from studiogate.demo.seed import Seed

Field = dict[str, Any]


class Form(NamedTuple):
    slug: str
    title: str
    description: str
    settings: dict[str, object]
    fields: list[Field]
    status: str

    def row(self, seed: Seed) -> dict[str, object]:
        return {
            "id": seed.uuid("form", self.slug),
            "title": self.title,
            "slug": self.slug,
            "description": self.description,
            "fields": [field | {"order": order} for order, field in enumerate(self.fields)],
            "settings": self.settings,
            "status": self.status,
        }


def form_rows(seed: Seed) -> list[dict[str, object]]:
    return [each.row(seed) for each in (_intro_offer(), _liability_waiver(), _intake(), _retreat(), _street_fair())]


def _field(key: str, label: str, kind: str, *, required: bool = False, **more: object) -> Field:
    return {"key": key, "label": label, "type": kind, "required": required, **more}


def _shown_when(field_key: str, op: str, value: object = None) -> dict[str, object]:
    return {"field_key": field_key, "op": op, "value": value}


def _consent(key: str, label: str, policy: str, text: str) -> Field:
    return _field(
        key,
        label,
        "consent",
        required=True,
        consent_policy_slug=policy,
        consent_policy_version="2026-01",
        consent_label=text,
    )


def _intro_offer() -> Form:
    return Form(
        "intro-offer",
        "Three classes for $59",
        "Tell us what you are curious about and we will hold a place for you.",
        {
            "confirmation_message": "Thank you! Somebody from the front desk writes to you within a day.",
            "submit_label": "Hold my place",
            "create_lead": True,
            "notify_on_submit": True,
            "notification_emails": ["frontdesk@example.com"],
            "send_confirmation_email": True,
        },
        [
            _field("first_name", "First name", "text", required=True, placeholder="Robin"),
            _field("phone", "Mobile phone", "phone", help_text="Only for messages about your first visit."),
            _field(
                "location",
                "Where would you like to come?",
                "select",
                required=True,
                options=[{"value": "brooklyn", "label": "Brooklyn"}, {"value": "denver", "label": "Denver"}],
                options_layout="buttons",
            ),
            _field(
                "interests",
                "What are you curious about?",
                "checkbox_group",
                options=["Reformer", "Cycle", "Yoga", "Strength", "Recovery"],
            ),
            _field("newsletter", "Send me the monthly schedule", "checkbox"),
        ],
        "published",
    )


def _liability_waiver() -> Form:
    return Form(
        "liability-waiver",
        "Liability waiver",
        "Needed once, before your first aerial class.",
        {
            "confirmation_message": "All signed. See you in class.",
            "submit_label": "Sign",
            "allow_multiple": False,
            "send_confirmation_email": True,
        },
        [
            _field("full_name", "Full legal name", "text", required=True),
            _field("date_of_birth", "Date of birth", "date", required=True),
            _field("home_address", "Home address", "address"),
            _field("agreements", "Please read and agree", "section_break"),
            _consent(
                "risk", "Assumption of risk", "assumption-of-risk", "I take part at my own risk and in good health."
            ),
            _consent("release", "Release of liability", "liability-release", "I release the studio from liability."),
            _field(
                "signature",
                "Signature",
                "signature",
                required=True,
                signature_purpose="Assumption of risk and release of liability",
            ),
        ],
        "published",
    )


def _intake() -> Form:
    return Form(
        "movement-intake",
        "Movement intake",
        "Ten minutes that help your instructor to look after you from the first class.",
        {
            "confirmation_message": "Thank you. Your instructor reads this before your first class.",
            "submit_label": "Send to my instructor",
            "redirect_url": "https://www.example.com/north-loop/welcome",
        },
        [
            *(field | {"step_index": 0} for field in _intake_about_you()),
            *(field | {"step_index": 1} for field in [*_intake_health(), *_intake_health_details()]),
            *(field | {"step_index": 2} for field in _intake_goals()),
        ],
        "published",
    )


def _intake_about_you() -> list[Field]:
    return [
        _field("about_you", "About you", "section_break"),
        _field("preferred_name", "What should we call you?", "text", required=True),
        _field("age", "Age", "number", required=True, min=16, max=110),
        _field("emergency_name", "Emergency contact", "text", required=True),
        _field("emergency_phone", "Emergency contact's phone", "phone", required=True),
        _field("emergency_email", "Emergency contact's email", "email", placeholder="name@example.com"),
    ]


def _intake_health() -> list[Field]:
    return [
        _field("health", "Your health", "section_break"),
        _field(
            "conditions",
            "Does any of this apply to you?",
            "checkbox_group",
            options=[
                {"value": "injury", "label": "A current injury"},
                {"value": "surgery", "label": "Surgery in the last year"},
                {"value": "pregnancy", "label": "Pregnancy"},
                {"value": "none", "label": "None of these"},
            ],
            required=True,
        ),
        _field(
            "injury_details",
            "Where does it hurt, and since when?",
            "textarea",
            required=True,
            display_when=_shown_when("conditions", "in", ["injury", "surgery"]),
        ),
    ]


def _intake_health_details() -> list[Field]:
    return [
        _field(
            "pain_today",
            "Pain today, from 1 to 10",
            "rating",
            max_rating=10,
            display_when=_shown_when("injury_details", "is_not_empty"),
        ),
        _field(
            "due_date",
            "Due date",
            "date",
            required=True,
            display_when=_shown_when("conditions", "contains", "pregnancy"),
        ),
        _field(
            "clearance",
            "A doctor's note, if you have one",
            "file_upload",
            accept="application/pdf,image/jpeg,image/png",
            max_file_size=5 * 1024 * 1024,
            multiple=True,
            display_when=_shown_when("conditions", "not_contains", "none"),
        ),
    ]


def _intake_goals() -> list[Field]:
    return [
        _field("goals", "Your goals", "section_break"),
        _field(
            "experience",
            "How much have you done before?",
            "select",
            required=True,
            options=["New to all of it", "Some classes", "I train every week"],
            options_layout="select",
        ),
        _field(
            "hours_a_week",
            "Hours of training a week",
            "number",
            min=1,
            max=40,
            display_when=_shown_when("experience", "equals", "I train every week"),
        ),
        _field("motivation", "How motivated are you right now?", "rating", max_rating=5),
        _field("anything_else", "Anything else we should know?", "textarea"),
        _consent("health_data", "Health data", "health-privacy", "My instructors may read these answers."),
    ]


def _retreat() -> Form:
    return Form(
        "autumn-retreat",
        "Autumn retreat",
        "Three days of movement upstate. Dates to be confirmed.",
        {"confirmation_message": "You are on the list.", "max_submissions": 24},
        [
            _field("room", "Room", "select", required=True, options=["Shared", "Single"]),
            _field(
                "share_with",
                "Whom would you like to share with?",
                "text",
                display_when=_shown_when("room", "equals", "Shared"),
            ),
        ],
        "draft",
    )


def _street_fair() -> Form:
    return Form(
        "street-fair",
        "Street fair raffle",
        "Closed. The winners have been notified.",
        {"confirmation_message": "Good luck!", "allow_multiple": False},
        [_field("rating", "How did you like our booth?", "rating", required=True, max_rating=5)],
        "archived",
    )
