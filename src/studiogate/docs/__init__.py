"""The documentation: guides, errors, the reference, and the pages for people at addresses that nothing else serves.

The pages are Markdown files of the repository, and texts that the partner API hands over. They load nothing from other
servers.
"""
