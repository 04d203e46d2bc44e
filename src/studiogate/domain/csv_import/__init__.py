"""CSV files of other systems, translated into rows of a studio file.

    encoding    how the bytes of a file are text, and its lines
    records     rows and cells: quoting, delimiters, over-long rows
    formats     dates, times, amounts, numbers and truth values as they are written in a cell
    kinds       what can be imported, and the fields of each kind
    mapping     which column fills which field: presets and mapping files
    columns     the mapping applied to a file's header
    directory   the studio's places, people and products by name
    cells       one field of a row: its cell's meaning, type and rules
    translate   one row of the file into the fields of a studio-file row
    matching    which stored row a row is about, or why that cannot be said
    verdicts    what became of each row, as a CSV file that is safe to open in a spreadsheet

Nothing here accesses files or the database.
"""
