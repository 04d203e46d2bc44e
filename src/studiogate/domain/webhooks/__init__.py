"""Webhooks: which URLs may be called, when deliveries are retried, and how secrets are stored."""
