"""Endpoints, and the deliveries to them."""
