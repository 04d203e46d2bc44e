"""How long data is kept that several statements use, find and delete. Events and logs have their times in their own
files."""

IDEMPOTENCY_KEY_HOURS = 24  # from the completion of the first request
WAITING_UPLOAD_HOURS = 24  # files that no submission has named
MAIL_DAYS = 7  # mails that were sent or given up
