"""The names under which figures are kept: written by the run, found again by targets, tables and charts."""

LIMIT = "limit"
STUDIOGATE = "studiogate"
MEMORY, COLD, WARM = "memory", "cold start", "warm start"
START, DELIVERIES = "studiogate up", "deliveries of events"


def studiogate(workers: int) -> str:
    return _with(STUDIOGATE, workers)


def crowded(studios: int) -> str:
    return f"{studiogate(1)} among {studios} studios"


def floor(workers: int) -> str:
    return _with("floor", workers)


def textbook(workers: int) -> str:
    return _with("textbook", workers)


def kind(label: str) -> str:
    """Whose figure it is, whatever the number of workers."""
    return label.partition(",")[0]


def _with(name: str, workers: int) -> str:
    return f"{name}, {workers} worker{'s' if workers > 1 else ''}"
