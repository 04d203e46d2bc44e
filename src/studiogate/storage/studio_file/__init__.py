"""The studio file in the database.

    tables              which tables and columns a file fills, and what they refer to
    own_row             the studio's own row
    stage               load rows of the file into temporary tables, in batches
    changes             find the rows that differ from the stored ones, and lock what must not change meanwhile
    checks              references, ids and values that must be unique; history_checks: what history must fit
    booking_checks      classes and bookings as they would be after the import: nothing oversold, nothing held twice
    schedule_checks     series, closures and rows that are deactivated
    schedule_effects    which series and classes a change of the schedule affects besides its own row
    warnings            what is allowed but probably a mistake
    diff                what the file changes, field by field
    resources_before    what readers see before the import, for its events
    apply               write the changes to the tables, a few statements per table
    recount             the waitlist, the counters and the copies that follow from bookings and classes
    export              the same rows back, in the file's own format

Temporary tables begin with ``stage_`` (the file), ``change_`` (what differs), ``affected_`` (what follows from it),
``final_`` (the state after the import) and ``before_`` (the resources before it), and are dropped at the end of the
transaction. In every statement $1 is the studio.
"""
