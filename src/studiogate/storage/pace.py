"""How quickly a line moves, and so how long whoever joins it now would wait.

Under overload a line grows until those in it give up, and all the work that was spent on them is lost. So nobody is
let into a line who would wait too long in it: refused at once they can try elsewhere or later, and everybody who is in
the line gets their turn.
"""

from studiogate import clock

PATIENCE_SECONDS = 0.5
# Of a measured step, so much goes into the pace; and a step that took longer was a pause, not the pace.
WEIGHT = 1 / 16
LONGEST_STEP = 0.1


class Pace:
    """Of one line. It is measured only while somebody waits: what is idle is not slow."""

    __slots__ = ("_last_step", "_seconds")

    def __init__(self) -> None:
        self._seconds = 0.0
        self._last_step: float | None = None

    def step(self, *, others_wait: bool) -> None:
        """Somebody's turn came, or ended."""
        now = clock.monotonic()
        if self._last_step is not None:
            self._seconds += WEIGHT * (min(now - self._last_step, LONGEST_STEP) - self._seconds)
        self._last_step = now if others_wait else None

    def is_in_vain(self, ahead: int) -> bool:
        """Whether it takes too long until so many have had their turn."""
        return ahead * self._seconds > PATIENCE_SECONDS
