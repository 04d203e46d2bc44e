"""The staff console: pages for the people of a studio, below ``/console``.

app          the ASGI application: session, permission, form checks, then the page's function
framework    declare pages, read requests, render templates
navigation   the entries of the menu
screens      the list of all modules that declare pages
"""
