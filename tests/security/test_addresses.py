"""Rates are counted by address: a client may not choose its own, unless it is the proxy that the operator named."""

import http.client

import pytest

from bench.service import Service
from studiogate.domain.addresses import owner_of
from tests.support.deadlines import LONG

OWN = "2001:db8:1:2::/64"
TRIES = 25  # more than the failures that an address has in a minute


@pytest.mark.parametrize(("trusted", "last"), [("127.0.0.1", 401), ("192.0.2.1", 429)])
def test_a_forwarded_address_is_believed_of_the_proxy_only(database_url: str, trusted: str, last: int) -> None:
    environment = {"STUDIOGATE_RATE_LIMIT": "1000", "FORWARDED_ALLOW_IPS": trusted}
    with Service(database_url, workers=1, environment=environment) as service:
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=LONG)
        for number in range(TRIES):
            headers = {"X-Service-Key": "wrong", "X-Forwarded-For": f"198.51.100.{number}"}
            connection.request("GET", "/partner/v1/studio", headers=headers)
            answer = connection.getresponse()
            answer.read()
        connection.close()
    assert answer.status == last


@pytest.mark.parametrize(
    ("address", "owner"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("2001:db8:1:2::1", OWN),
        ("2001:db8:1:2:ffff:ffff:ffff:ffff", OWN),
        ("2001:DB8:1:2:0::9", OWN),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("unknown", "unknown"),
        ("no:address", "no:address"),
    ],
)
def test_a_network_is_one_owner(address: str, owner: str) -> None:
    """Otherwise anybody with IPv6 has as many tries as they like."""
    assert owner_of(address) == owner
