"""The partner API."""

PREFIX = "/partner/v1"
