"""Booking, cancelling, promoting, and what the staff do to classes and bookings.

Every flow walks the same way: lock the class row, lock the members' rows by id, look, decide in pure Python, record.
"""
