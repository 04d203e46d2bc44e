"""``python -m studiogate``."""

from studiogate.cli.entry_point import keyboard

if __name__ == "__main__":
    keyboard()
