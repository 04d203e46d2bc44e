"""How long a test waits for what must happen: far longer than it takes on a slow and busy machine. It is never part of
what is tested; a test that waits so long has failed."""

LONG = 200.0
LONG_MILLISECONDS = LONG * 1000
