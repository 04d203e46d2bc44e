"""Forms: the list, the builder, links, and the inbox of submissions."""
