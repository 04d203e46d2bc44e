"""Forms: what a definition may say, and what answers it takes."""
