"""A person's own account: signing in and out, links, password, second factor, sessions, colour scheme."""
