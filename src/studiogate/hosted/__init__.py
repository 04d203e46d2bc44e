"""The public pages: every published form has its own page at ``/f/{studio_slug}/{form_slug}``.

app             which page a request asks for              open_form       which form, for whom, and whether it is open
pages           GET: the form, and every other page        messages        why there is no form, what to correct
submit          POST: move between steps, submit           posted_form     what a browser sent
upload          POST: one file, as it arrives              bot_protection  tokens, the honeypot, rate limits
steps           fields in steps, what is visible           field_views     fields prepared for the templates
page_cache      pages with nothing filled in               templating      templates, styles, scripts
"""
