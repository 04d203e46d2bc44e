"""``python -m studiogate``."""

from studiogate.cli.main import main

if __name__ == "__main__":
    main()
