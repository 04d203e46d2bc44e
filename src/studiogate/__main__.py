"""``python -m studiogate``."""

from studiogate.cli.quick_start import keyboard

if __name__ == "__main__":
    keyboard()
