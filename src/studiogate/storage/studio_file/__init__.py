"""The studio file in the database.

    table_types         how tables are described, and how their columns follow from the fields
    tables              which tables a file fills
    stage               load rows of the file into temporary tables, in batches
    changes             find the rows that differ from the stored ones, and lock what must not change meanwhile
    emails              the emails of people, and the submissions that are theirs
    checks              references, ids and values that must be unique; what is allowed but probably a mistake
    booking_checks      classes, bookings and history as they would be after the import
    stored_checks       what a file may not change: schedules in use, what was sold, people who were erased
    diff                what the file changes, field by field, and as readers see it
    apply               write the changes to the tables, a few statements per table, and the studio's own row
    effects             what follows from them: series, waitlist, counters, copies, credits, memberships
    export              the same rows back, in the file's own format

Temporary tables begin with ``stage_`` (the file), ``change_`` (what differs), ``affected_`` (what follows from it),
``final_`` (the state after the import) and ``before_`` (the resources before it), and are dropped at the end of the
transaction. In every statement $1 is the studio.
"""
