"""Forms, submissions and uploads."""
