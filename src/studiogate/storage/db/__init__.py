"""Connections, queues, load shedding and migrations."""
