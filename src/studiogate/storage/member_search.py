"""Find members by what somebody at the desk knows of them, along indexes.

Every word must occur in the name, email, phone or id. The longest word is looked up in the indexes first, as the
beginning of a first name, a last name or an email; digits are looked up as the end of a phone number, because callers
leave out the country code. Only if that finds nobody, all members of the studio are searched for parts of words.
"""

import re
from collections.abc import Sequence

from studiogate.domain.access import Access
from studiogate.domain.ids import parse_id
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.operator_lists import LISTS, listed

MOST_WORDS = 8
MOST_CHARACTERS = 200
FEWEST_DIGITS = 4
_PHONE = re.compile(r"\+?[0-9 ()./-]+", re.ASCII)

SHOWN = ", ".join(f'{sql} as "{column}"' for column, sql in LISTS["member"].columns.items())
BY_ID = f"select {SHOWN} from members t where t.studio_id = $1 and t.id = $2"
# The last character of Unicode sorts after whatever follows a prefix.
LAST = "\U0010ffff"


def _starts(column: str, placeholder: str) -> str:
    """Return the condition that a column starts with a parameter. Not LIKE: a prepared plan could not use the index."""
    return f"{column} ~>=~ lower({placeholder}) and {column} ~<~ (lower({placeholder}) || '{LAST}')"


# $1 studio, $2 the longest word, $3 the reversed digits or null, $4 all words, $5 the limit.
BY_WORDS = f"""
    select {SHOWN} from members t
    join (
        select id from members where studio_id = $1 and {_starts("lower(first_name)", "$2")}
        union select id from members where studio_id = $1 and {_starts("lower(last_name)", "$2")}
        union select id from members where studio_id = $1 and {_starts("email", "$2")}
        union select id from members where studio_id = $1 and {_starts("reverse(phone)", "$3")}
    ) found on found.id = t.id
    where t.studio_id = $1 and not exists (
        select from unnest($4::text[]) word
        where strpos(lower(concat_ws(' ', t.first_name, t.last_name, t.email, t.phone)), lower(word)) = 0)
    order by t.last_name, t.first_name, t.id limit $5"""


async def find(connection: Connection, access: Access, text: str, limit: int) -> Sequence[Record]:
    """Return the members that the text describes, at most ``limit``; without a text, the first ones by name."""
    text = text.strip()[:MOST_CHARACTERS]
    member_id = parse_id(text)
    if member_id is not None:
        return await connection.fetch(BY_ID, access.studio_id, member_id)
    found = await _by_words(connection, access, text, limit) if text else []
    return found or await listed(connection, access, "member", {"text": text}, limit)


async def _by_words(connection: Connection, access: Access, text: str, limit: int) -> Sequence[Record]:
    digits = _digits(text)
    words = [digits] if digits else text.split()[:MOST_WORDS]
    arguments = (max(words, key=len), digits and digits[::-1], words, limit)
    return await connection.fetch(BY_WORDS, access.studio_id, *arguments)


def _digits(text: str) -> str | None:
    """Return the digits of a phone number as they end the stored one, without a leading trunk zero; None for others."""
    digits = re.sub(r"[^0-9]", "", text).lstrip("0") if _PHONE.fullmatch(text) else ""
    return digits if len(digits) >= FEWEST_DIGITS else None
