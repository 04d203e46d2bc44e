"""Rules of the schedule: the fields of its rows, changes of classes, weekly series, closures and warnings."""
