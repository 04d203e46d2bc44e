"""Forms: what a definition may contain, and which answers it accepts."""
