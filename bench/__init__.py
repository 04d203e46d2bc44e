"""How fast Studiogate is, beside its floor, its limit and a textbook: `python -m bench`, or `make bench`."""
