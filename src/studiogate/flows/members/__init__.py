"""The flows of members."""
