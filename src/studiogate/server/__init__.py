"""The processes of a service: supervisor, API process, worker process, HTTP protocol, embedded PostgreSQL."""
