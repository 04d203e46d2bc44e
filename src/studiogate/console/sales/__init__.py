"""The screen Sales: purchases, open fees, renewals that are due, and what staff record about payments."""
