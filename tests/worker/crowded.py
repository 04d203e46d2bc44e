"""A mutant of the worker: all endpoints share a few delivery slots. The product does not use this file."""

from studiogate.cli import worker_process
from studiogate.worker import deliver

if __name__ == "__main__":
    deliver.MOST_UNDER_WAY = 8
    deliver.PLACES_OF_AN_ENDPOINT = 8
    worker_process.main()
