"""Benchmark Studiogate against its baseline, its limit and a textbook version: `python -m bench`, or `make bench`."""
