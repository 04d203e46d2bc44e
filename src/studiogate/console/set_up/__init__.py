"""The first steps of an empty service: the studio and its owner, an import, a colleague, a partner's key."""
