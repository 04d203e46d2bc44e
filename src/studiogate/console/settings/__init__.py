"""The settings: the studio itself, the rules of its bookings, the mails to its members."""
