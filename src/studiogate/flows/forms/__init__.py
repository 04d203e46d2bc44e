"""Save forms, and process submissions, uploads and mails."""
