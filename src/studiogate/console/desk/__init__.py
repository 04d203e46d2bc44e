"""The front desk: the screens Today and Class, and what is done on them.

today         the day's classes, with the roster of one of them beside
attendance    check in, no-show, undo; promote
booking       one booking: cancel it, or move it to another class
walk_in       find or create a member, sell, book; waiver: a link to sign
class_page    everything of one class, and its changes
live          server-sent events that name the classes which changed
views         what the templates show; history: the lines of a class's history
"""
