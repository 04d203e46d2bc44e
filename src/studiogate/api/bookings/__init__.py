"""Bookings and the waitlist."""
