"""Who works at a studio: what each role may do (``roles``), and how an account signs in."""

from studiogate.domain.staff.roles import (
    DANGEROUS,
    MAX_STAFF,
    PERMISSIONS,
    UNLIMITED,
    Channel,
    FormToken,
    Grant,
    Known,
    Owner,
    Permission,
    Role,
    Staff,
    grant_faults,
    refusal_without_owner,
)

__all__ = [
    "DANGEROUS", "MAX_STAFF", "PERMISSIONS", "UNLIMITED", "Channel", "FormToken", "Grant", "Known", "Owner",
    "Permission", "Role", "Staff", "grant_faults", "refusal_without_owner",
]  # fmt: skip
