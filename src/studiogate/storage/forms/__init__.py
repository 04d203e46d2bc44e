"""Forms, their versions, submissions and uploaded files."""
