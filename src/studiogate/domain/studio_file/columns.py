"""Members shared by several sections."""

from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.rows import optional, required

ID = required("id", v.identifier)
POLICY = optional("policy", v.policy, "{}")
CREATED_AT = optional("created_at", v.instant)
TEXT = v.text(v.MAX_TEXT)
NAME = v.name(least=1)
