"""Benchmark Studiogate against its floor, its limit and a textbook version: `python -m bench`, or `make bench`."""
