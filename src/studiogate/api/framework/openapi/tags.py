"""OpenAPI tags: the words of the architecture, described for partners."""

TAGS = {
    "keys": "The key that you send.",
    "studio": "The studio itself, its timezone and its locations.",
    "schedule": "Rooms, class types, instructors, and classes with live availability and spots.",
    "catalog": "What the studio sells, with prices.",
    "forms": "Forms with their fields and rules, and what people submitted.",
    "leads": "People who showed interest: one lead per email.",
    "members": "Members' profiles and their memberships.",
    "bookings": "Places in classes, the waitlist and cancellations.",
    "purchases": "What members bought: read-only history without payment data.",
    "events": "The log of what happened, in order.",
    "webhooks": "Endpoints that receive events, and the deliveries to them.",
}
