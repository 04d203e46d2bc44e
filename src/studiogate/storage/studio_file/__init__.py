"""The studio file in the database.

    tables      which tables and columns a file fills, and what they refer to
    staging     rows of the file into temporary tables, in batches
    changes     which of them differ from what is kept, and the locks that hold the rest still
    checks      references, ids and values that must be unique
    seats       classes and bookings as they would be afterwards: nothing oversold, nothing held twice
    applying    what differs into the tables, a few statements each
    bookings    the waitlist, the counters and the copies that follow from bookings and classes
    exporting   the same rows back, in the file's own format

Temporary tables begin with ``stage_`` (the file), ``change_`` (what differs) and ``final_`` (how it would be), and go
with the transaction. In every statement $1 is the studio.
"""
