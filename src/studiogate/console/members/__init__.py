"""The screen Members: the list with its search, a member's profile, and everything that staff do for a member."""
