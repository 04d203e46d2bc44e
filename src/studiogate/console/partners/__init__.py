"""Partners: their keys, their requests, the event log, and the webhook endpoints that it is delivered to."""
