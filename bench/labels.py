"""The names under which figures are stored: written by the run, looked up by targets, tables and charts."""

ONE_CLASS, FIFTY, TWO_HUNDRED = "GET one class", "GET 50 classes", "GET 200 classes"
OF_A_MEMBER = "GET bookings of a member"
MANY, HOT = "POST /bookings, many classes", "POST /bookings, one hot class"
BOOKING_ALONE, MIXED_DAY = "POST /bookings, one alone", "a mixed day"
CANCEL, LEAD, SUBMISSION = "DELETE /bookings", "POST /leads", "POST a form submission"

STUDIOGATE, BASELINE, TEXTBOOK, LIMIT = "studiogate", "baseline", "textbook", "limit"
MEMORY, COLD, WARM = "memory", "cold start", "warm start"
CROWD, CROWD_WAITS = "a crowd on one class", "a crowd that joins the waitlist"
WRONG_ANSWERS, LAST_ANSWER, BYSTANDERS = "unexpected answers", "the last answer", "reads of bystanders"
HELD, OTHER_CLASSES = "a class held elsewhere for 2 s", "p99 of bookings of other classes"
START, DELIVERIES = "studiogate up", "deliveries of events"
TODAY, CLASS_PAGE, SCHEDULE, MEMBERS = "console: Today", "console: Class", "console: Schedule", "console: Members"
LIVE = "console: a partner's booking appears"
PAGE_CPU, PAGE_BYTES, PAGE_ZIPPED = "CPU of a page", "size of a page", "gzipped size of a page"
# Imports of a large studio: a new one, the same file again, one that changes every row, a CSV file.
CREATES, SAME, CHANGES, CSV = "import", "import of the same", "import of changes", "import-csv"
SECONDS, CPU_SECONDS = "time", "CPU"


def studiogate(workers: int) -> str:
    return _with(STUDIOGATE, workers)


def apart(workers: int) -> str:
    return f"{studiogate(workers)}, client apart"


def crowded(studios: int) -> str:
    return f"{studiogate(1)} among {studios} studios"


def baseline(workers: int) -> str:
    return _with(BASELINE, workers)


def textbook(workers: int) -> str:
    return _with(TEXTBOOK, workers)


def kind(label: str) -> str:
    """Return the competitor that a label names, without the number of workers."""
    return label.partition(",")[0]


def _with(name: str, workers: int) -> str:
    return f"{name}, {workers} worker{'s' if workers > 1 else ''}"
