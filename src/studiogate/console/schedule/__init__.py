"""The screen Schedule: a location's week, its classes, series and closures."""
