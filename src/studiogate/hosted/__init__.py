"""The visitors' door: every published form as a page of its own, ``/f/{studio_slug}/{form_slug}``.

app         addresses to answers, headers, the log line        opening   which form, for whom, and whether it is open
showing     GET: the form                                      notices   pages that say why there is no form
sending     POST: from step to step, and off                   posted    what a browser sent
uploading   POST: one file, as it arrives                      guard     tokens, the trap, rates
steps       fields in steps, what is visible                   views     fields as templates want them
pages       templates to answers                               assets    styles, scripts, the studio's colours
"""
