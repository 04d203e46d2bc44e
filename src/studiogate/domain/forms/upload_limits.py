"""Limits on the size of a file, and on the number and total size of files per submission, form and studio."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from studiogate.domain.forms.answers import DATA, named_uploads
from studiogate.domain.forms.definition import FieldType
from studiogate.domain.refusals import Code, Fault, Refusal

MAX_FILES_PER_SUBMISSION = 20
MAX_FILES_PER_FORM = 20_000
MAX_FILES_PER_STUDIO = 100_000
MEBIBYTE = 1024 * 1024
DEFAULT_MAX_FILE_SIZE = 10 * MEBIBYTE


def size_limit(field: Mapping[str, object]) -> int:
    given = field.get("max_file_size")
    return given if isinstance(given, int) else DEFAULT_MAX_FILE_SIZE


def file_keys(fields: Sequence[Mapping[str, object]]) -> list[str]:
    return [str(field.get("key")) for field in fields if field.get("type") == FieldType.FILE_UPLOAD]


def too_many_files(fields: Sequence[Mapping[str, object]], answers: Mapping[str, object]) -> Fault | None:
    """Return a fault at the field with which the answers exceed the files allowed per submission, or None."""
    count = 0
    for field in fields:
        count += len(named_uploads([field], answers))
        if count > MAX_FILES_PER_SUBMISSION:
            message = f"A submission takes at most {MAX_FILES_PER_SUBMISSION} files"
            return Fault((*DATA, str(field.get("key"))), "too_many_files", message)
    return None


@dataclass(frozen=True, slots=True)
class UploadUsage:
    form_files: int
    form_bytes: int
    studio_files: int
    studio_bytes: int


@dataclass(frozen=True, slots=True)
class UploadQuota:
    """The maximum total size of the files of one form and of one studio."""

    form_bytes: int
    studio_bytes: int

    def refusal(self, usage: UploadUsage, size: int) -> Refusal | None:
        """Return a refusal for the first limit that another file of ``size`` bytes would exceed, or None."""
        for limit, after, maximum in (
            ("form_upload_bytes", usage.form_bytes + size, self.form_bytes),
            ("form_upload_files", usage.form_files + 1, MAX_FILES_PER_FORM),
            ("studio_upload_bytes", usage.studio_bytes + size, self.studio_bytes),
            ("studio_upload_files", usage.studio_files + 1, MAX_FILES_PER_STUDIO),
        ):
            if after > maximum:
                return Refusal(Code.LIMIT_REACHED, {"limit": limit, "maximum": maximum}, "file")
        return None
