"""The settings of the embedded PostgreSQL, and who may connect to it."""

from studiogate.server.postgres.locks import PORT
from studiogate.storage.db.service_role import NAME, ROLE

ACCESS_RULES = "studiogate_hba.conf"
ACCESS = f"local all {ROLE} trust"  # no other role, in particular no superuser: none is needed while the server runs

SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    # Nothing replicates this server, so a restore need not write its rows to the log as well as to their tables.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "fsync": "on",
    "synchronous_commit": "on",
    "jit": "off",
    # A new studio grows quickly: its statements should be planned with current statistics, not with defaults.
    "autovacuum_naptime": "10s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",
    "log_checkpoints": "off",
    "log_min_duration_statement": "1000",
    "log_parameter_max_length": "0",  # Parameters contain people's names and addresses.
    "log_parameter_max_length_on_error": "0",
    "log_error_verbosity": "terse",  # Omits details such as "Key (email)=(…) already exists".
    "cluster_name": NAME,
}
