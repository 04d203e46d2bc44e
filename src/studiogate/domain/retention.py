"""How long data is kept that is deleted as time passes.

The times are here because several statements need each: those that still use the data, one that finds the studios with
data to delete, and one that deletes it. Events, the audit log and the request log have theirs in their own files."""

IDEMPOTENCY_KEY_HOURS = 24  # from the completion of the first request
WAITING_UPLOAD_HOURS = 24  # files that no submission has named
MAIL_DAYS = 7  # mails that were sent or given up
