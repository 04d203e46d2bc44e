"""The base address of links."""

from pathlib import Path

import pytest

from studiogate import settings
from studiogate.web.public_address import address_of, known_address, noted


def test_links_lead_to_where_it_listens_while_it_does(tmp_path: Path) -> None:
    given = settings.load(data_dir=tmp_path / "data", port=8081)
    assert known_address(given) == "http://127.0.0.1:8081"
    with noted(given, "http://127.0.0.1:9000"):
        assert known_address(given) == "http://127.0.0.1:9000"
        with noted(given, "http://127.0.0.1:9001"):
            assert known_address(given) == "http://127.0.0.1:9001"
    assert known_address(given) == "http://127.0.0.1:8081"


def test_a_public_url_wins(tmp_path: Path) -> None:
    given = settings.load(data_dir=tmp_path, public_url="https://studio.example/")
    with noted(given, "http://127.0.0.1:9000"):
        assert known_address(given) == address_of(given, 9000) == "https://studio.example"


def test_a_folder_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with noted(settings.load(data_dir=tmp_path / "file"), "http://127.0.0.1:9000"):
        pass


@pytest.mark.parametrize(("host", "shown"), [("::", "127.0.0.1"), ("::1", "[::1]"), ("a.example", "a.example")])
def test_a_host_as_a_url_has_it(host: str, shown: str) -> None:
    assert address_of(settings.load(host=host, port=1)) == f"http://{shown}:1"
