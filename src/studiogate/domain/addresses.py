"""What the address of a caller is counted as by rate limits."""

from ipaddress import IPv6Address, IPv6Network

IPV6_BITS = 64


def owner_of(address: str) -> str:
    """Return what an address is counted as: for IPv6 its network, since the owner of one address has 2⁶⁴ of them."""
    if ":" not in address:
        return address
    try:
        parsed = IPv6Address(address)
    except ValueError:
        return address
    return str(parsed.ipv4_mapped or IPv6Network((parsed, IPV6_BITS), strict=False))
