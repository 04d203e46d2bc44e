"""The studio file: one JSON object with a studio and all of its data.

    parser     splits a stream of bytes into elements, one at a time, so that a large file is never in memory as a whole
    sections   the members of the rows in each section: schedule, catalog, people, forms, history
    rows       converts one element into checked values, or reports its faults
    values     the accepted values of each kind; documents: those that are JSON themselves
    schema     the same as JSON Schema
    faults     a fault and its place

Nothing here accesses files or the database.
"""
