"""Which URLs may receive webhooks. Hostile URLs are refused by their text or by the address they resolve to."""

from ipaddress import ip_address

import pytest

from studiogate.domain.webhooks.targets import Target, TargetRules

RULES = TargetRules()

HOSTILE = [
    "http://partner.example/hook",
    "HTTP://partner.example/hook",
    "http\u017f://partner.example/hook",
    "HTTPS://LocalHost/",
    "ftp://partner.example/",
    "file:///etc/passwd",
    "gopher://partner.example/",
    "javascript:alert(1)",
    "data:text/plain,x",
    "//partner.example/hook",
    "partner.example/hook",
    "https:/partner.example/",
    "https:partner.example",
    "https://",
    "https:///hook",
    "https://?x",
    "https://user@partner.example/",
    "https://user:pass@partner.example/",
    "https://partner.example@127.0.0.1/",
    "https://127.0.0.1#@partner.example/",
    "https://partner.example#fragment",
    "https://partner.example\\@127.0.0.1/",
    "https://partner.example\t.evil/",
    "https://partner.example/\r\nHost: evil",
    "https://partner.example/ x",
    " https://partner.example/",
    "https://partner.example:0/",
    "https://partner.example:65536/",
    "https://partner.example:99999/",
    "https://partner.example:abc/",
    "https://partner.example:-1/",
    "https://partner..example/",
    "https://-partner.example/",
    "https://" + "a" * 64 + ".example/",
    "https://" + "a." * 140 + "example/",
    "https://partner.example/" + "x" * 2100,
    "https://пример.example/",
    "https://①②⑦.0.0.1/",
    "https://127。0。0。1/",
    "https://localhost/",
    "https://LOCALHOST/",
    "https://localhost./",
    "https://app.localhost/",
    "https://printer.local/",
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://router.lan/",
    "https://intranet/",
    "https://127.0.0.1/",
    "https://127.1/",
    "https://127.0.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.0.0.1/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://127.0.0.1./",
    "https://0.0.0.0/",
    "https://0/",
    "https://10.1.2.3/",
    "https://100.64.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://172.16.0.1/",
    "https://192.168.1.1/",
    "https://192.0.0.1/",
    "https://198.18.0.1/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://[::1]/",
    "https://[::]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b:1::a9fe:a9fe]/",
    "https://[2002:7f00:1::]/",
    "https://[2001::1]/",
    "https://[fc00::1]/",
    "https://[fd12:3456::1]/",
    "https://[fe80::1]/",
    "https://[fe80::1%25eth0]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    "https://[100::1]/",
    "https://[5f00::1]/",
    "https://[::1/",
    "https://[g::1]/",
]


@pytest.mark.parametrize("url", HOSTILE)
def test_hostile_urls_are_refused(url: str) -> None:
    assert isinstance(RULES.parse(url), str)


def test_the_list_is_long_enough() -> None:
    assert len(set(HOSTILE)) >= 60


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://partner.example", "partner.example", 443),
        ("https://partner.example:8443/hook?key=1&b=%20", "partner.example", 8443),
        ("https://sub-domain.partner.example./x", "sub-domain.partner.example.", 443),
        ("https://xn--e1afmkfd.example/", "xn--e1afmkfd.example", 443),
        ("HTTPS://PARTNER.Example/Hook", "partner.example", 443),
        ("https://8.8.8.8/", "8.8.8.8", 443),
        ("https://[2606:4700::1111]:444/", "2606:4700::1111", 444),
    ],
)
def test_public_urls_are_taken_apart(url: str, host: str, port: int) -> None:
    target = RULES.parse(url)
    assert isinstance(target, Target), target
    assert (target.scheme, target.host, target.port) == ("https", host, port)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
     "fe80::1%eth0", "224.0.0.5", "ff0e::1", "192.88.99.1", "3fff::1", "2001:db8::1", "::8.8.8.8"],
)  # fmt: skip
def test_addresses_that_nothing_connects_to(address: str) -> None:
    assert not RULES.permits(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "172.32.0.1", "100.128.0.1"])
def test_addresses_of_the_internet(address: str) -> None:
    assert RULES.permits(ip_address(address))


def test_a_developer_s_exceptions() -> None:
    rules = TargetRules(["127.0.0.0/8"], allow_http=True)
    assert isinstance(rules.parse("http://localhost:3000/hook"), Target)
    assert rules.parse("HTTP://LOCALHOST/hook") == Target("http", "localhost", 80, None)
    assert isinstance(rules.parse("http://127.0.0.1:3000/hook"), Target)
    assert not rules.permits(ip_address("10.0.0.1"))
    assert not rules.permits(ip_address("::1"))
    assert isinstance(TargetRules(["127.0.0.0/8"]).parse("http://127.0.0.1/"), str)
