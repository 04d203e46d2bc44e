"""Accounts of staff: invitations, passwords, second factors, sessions and roles."""
