"""Find members by what somebody at the desk knows of them, along indexes.

Every word must occur in the name, email or phone. The longest word is looked up in the indexes, as the beginning of a
last name, a first name, the last part of a double name or an email; digits are looked up as the end of a phone number,
because callers leave out the country code. Case and accents do not matter. Results come in this order, page by page.

If they leave room on the first page, similar names follow: each word may have one letter more, less, wrong or swapped,
or one of them is the beginning of a name (``name_keys`` of the schema).
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from studiogate.domain.access import Access
from studiogate.domain.ids import parse_id
from studiogate.storage.db.pool import Connection, Record
from studiogate.storage.member_list import COLUMNS, JOINS, SUSPENDED, MemberFilters, comes_to
from studiogate.storage.operator_lists import LISTS, listed
from studiogate.storage.paging import ListPage

MAX_WORDS = 8
MAX_CHARACTERS = 200
FEWEST_DIGITS = 4
WHOLE_NUMBER = 7
MAX_SIMILAR_WORDS = 3
FEWEST_LETTERS = 4
# As name_keys divides words, and the shortest that it gives keys to.
_BETWEEN = re.compile("[-'\u2019.]")
FEWEST_LETTERS_OF_KEY = 3
# Among many who have a similar name, those that are sorted and shown: more of the name finds the others.
SIMILAR_READ = 200
_PHONE = re.compile(r"\+?[0-9 ()./-]+", re.ASCII)
_PLACE = re.compile(r"([0-4])\.(.+)", re.ASCII)

SHOWN = ", ".join(f'{sql} as "{column}"' for column, sql in LISTS["member"].columns.items())
BY_ID = f"select {SHOWN} from members t where t.studio_id = $1 and t.id = $2"
# The last character of Unicode sorts after whatever follows a prefix.
LAST = "\U0010ffff"

# What a word is looked up in: the indexed text, the parameter, and the condition of a partial index. The order is that
# of the results.
WAYS = (
    ('folded({}.last_name) collate "C"', "folded($3::text)", "true"),
    ('folded({}.first_name) collate "C"', "folded($3::text)", "true"),
    ("folded(substring({0}.last_name from '[^ -]+$')) collate \"C\"", "folded($3::text)", "{0}.last_name ~ '[ -]'"),
    ('{}.email collate "C"', "lower($3::text)", "true"),
    ('reverse({}.phone) collate "C"', "$4::text", "true"),
)
# $5 are all words.
HAS_WORDS = """
    not exists (select from unnest($5::text[]) word
                where strpos(folded(concat_ws(' ', {0}.first_name, {0}.last_name, {0}.email, {0}.phone)),
                             folded(word)) = 0)"""


def _starts(way: int, alias: str) -> str:
    """Return the condition that a member is found this way. Not LIKE: a prepared plan could not use the index."""
    text, given, condition = (each.format(alias) for each in WAYS[way])
    return f"{text} >= {given} and {text} < ({given} || '{LAST}') and {condition}"


_FOUND = "select m.id from members m where m.studio_id = $1 and {}"
# For commands: $1 studio, $2 limit, $3 the longest word, $4 the reversed digits or null, $5 all words.
BY_WORDS = f"""
    select {SHOWN} from members t
    join ({" union ".join(_FOUND.format(_starts(way, "m")) for way in range(len(WAYS)))}) found on found.id = t.id
    where t.studio_id = $1 and {HAS_WORDS.format("t")}
    order by t.last_name, t.first_name, t.id limit $2"""

# For pages: also $6 the last member of the page before, $7 a status, $8 a location, $9 the permitted locations.
FILTERED = {
    None: "$7::text is null",
    "status": """(select true from memberships s
                  where s.studio_id = $1 and s.member_id = m.id and s.status = $7::text limit 1) is true""",
    SUSPENDED: "m.suspended and $7::text is not null",
}
LOCATED = {False: "$8::uuid is null", True: comes_to("$8")}


def _way(way: int, beyond: bool, conditions: str) -> str:
    """Return SQL for members who are found this way and not by one before, in order, beyond member $6."""
    text = WAYS[way][0]
    others = "".join(f" and ({_starts(each, 'm')}) is not true" for each in range(way))
    after = ""
    if beyond:
        last = f"select {text.format('c')}, c.id from members c where c.studio_id = $1 and c.id = $6::uuid"
        after = f"and ({text.format('m')}, m.id) > ({last})"
    return f"""
        (select {way} as way, {text.format("m")} as text, m.id from members m
         where m.studio_id = $1 and {_starts(way, "m")}{others} {after}
           and m.erased_at is null and {HAS_WORDS.format("m")} and {conditions}
         order by 2, 3 limit $2)"""


def _page(start: int | None, conditions: str) -> str:
    """Return the statement of a page that begins in this way (None: at the start)."""
    ways = [_way(way, way == start, conditions) for way in range(start or 0, len(WAYS))]
    return f"""
        select {COLUMNS.format("$9")}, false as similar, found.way from ({" union all ".join(ways)}) found
        join members m on m.studio_id = $1 and m.id = found.id {JOINS}
        where $2::integer > 0 and num_nonnulls($3::text, $4::text, $6::uuid) >= 0
        order by found.way, found.text, found.id limit $2"""


ONE = f"""
    select {COLUMNS.format("$3")}, false as similar from members m {JOINS}
    where m.studio_id = $1 and m.id = $2 and m.erased_at is null"""
PAGES = {
    (start, status, located): _page(start, f"{condition} and {place}")
    for start in (None, *range(len(WAYS)))
    for status, condition in FILTERED.items()
    for located, place in LOCATED.items()
}


_NAME_KEYS = "name_keys(m.studio_id, folded(m.name)) && name_keys($1, folded(${}::text))"
# The ways in which a word that is being typed begins a name.
_BEGINNINGS = [
    f"{text.format('m')} >= folded(${{0}}::text) and {text.format('m')} < (folded(${{0}}::text) || '{LAST}')"
    for text, _, _ in WAYS[:2]
]


def _similar(words: int, conditions: str) -> str:
    """Return the statement for names that are similar to so many words, $3 and following; $6 are members to leave out.
    The keys hold the studio. No index answers "is not distinct from": plans that are made while there are few members
    would otherwise read all of the studio."""
    given = range(3, 3 + words)
    branches = [" and ".join(_NAME_KEYS.format(each) for each in given)]
    for begun in given if words > 1 else ():
        others = "".join(f" and {_NAME_KEYS.format(each)}" for each in given if each != begun)
        branches += [each.format(begun) + others for each in _BEGINNINGS]
    found = " union ".join(
        f"""(select m.id from members m
             where m.studio_id is not distinct from $1 and {each} and m.erased_at is null
               and m.id <> all($6::uuid[]) and {conditions}
             limit {SIMILAR_READ})"""
        for each in branches
    )
    return f"""
        select {COLUMNS.format("$9")}, true as similar
        from (select id from ({found}) each limit {SIMILAR_READ}) found
        cross join lateral (select * from members m where m.studio_id = $1 and m.id = found.id offset 0) m {JOINS}
        where num_nonnulls($3::text, $4::text, $5::text) > 0
        order by folded(m.last_name) collate "C", folded(m.first_name) collate "C", m.id limit $2"""


SIMILAR = {
    (words, status, located): _similar(words, f"{condition} and {place}")
    for words in range(1, MAX_SIMILAR_WORDS + 1)
    for status, condition in FILTERED.items()
    for located, place in LOCATED.items()
}


class _Words(NamedTuple):
    longest: str
    digits: str | None
    all: list[str]


async def find(connection: Connection, access: Access, text: str, limit: int) -> Sequence[Record]:
    """Return the members that the text describes; without a text, the first ones by name. If the indexes find nobody,
    all members of the studio are searched for parts of words."""
    text = text.strip()[:MAX_CHARACTERS]
    member_id = parse_id(text)
    if member_id is not None:
        return await connection.fetch(BY_ID, access.studio_id, member_id)
    found = await connection.fetch(BY_WORDS, access.studio_id, limit, *_words(text)) if text else []
    return found or await listed(connection, access, "member", {"text": text}, limit)


async def search(
    connection: Connection, access: Access, text: str, filters: MemberFilters, page: tuple[str | None, int]
) -> ListPage:
    """Return a page of the members that the text describes; ``page`` is the ``next`` of the page before and the
    number of members. Similar names have ``similar``. Erased members are not found."""
    place, limit = page
    text = text.strip()[:MAX_CHARACTERS]
    member_id = parse_id(text)
    if member_id is not None:
        return ListPage(await connection.fetch(ONE, access.studio_id, member_id, access.location_ids))
    words = _words(text)
    start, last = _read_place(place)
    kind = filters.status if filters.status in (None, SUSPENDED) else "status"
    statement = PAGES[start, kind, filters.location_id is not None]
    others = (filters.status, filters.location_id, access.location_ids)
    rows = list(await connection.fetch(statement, access.studio_id, limit + 1, *words, last, *others))
    if len(rows) <= limit:
        likely = [] if last else _similar_words(words)
        if likely and len(rows) < limit:
            statement = SIMILAR[len(likely), kind, filters.location_id is not None]
            given = (*likely, *[None] * (MAX_SIMILAR_WORDS - len(likely)), [each["id"] for each in rows], *others)
            rows += await connection.fetch(statement, access.studio_id, limit - len(rows), *given)
        return ListPage(rows)
    return ListPage(rows[:limit], f"{rows[limit - 1]['way']}.{rows[limit - 1]['id']}")


def _read_place(place: str | None) -> tuple[int | None, str | None]:
    """Return the way and the member at which a page continues; a place that is none is the start."""
    found = _PLACE.fullmatch(place or "")
    member_id = parse_id(found[2]) if found else None
    return (None, None) if found is None or member_id is None else (int(found[1]), member_id)


def _words(text: str) -> _Words:
    digits = _digits(text)
    words = [digits] if digits else text.split()[:MAX_WORDS]
    return _Words(max(words, key=len, default=""), digits and digits[::-1], words)


def _similar_words(words: _Words) -> list[str]:
    """Return the words for which similar names are looked up: none for a number, an email or a few letters."""
    if words.digits or "@" in words.longest:
        return []
    parts = [part for word in words.all for part in _BETWEEN.split(word) if len(part) >= FEWEST_LETTERS_OF_KEY]
    return sorted(parts, key=len, reverse=True)[:MAX_SIMILAR_WORDS] if sum(map(len, parts)) >= FEWEST_LETTERS else []


def _digits(text: str) -> str | None:
    """Return the digits of a phone number as they end the stored one; None for others. A number that is long enough to
    be a whole one is taken without its trunk zero."""
    digits = re.sub(r"[^0-9]", "", text) if _PHONE.fullmatch(text) else ""
    digits = digits.lstrip("0") if len(digits) >= WHOLE_NUMBER else digits
    return digits if len(digits) >= FEWEST_DIGITS else None
