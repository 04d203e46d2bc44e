"""The studio file: one JSON object with a studio and all of its data.

    parser     splits a stream of bytes into elements, one at a time, so that a large file is never in memory as a whole
    sections   which words a file holds; their fields are in ``domain.fields``; the same as JSON Schema
    rows       converts one element into checked values, or reports its faults, each with its place

Nothing here accesses files or the database.
"""
