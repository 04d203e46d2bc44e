"""Which characters a name may contain: names of people, titles of forms and classes, names of keys.

A name is shown in lists, mails and logs beside other text. A control character breaks the line, a bidirectional
control reverses the text that follows, and an invisible character makes two different names look the same."""

import re
import unicodedata

MAX_NAME = 200
MAX_REASON = 500
MAX_SLUG_FROM_NAME = 60

# Control characters, line separators, and lone surrogates, which UTF-8 cannot encode; bidirectional controls (U+061C,
# U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069); invisible characters (soft hyphen, zero width space, word joiner,
# fillers, byte order mark, tags).
_NEVER = (
    r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u206a-\u206f\u2800\u3164\ufeff\uffa0"
    r"\ufff0-\ufffb\U000e0000-\U000e0fff"
)
# Persian and Indic names use the zero width (non-)joiner, and it joins emoji: between two visible characters it has a
# meaning, anywhere else it is merely invisible.
_JOINER = r"\u200c\u200d"
_VISIBLE = rf"[^\s{_JOINER}]"
# Begins with one set of characters, so that a search looks for these alone.
_REFUSED = re.compile(rf"[{_NEVER}{_JOINER}](?:(?<=[{_NEVER}])|(?<!{_VISIBLE}[{_JOINER}])|(?!{_VISIBLE}))")
# PostgreSQL cannot store U+0000.
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def name_fault(text: str, maximum: int = MAX_NAME) -> str | None:
    """Return what is wrong with a name, worded to follow "must" or "should". Length is checked before characters."""
    if len(text) > maximum:
        return f"have at most {maximum} characters"
    if _REFUSED.search(text):
        return "be a line without control characters, text direction marks and invisible characters"
    return None


def reason_fault(reason: str) -> str | None:
    """Return what is wrong with a reason, worded to follow "must". It is one line, shown beside other text."""
    return name_fault(reason, MAX_REASON) if reason.strip() else "not be empty"


def text_fault(text: str, maximum: int) -> str | None:
    """Return what is wrong with free text of several lines, worded to follow "must"."""
    if not 1 <= len(text.strip()) <= len(text) <= maximum:
        return f"have 1 to {maximum} characters"
    if _UNSTORABLE.search(text):
        return "not contain U+0000 or characters that cannot be encoded"
    return None


def slug_of(name: str) -> str:
    """Return a slug made from the ASCII letters and digits of a name; nothing if it has none."""
    plain = unicodedata.normalize("NFKD", name[:MAX_NAME]).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_SLUG_FROM_NAME].strip("-")


def visible_text(text: str) -> str:
    """Return a text for a terminal: each character that names must not contain is replaced by its escape sequence."""
    return _REFUSED.sub(lambda each: each[0].encode("unicode_escape", "surrogatepass").decode(), text)


def cleaned_name(text: str) -> str:
    """Return a visitor's name truncated to the maximum length, with each refused character replaced by a space."""
    return _REFUSED.sub(" ", text[:MAX_NAME]).strip()
