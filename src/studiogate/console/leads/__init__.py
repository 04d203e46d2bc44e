"""Leads: the board by status, and what staff do with one lead."""
