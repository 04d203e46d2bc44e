"""The studio file in the database.

    tables      which tables and columns a file fills, and what they refer to
    staging     load rows of the file into temporary tables, in batches
    changes     find the rows that differ from the stored ones, and lock what must not change meanwhile
    checks      references, ids and values that must be unique
    seats       classes and bookings as they would be after the import: nothing oversold, nothing held twice
    applying    write the changes to the tables, a few statements per table
    bookings    the waitlist, the counters and the copies that follow from bookings and classes
    exporting   the same rows back, in the file's own format

Temporary tables begin with ``stage_`` (the file), ``change_`` (what differs) and ``final_`` (the state after the
import), and are dropped at the end of the transaction. In every statement $1 is the studio.
"""
