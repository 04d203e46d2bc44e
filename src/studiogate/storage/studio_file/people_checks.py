"""A person who was erased stays erased, and a duplicate that was merged stays merged: no file brings them back.

Every check selects its faults. They are faults with ``--overwrite`` too: a file that is older than an erasure holds
what had to be erased.
"""

from studiogate.domain.fields import ERASED_DOMAIN

_LEAVE_OUT = "leave the row out"


def _changed(table: str, erased: str) -> str:
    return f"""
        select c.n, c.place, 'was erased: {_LEAVE_OUT}' from change_{table} c
        join {table} t on t.studio_id = $1 and t.id = c.id where {erased}"""


def _of_erased_member(table: str) -> str:
    return f"""
        select c.n, c.place, 'belongs to a member who was erased: {_LEAVE_OUT}' from change_{table} c
        join members m on m.studio_id = $1 and m.id = c.member_id where m.erased_at is not null"""


EXTERNAL_IDS = f"""
    select c.n, c.place, 'belongs to a member who was erased: {_LEAVE_OUT}' from change_external_ids c
    join members m on m.studio_id = $1 and m.id = c.row_id
    where m.erased_at is not null and c.external_id not like 'erased:%'"""


def _merged(table: str, kind: str) -> str:
    return f"""
        select c.n, c.place, format('was merged into the member %s: {_LEAVE_OUT}', p.member_id) from change_{table} c
        join merged_people p on p.studio_id = $1 and p.id = c.id and p.kind = '{kind}' where not c.existing"""


def _address(column: str) -> str:
    return f"{column} = t.id::text || '@{ERASED_DOMAIN}'"


FILES = f"""
    select c.n, c.place, 'belongs to a submission that was erased: {_LEAVE_OUT}' from change_form_uploads c
    join form_submissions t on t.studio_id = $1 and t.id = c.submission_id where {_address("t.submitter_email")}"""

PEOPLE_CHECKS = (
    _changed("members", "t.erased_at is not null"),
    _changed("leads", _address("t.email")),
    _changed("form_submissions", _address("t.submitter_email")),
    FILES,
    _of_erased_member("memberships"),
    _of_erased_member("bookings"),
    EXTERNAL_IDS,
    _merged("members", "member"),
    _merged("leads", "lead"),
)
