"""What is taught and who teaches it: class types and instructors."""

from typing import NamedTuple

from studiogate.demo.seed import Seed


class ClassType(NamedTuple):
    key: str
    name: str
    description: str
    beginner_safe: bool
    recovery: bool


class Instructor(NamedTuple):
    key: str
    name: str
    tagline: str
    tags: tuple[str, ...]
    active: bool = True


CLASS_TYPES = (
    ClassType(
        "reformer-foundations",
        "Reformer Foundations",
        "Springs, straps, footbar: learn the machine at an unhurried pace. Start here if the reformer is new to you.",
        beginner_safe=True,
        recovery=False,
    ),
    ClassType(
        "reformer-flow",
        "Reformer Flow",
        "A continuous full-body sequence on the reformer with quick spring changes. Please take Foundations first.",
        beginner_safe=False,
        recovery=False,
    ),
    ClassType(
        "cycle",
        "Rhythm Cycle",
        "Climbs, sprints and one long song in the dark. Shoes are free to borrow; arrive ten minutes early to set up.",
        beginner_safe=True,
        recovery=False,
    ),
    ClassType(
        "mat",
        "Mat Pilates",
        "Small movements, deep work and no equipment but a mat. Options are shown for every exercise.",
        beginner_safe=True,
        recovery=False,
    ),
    ClassType(
        "vinyasa",
        "Vinyasa",
        "Breath-led flow that builds towards one peak pose and takes its time on the way down.",
        beginner_safe=False,
        recovery=False,
    ),
    ClassType(
        "strength",
        "Kettlebell Strength",
        "Heavy, slow and well coached: hinge, squat, press and carry in small groups by experience.",
        beginner_safe=False,
        recovery=False,
    ),
    ClassType(
        "barre",
        "Barre",
        "High repetitions at the barre, light weights and a playlist that does half of the work.",
        beginner_safe=True,
        recovery=False,
    ),
    ClassType(
        "aerial",
        "Aerial Hammock",
        "Hang, invert and land softly in a fabric hammock. A signed waiver is needed before your first class.",
        beginner_safe=False,
        recovery=False,
    ),
    ClassType(
        "mobility",
        "Mobility",
        "Joint by joint from ankles to neck. Made for runners, desk workers and the day after leg day.",
        beginner_safe=True,
        recovery=True,
    ),
    ClassType(
        "restorative",
        "Restorative Yoga",
        "Five long poses, many blankets and very little to do. Eye pillows and tea are on us.",
        beginner_safe=True,
        recovery=True,
    ),
)

INSTRUCTORS = (
    Instructor("maya", "Maya Okafor", "Precise, warm, never in a hurry", ("reformer", "prenatal")),
    Instructor("tomas", "Tomás Rivera", "Counts in Spanish, corrects in whispers", ("reformer", "rehab")),
    Instructor("dev", "Dev Raman", "Rides to house, cools down to Bach", ("cycle", "endurance")),
    Instructor("grace", "Grace Lin", "The lunch hour's best-kept secret", ("mat", "barre")),
    Instructor("imani", "Imani Brooks", "Lift heavy, laugh often", ("strength", "kettlebell")),
    Instructor("noor", "Noor Haddad", "Permission to do less", ("yoga", "restorative", "vinyasa")),
    Instructor("sofia", "Sofia Petrov", "Former circus, current optimist", ("aerial", "flexibility")),
    Instructor("hana", "Hana Sato", "Small cues, big changes", ("reformer", "mat")),
    Instructor("caleb", "Caleb Ortiz", "Strong at altitude", ("strength", "running")),
    Instructor("priya", "Priya Nair", "Breath first, shape second", ("yoga", "mobility")),
    Instructor("willa", "Willa Jensen", "Ballet barre without the ballet fear", ("barre", "mobility")),
    Instructor("ana", "Ana Reyes", "Knows your bike by its squeak", ("cycle", "endurance")),
    Instructor("dele", "Dele Martin", "Form first, weight second", ("strength", "mobility")),
    Instructor("mira", "Mira Hollander", "Quiet voice, long holds", ("yoga", "mat")),
    Instructor("jonah", "Jonah Weiss", "On sabbatical until further notice", ("cycle",), active=False),
)


def class_type_rows(seed: Seed) -> list[dict[str, object]]:
    return [
        {
            "id": seed.uuid("class_type", kind.key),
            "name": kind.name,
            "description": kind.description,
            "beginner_safe": kind.beginner_safe,
            "recovery": kind.recovery,
            "policy": class_type_policy(seed, kind.key),
        }
        for kind in CLASS_TYPES
    ]


def class_type_policy(seed: Seed, class_type: str) -> dict[str, object] | None:
    """A reformer that stays empty costs a fee; nobody hangs from the ceiling without a signed waiver."""
    policies: dict[str, dict[str, object]] = {
        "reformer-flow": {"late_action": "fee_and_forfeit", "late_fee_amount": "15.00", "late_fee_currency": "USD"},
        "aerial": {"waiver_form_id": seed.uuid("form", "liability-waiver")},
    }
    return policies.get(class_type)


def instructor_rows(seed: Seed) -> list[dict[str, object]]:
    return [
        {
            "id": seed.uuid("instructor", instructor.key),
            "name": instructor.name,
            "tagline": instructor.tagline,
            "tags": list(instructor.tags),
            "active": instructor.active,
        }
        for instructor in INSTRUCTORS
    ]
