"""A mutant of the worker: all endpoints share a few delivery slots. The product does not use this file."""

from studiogate.server import worker_process
from studiogate.worker import webhooks

if __name__ == "__main__":
    webhooks.MAX_UNDER_WAY = 8
    webhooks.PLACES_OF_AN_ENDPOINT = 8
    worker_process.main()
