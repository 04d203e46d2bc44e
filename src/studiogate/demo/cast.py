"""People with a part: those in the classes around the moment of loading, and those that the guide books with.

None of them comes to the timetable's classes by habit, so that what each of them holds and has booked is known.
"""

from typing import NamedTuple

from studiogate.demo.cohorts import Cohort

UNLIMITED = Cohort(1, "unlimited", months=1, ends_in=(14, 26), renewals=(2, 9), only_at="brooklyn")
TEN_CLASSES = Cohort(1, "pack-10", days=180, ends_in=(100, 135), only_at="brooklyn")
FIVE_CLASSES = Cohort(1, "pack-5", days=180, ends_in=(100, 135), only_at="brooklyn")
INTRO = Cohort(1, "intro-3", days=30, ends_in=(24, 28), only_at="brooklyn")
SUSPENDED = Cohort(1, "pack-10", days=180, ends_in=(100, 135), only_at="brooklyn", suspended=True)
PAUSED = Cohort(1, "unlimited", "paused", months=1, ends_in=(8, 25), renewals=(2, 9), only_at="brooklyn")
REFORMER = Cohort(1, "reformer-10", days=180, ends_in=(100, 135), only_at="brooklyn")
IN_DENVER = Cohort(1, "pack-10", days=180, ends_in=(100, 135), only_at="denver")


class Part(NamedTuple):
    """``guide`` is what the person shows in the guide to the demo studio; None for the people of the day."""

    name: str
    cohort: Cohort
    guide: str | None = None


OF_THE_DAY = (
    Part("Arjun Mehta", TEN_CLASSES),
    Part("Elena Marković", UNLIMITED),
    Part("Samuel Osei", UNLIMITED),
    Part("Aiko Yamada", TEN_CLASSES),
    Part("Declan Murphy", UNLIMITED),
    Part("Leïla Benali", TEN_CLASSES),
    Part("Mateusz Zieliński", FIVE_CLASSES),
    Part("Grace Adebayo", UNLIMITED),
    Part("Noah Lindholm", UNLIMITED),
    Part("Paloma Ruiz", TEN_CLASSES),
    Part("Jin-woo Seo", UNLIMITED),
    Part("Tamar Gelashvili", TEN_CLASSES),
    Part("Dylan Redbird", UNLIMITED),
    Part("Inês Carvalho", TEN_CLASSES),
    Part("Oluwaseun Bakare", UNLIMITED),
    Part("Nia Campbell", UNLIMITED),
    Part("Tomás Ortega", INTRO),
    Part("Hanna Lind", UNLIMITED),
    Part("Kofi Amankwah", FIVE_CLASSES),
    Part("Sofia Varga", UNLIMITED),
    Part("Wei Chen", UNLIMITED),
    Part("Marta Dvořák", TEN_CLASSES),
    Part("James Abara", UNLIMITED),
    Part("Lucía Gómez", TEN_CLASSES),
    Part("Freya Nilsen", TEN_CLASSES),
    Part("Rafael Pinto", UNLIMITED),
    Part("Ada Moss", FIVE_CLASSES),
    Part("Ben Fischer", TEN_CLASSES),
    Part("Marisol Vega", IN_DENVER),
    Part("Cody Lindstrom", IN_DENVER),
    Part("Aponi Begay", IN_DENVER),
    Part("Ruth Alvarado", IN_DENVER),
    Part("Trent Gallegos", IN_DENVER),
)

OF_THE_GUIDE = (
    Part("Derek Vance", SUSPENDED, "suspended"),
    Part("Tessa Lang", Cohort(1, role="user", only_at="brooklyn"), "without_membership"),
    Part("Milo Ferrante", PAUSED, "paused"),
    Part("Ingrid Bauer", REFORMER, "reformer_only"),
    Part("Otto Lindgren", FIVE_CLASSES, "spent"),
    Part("Carla Mendes", TEN_CLASSES, "busy"),
    Part("Felix Amato", TEN_CLASSES, "waiting"),
    Part("Bea Holloway", TEN_CLASSES, "on_time"),
    Part("Curtis Boyd", TEN_CLASSES, "late"),
    Part("Dana Whitlow", TEN_CLASSES, "late_with_fee"),
    Part("Emil Dahl", TEN_CLASSES, "late_with_both"),
    Part("Fay Nakagawa", TEN_CLASSES, "graced"),
    Part("Gil Moreau", TEN_CLASSES, "late_for_free"),
    Part("Hedda Krause", TEN_CLASSES, "gives_way"),
    Part("Ida Castell", TEN_CLASSES, "leaves_waitlist"),
    Part("Jules Arnaud", TEN_CLASSES, "cancelled"),
    Part("Kaya Reed", UNLIMITED, "unlimited"),
)

PARTS = OF_THE_DAY + OF_THE_GUIDE
