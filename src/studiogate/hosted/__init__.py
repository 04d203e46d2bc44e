"""The public pages: every published form has its own page at ``/f/{studio_slug}/{form_slug}``.

app         routing, response headers, request records         opening   which form, for whom, and whether it is open
showing     GET: the form                                      notices   pages that say why there is no form
sending     POST: move between steps, submit                   posted    what a browser sent
uploading   POST: one file, as it arrives                      guard     tokens, the honeypot, rate limits
steps       fields in steps, what is visible                   views     fields prepared for the templates
pages       render templates to responses                      assets    styles, scripts, the studio's colours
"""
