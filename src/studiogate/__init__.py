"""Studiogate: the partner interface of a fitness studio."""

API_VERSION = "2026-08-02"
