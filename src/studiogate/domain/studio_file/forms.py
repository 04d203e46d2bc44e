"""The sections of forms: forms with their earlier versions, and submissions with their files."""

from studiogate.domain.forms.submissions import SubmissionStatus
from studiogate.domain.studio_file import documents
from studiogate.domain.studio_file import values as v
from studiogate.domain.studio_file.columns import CREATED_AT, ID, NAME, RECORD, TEXT
from studiogate.domain.studio_file.rows import Section, optional, required

# The form as it was at each version: submissions refer to the one that they were made with.
VERSIONS = Section("versions", (required("version", v.whole(1)), required("fields", documents.json_array), CREATED_AT))

FORMS = Section(
    "forms",
    (
        ID,
        required("title", NAME),
        required("slug", v.slug),
        optional("description", TEXT),
        optional("fields", documents.form_fields, "[]"),
        optional("settings", documents.form_settings, "{}"),
        optional("status", v.one_of(("draft", "published", "archived")), "draft"),
        # Of a new form; every change of a stored one raises its version.
        optional("version", v.whole(1), 1),
        *RECORD,
    ),
    frozenset({"updated_at"}),
    nested=(VERSIONS,),
)

# The content of a file lies beside the studio file, under the id.
FILES = Section(
    "files",
    (
        ID,
        required("field_key", v.text(v.MAX_INDEXED, 1)),
        required("filename", v.text(v.MAX_RESTORED_NAME, 1)),
        required("content_type", v.text(v.MAX_INDEXED, 1)),
        required("size", v.whole(1, v.MAX_FILE)),
        required("sha256", v.digest),
        CREATED_AT,
    ),
)

SUBMISSIONS = Section(
    "submissions",
    (
        ID,
        required("form_id", v.identifier),
        # Without it, the form's present version.
        optional("form_version", v.whole(1)),
        optional("submitter_name", v.name()),
        required("submitter_email", v.email),
        optional("data", documents.json_object, "{}"),
        optional("consents", documents.consents, "[]"),
        optional("status", v.one_of(SubmissionStatus), SubmissionStatus.PENDING.value),
        optional("verified", v.boolean, True),
        optional("member_id", v.identifier),
        optional("lead_id", v.identifier),
        *RECORD,
    ),
    frozenset({"updated_at"}),
    nested=(FILES,),
)
