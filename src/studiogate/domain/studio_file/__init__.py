"""The studio file: one JSON object with a studio and everything in it.

    reading    a stream of bytes into elements, one at a time: a large file never is in memory as a whole
    sections   which members the rows of each section have
    rows       one element into checked values, or its faults
    values     what each kind of value may be
    faults     a fault and its place

No file and no database is touched here.
"""
