"""Webhook endpoints and the deliveries to them."""
