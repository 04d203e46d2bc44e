"""The front desk: the screens Today and Class, and what is done on them.

today         the day's classes, with the roster of one of them beside
booking       one booking: check in, no-show, promote, move; booking_actions: its forms, such as to cancel it
walk_in       find or create a member, sell, book; waiver: a link to sign
class_page    everything of one class, and its changes
live          server-sent events that name the classes which changed
panel         a class with its people and its history; views: what the templates show
"""
