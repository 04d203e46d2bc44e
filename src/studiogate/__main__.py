"""``python -m studiogate``."""

from studiogate.cli.entry_point import run

if __name__ == "__main__":
    run()
