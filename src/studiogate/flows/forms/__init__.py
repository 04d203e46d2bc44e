"""Saving forms, and what people do with them."""
