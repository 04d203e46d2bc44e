"""Sales: what was sold, what is open or due, what was paid and how. No payment is taken here."""
