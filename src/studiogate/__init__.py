"""Studiogate: the partner API of a fitness studio."""

API_VERSION = "2026-08-02"
