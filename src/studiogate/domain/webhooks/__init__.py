"""Webhooks: which addresses may be told, when to try again, and how secrets are kept."""
