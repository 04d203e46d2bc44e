"""CSV files of other systems, translated into rows of a studio file.

    records     a file's encoding, lines, rows and cells: quoting, delimiters, over-long rows
    formats     dates, times, amounts, numbers and truth values as they are written in a cell
    kinds       what can be imported, and the fields of each kind
    mapping     which column fills which field: presets and mapping files
    columns     the mapping applied to a file's header
    cells       one field of a row: its cell's meaning, type and rules; the studio's rows by name
    translate   one row of the file into the fields of a studio-file row
    matching    which stored row a row is about, or why that cannot be said; the verdicts, as a CSV file

Nothing here accesses files or the database.
"""
