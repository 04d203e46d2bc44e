"""Import and export studio files.

An import is one transaction: the file is read once from beginning to end into temporary tables, everything is checked
there, and only a file without faults is applied. Operators need to know:

- Rows are matched by id within the file's studio. A file is a patch: what it does not name stays, a field that it does
  not give stays too, null clears it, and nothing is deleted. The sets of a product or a price (``location_ids``,
  ``class_type_ids``) are replaced by those in the file; spots and prices are ordinary rows.
- An import never rewinds: a row that has changed since its export is not changed back, unless the operator says so.
- A class is cancelled only by ``studiogate class cancel``, so that its bookings, credits and events are settled; a new
  class may be imported as cancelled. A class that was cancelled here stays cancelled.
- A booking keeps its class and its member. Its status may follow what happened elsewhere (a seat taken, given up,
  attended), but it never leaves ``cancelled`` and never returns to the waitlist; a booking that took a credit is
  cancelled through the API, which settles the credit. Seats that become free go to the waitlist.
- Everything is announced and recorded like any other change, except by the import that creates the studio.
- Two studios never share the id of a row."""

from studiogate.flows.studio_file.files import FilesBeside, export_studio
from studiogate.flows.studio_file.load import import_document, import_studio_file, studio_in
from studiogate.flows.studio_file.rows import MANY_ROWS, Counts, Outcome
from studiogate.flows.studio_file.steps import Options

__all__ = [
    "MANY_ROWS",
    "Counts",
    "FilesBeside",
    "Options",
    "Outcome",
    "export_studio",
    "import_document",
    "import_studio_file",
    "studio_in",
]
