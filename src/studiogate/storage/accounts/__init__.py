"""Accounts of staff, their links, sessions and attempts to sign in.

An account may belong to several studios, and is found by an email or by a secret before a studio is known. So these
functions take no access, and their tables have no ``studio_id``. What an account may do in a studio is in
``storage/staff.py``.
"""
