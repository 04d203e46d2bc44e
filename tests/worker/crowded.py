"""The worker with a mistake in it: a few places that all endpoints share. Nothing in the product knows of this file."""

from studiogate.cli import worker_process
from studiogate.worker import deliver

if __name__ == "__main__":
    deliver.MOST_UNDER_WAY = 8
    deliver.PLACES_OF_AN_ENDPOINT = 8
    worker_process.main()
