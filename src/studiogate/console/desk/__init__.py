"""The front desk: the screens Today and Class, and what is done on them.

today         the day's classes, with the roster of one of them beside; everything of one class
booking       one booking: check in, no-show, promote, move; booking_actions: its forms, such as to cancel it
walk_in       find or create a member, sell, book; a link to sign the waiver
live          server-sent events that name the classes which changed
panel         a class with its people and its history; views: what the templates show
"""
