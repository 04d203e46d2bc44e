"""The fields of forms: forms with their earlier versions, and submissions with their files."""

from studiogate.domain.fields import (
    CREATED_AT,
    ERASED_EMAIL,
    ID,
    NAME,
    RECORD,
    TEXT,
    documents,
    optional,
    required,
    section,
)
from studiogate.domain.fields import readers as v
from studiogate.domain.forms.states import FormStatus, SubmissionStatus

# The form as it was at each version: submissions refer to the one that they were made with.
VERSIONS = section(
    "versions",
    required("version", v.whole(1), personal=False),
    required("fields", documents.json_array, personal=False),
    CREATED_AT,
)

FORMS = section(
    "forms",
    ID,
    required("title", NAME, personal=False),
    required("slug", v.slug, personal=False),
    optional("description", TEXT, personal=False),
    optional("fields", documents.form_fields, "[]", personal=False),
    optional("settings", documents.form_settings, "{}", personal=False),
    optional("status", v.one_of(FormStatus), FormStatus.DRAFT.value, personal=False),
    # Of a new form; every change of a stored one raises its version.
    optional("version", v.whole(1), 1, personal=False),
    *RECORD,
    derived=frozenset({"updated_at"}),
    nested=(VERSIONS,),
)

# The content of a file lies beside the studio file, under the id.
FILES = section(
    "files",
    ID,
    required("field_key", v.text(v.MAX_INDEXED, 1), personal=False),
    required("filename", v.text(v.MAX_RESTORED_NAME, 1), personal=True, erased="erased"),
    required("content_type", v.text(v.MAX_INDEXED, 1), personal=False),
    required("size", v.whole(1, v.MAX_FILE), personal=False),
    required("sha256", v.digest, personal=False),
    CREATED_AT,
)

SUBMISSIONS = section(
    "submissions",
    ID,
    required("form_id", v.identifier, personal=False),
    # Without it, the form's present version.
    optional("form_version", v.whole(1), personal=False),
    optional("submitter_name", v.name(), personal=True),
    required("submitter_email", v.email, personal=True, erased=ERASED_EMAIL),
    optional("data", documents.json_object, "{}", personal=True),
    optional("consents", documents.consents, "[]", personal=True),
    optional("status", v.one_of(SubmissionStatus), SubmissionStatus.PENDING.value, personal=False),
    optional("verified", v.boolean, True, personal=False),
    optional("member_id", v.identifier, personal=False),
    optional("lead_id", v.identifier, personal=False),
    *RECORD,
    derived=frozenset({"updated_at"}),
    nested=(FILES,),
)
