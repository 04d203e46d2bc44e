"""Members shared by several sections."""

from studiogate.domain.studio_file import documents
from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.rows import optional, required

ID = required("id", v.identifier)
POLICY = optional("policy", documents.policy, "{}")
CREATED_AT = optional("created_at", v.instant)
# What a row was at when it was exported; see ``storage.studio_file.checks``.
REVISION = optional("revision", v.whole(1))
RECORD = (CREATED_AT, REVISION)
TEXT = v.text(v.MAX_TEXT)
NAME = v.name(least=1)
