"""SQL that completes a stored form definition for responses: every field of the specification, instants in UTC.

Forms are completed by ``domain.forms.canonical`` when they are saved and are then returned unchanged. The statements
here are for rows that were written before this existed, or by an older process beside this one: ``completed_version``
says which version of a form was completed. A test compares them with the domain's functions on random definitions.
"""

from studiogate.domain.forms.canonical import FIELD_DEFAULTS, INSTANTS
from studiogate.domain.forms.settings import STUDIO_ONLY
from studiogate.domain.json_values import json_text

COMPLETED = "f.completed_version is not distinct from f.version"
_DEFAULTS = ", ".join(
    f"('{name}', '{json_text(value)}', {place})" for place, (name, value) in enumerate(FIELD_DEFAULTS.items(), 10_000)
)

# A field's members in their order, then the missing ones. A rule without a value gets one.
_FIELD = f"""
    select ('{{' || string_agg(to_json(m.name)::text || ':' || m.value, ',' order by m.place) || '}}')::json from (
        select g.name,
               case when json_typeof(g.value) = 'null' then coalesce(d.value, 'null')
                    when g.name = 'display_when' and json_typeof(g.value) = 'object' and g.value -> 'value' is null
                    then left(rtrim(g.value::text), -1)
                         || case when exists (select json_object_keys(g.value)) then ',' else '' end || '"value":null}}'
                    else g.value::text end as value,
               g.place
        from json_each(e.field) with ordinality g(name, value, place)
        left join (values {_DEFAULTS}) d(name, value, place) on d.name = g.name
        union all
        select d.name, d.value, d.place from (values {_DEFAULTS}) d(name, value, place)
        where d.name <> all (array(select json_object_keys(e.field)))
    ) m"""

FIELDS = f"""
    case when {COMPLETED} then f.fields else (
        select coalesce(json_agg(case when json_typeof(e.field) = 'object' then ({_FIELD}) else e.field end
                                 order by e.place), '[]')
        from json_array_elements(f.fields) with ordinality e(field, place)
    ) end as fields"""

# Matches only what PostgreSQL parses without an error; any other stored value is returned unchanged.
_DATE = (
    r"([1-9]\d{3}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8]))"
    r"|[1-9]\d(0[48]|[2468][048]|[13579][26])-02-29)"
)
_TIME = r"[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?([Zz]|[+-](0\d|1[0-4]):[0-5]\d)"
_NAMES = ", ".join(f"'{name}'" for name in INSTANTS)
_HIDDEN = ", ".join(f"'{name}'" for name in STUDIO_ONLY)


def _rebuilt_settings(condition: str) -> str:
    return f"""
        select coalesce('{{' || string_agg(to_json(g.name)::text || ':' || case
                   when g.name in ({_NAMES}) and g.value #>> '{{}}' ~ '^{_DATE}{_TIME}$'
                   then to_json(upper(g.value #>> '{{}}')::timestamptz)::text
                   else g.value::text end, ',' order by g.place) || '}}', '{{}}')::json
        from json_each(f.settings) with ordinality g(name, value, place) where {condition}"""


SETTINGS = f"case when {COMPLETED} then f.settings else ({_rebuilt_settings('true')}) end as settings"
"""All settings, for keys that manage forms."""

SHARED_SETTINGS = f"({_rebuilt_settings(f'g.name not in ({_HIDDEN})')}) as settings"
"""The settings that every reader of the form sees."""
