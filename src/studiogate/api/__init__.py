"""The partners' door."""

PREFIX = "/partner/v1"
