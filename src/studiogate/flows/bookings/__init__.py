"""Book, cancel, promote, and the actions of staff on classes and bookings.

Every flow takes the same steps: lock the class row, lock the member rows by id, read, decide in pure Python, write."""
