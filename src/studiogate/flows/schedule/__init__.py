"""Flows of the studio's side for the schedule, one module per kind of row."""
