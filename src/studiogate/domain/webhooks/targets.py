"""Which URLs may be called. The URL text is checked here. Names are resolved elsewhere, and every resolved address is
checked here again before anything connects to it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
MAX_LENGTH = 2048

# Listed explicitly, because ``ipaddress.is_global`` accepts NAT64, 6to4 and multicast.
DENIED_NETWORKS: Final[tuple[Network, ...]] = tuple(
    ip_network(each)
    for each in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # automatic multicast tunnels
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        # Only 2000::/3 is allocated: outside it are loopback, mapped and compatible IPv4, NAT64 (64:ff9b::),
        # unique-local (fc00::), link-local (fe80::), site-local (fec0::) and multicast (ff00::).
        "::/3",
        "4000::/2",
        "8000::/1",
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)

# Names that never belong to the public internet, whatever they resolve to.
_INNER_NAMES = ("localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "private", "onion")
_INNER_SUFFIXES = (*_INNER_NAMES, "home.arpa", "in-addr.arpa", "ip6.arpa")
_URL = re.compile(
    r"(?P<scheme>(?i:https?))://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<target>/[!$&'()*+,;=:@%A-Za-z0-9._~/-]*)?(?P<query>\?[!$&'()*+,;=:@%A-Za-z0-9._~/?-]*)?",
    re.ASCII,
)
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed URL. ``address`` is set if the host is an IP address."""

    scheme: str
    host: str
    port: int
    address: Address | None


class TargetRules:
    """The rules for URLs. ``allowed`` networks and plain http are exceptions for development, from the settings."""

    def __init__(self, allowed: Iterable[str] = (), *, allow_http: bool = False) -> None:
        self._allowed = tuple(ip_network(each) for each in allowed)
        self._allow_http = allow_http

    def permits(self, address: Address) -> bool:
        if _within(address, self._allowed):
            return True
        # A scoped IPv6 address ("fe80::1%eth0") compares by its number; the zone does not bypass the check.
        return not _within(address, DENIED_NETWORKS)

    def parse(self, url: str) -> Target | str:
        match = _URL.fullmatch(url) if len(url) <= MAX_LENGTH else None
        if match is None:
            return "should be an absolute https URL without user, password, fragment or unusual characters"
        scheme = match["scheme"].lower()
        if scheme == "http" and not self._allow_http:
            return "should start with https://"
        port = int(match["port"] or (443 if scheme == "https" else 80))
        if not 1 <= port <= 65_535:
            return "should have a port between 1 and 65535"
        return self._with_host(scheme, match["host"].lower(), port)

    def _with_host(self, scheme: str, host: str, port: int) -> Target | str:
        address = _literal(host)
        if isinstance(address, str):
            return address
        if address is not None:
            fault = None if self.permits(address) else "should not be an address in a network that is not public"
        else:
            fault = self._name_fault(host)
        return fault or Target(scheme, host.strip("[]"), port, address)

    def _name_fault(self, host: str) -> str | None:
        labels = host.removesuffix(".").split(".")
        if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
            return "should have a valid host name"
        inner = len(labels) == 1 or any(host.removesuffix(".").endswith("." + each) for each in _INNER_SUFFIXES)
        # With allowed networks, "localhost" may be intended; its resolved address is checked like any other.
        return "should have a public host name" if inner and not self._allowed else None


def _within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def _literal(host: str) -> Address | str | None:
    """Return the host as an IP address, None if it is a name, or what is wrong with it."""
    if host.startswith("["):
        try:
            return IPv6Address(host[1:-1])
        except ValueError:
            return "should have a valid IPv6 address"
    last = host.removesuffix(".").rpartition(".")[2]
    if not last.isdigit() and not re.fullmatch(r"0x[0-9a-f]*", last):
        return None
    # Only the dotted decimal form is accepted: resolvers read "127.1", "0x7f.1" and "2130706433" as loopback.
    try:
        return ip_address(host) if host.count(".") == 3 else "should have a plain IPv4 address or a host name"
    except ValueError:
        return "should have a plain IPv4 address or a host name"
