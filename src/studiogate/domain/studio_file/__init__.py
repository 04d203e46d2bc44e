"""The studio file: one JSON object with a studio and all of its data. Nothing here accesses files or the database."""
