"""Endpoints that are told when something happens, and the deliveries to them."""
