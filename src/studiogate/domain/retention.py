"""How long data is kept. Housekeeping deletes what is older; the values are part of its statements."""

AUDIT_DAYS = 400
EVENT_DAYS = 30
REQUEST_DAYS = 7  # of keys, in the request log
MAIL_DAYS = 7  # mails that were sent or given up
FORM_TOKEN_DAYS = 2
SESSION_DAYS = 30  # sessions of staff, from when they would have ended
STAFF_LINK_DAYS = 7  # invitations, new passwords and sign-in links, from their end
ATTEMPT_DAYS = 1  # attempts to sign in
IDEMPOTENCY_KEY_HOURS = 24  # from the completion of the first request
WAITING_UPLOAD_HOURS = 24  # files that no submission has named
UNUSED_PICTURE_HOURS = 24  # pictures that no class type and no instructor has any more
