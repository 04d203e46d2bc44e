"""CSV files of other systems, translated into rows of a studio file. Nothing here accesses files or the database."""
