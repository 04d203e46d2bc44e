"""One POST over TLS: sent to the checked address, with the certificate verified against the host name."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bench.webhook_receiver import Receiver
from studiogate.domain.webhooks.deliveries import new_secret
from studiogate.domain.webhooks.targets import TargetRules
from studiogate.flows.resolver import Resolver, UnknownNameError
from studiogate.worker.webhook_sender import Sender

pytestmark = pytest.mark.anyio


def _certificate(folder: Path, name: str) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "cert.pem", folder / "key.pem"


@asynccontextmanager
async def tls_receiver(folder: Path, name: str) -> AsyncIterator[tuple[Receiver, ssl.SSLContext, list[str | None]]]:
    certificate, key = _certificate(folder, name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    asked: list[str | None] = []
    context.sni_callback = lambda _socket, server_name, _context: asked.append(server_name)
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=context)
    receiver.port = server.sockets[0].getsockname()[1]
    yield receiver, ssl.create_default_context(cafile=str(certificate)), asked
    server.close()


def sender_to(addresses: Sequence[str], tls: ssl.SSLContext | None = None) -> Sender:
    async def lookup(_host: str, _port: int) -> Sequence[str]:
        if not addresses:
            raise UnknownNameError
        return addresses

    return Sender(Resolver(TargetRules(["127.0.0.0/8"]), lookup), tls)


async def test_tls_asks_for_the_name_and_verifies_it(tmp_path: Path) -> None:
    async with tls_receiver(tmp_path, "partner.example") as (receiver, tls, asked):
        # The first address is denied and skipped, the second is connected to.
        sender = sender_to(["10.0.0.1", "127.0.0.1"], tls)
        secret = new_secret()
        done = await sender.send(f"https://partner.example:{receiver.port}/x?y=1", [secret], "id", "{}")
        assert done.status == 200, done
        assert asked == ["partner.example"]
        assert receiver.received[0].headers["host"] == f"partner.example:{receiver.port}"
        assert receiver.received[0].path == "/x?y=1"
        assert receiver.received[0].signed_by(secret)
        done = await sender.send(f"HTTPS://Partner.EXAMPLE:{receiver.port}/X", [secret], "id", "{}")
        assert (done.status, receiver.received[1].path) == (200, "/X"), done
        assert set(asked) == {"partner.example"}
        other = await sender.send(f"https://other.example:{receiver.port}/", [secret], "id", "{}")
        assert (other.status, other.error) == (None, "connection_failed")
        await sender.close()


async def test_what_goes_wrong_is_said_in_few_words() -> None:
    secret = [new_secret()]
    for addresses, error in (
        ([], "unknown_host"),
        (["10.0.0.1"], "denied_address"),
        (["127.0.0.1"], "connection_failed"),
    ):
        sender = sender_to(addresses)
        done = await sender.send("https://partner.example:1/", secret, "id", "{}")
        assert (done.status, done.error) == (None, error)
        await sender.close()
    rules = Sender(Resolver(TargetRules()))
    assert (await rules.send("http://partner.example/", secret, "id", "{}")).error == "denied_address"


async def test_names_are_looked_up_once_at_a_time_and_judged_each_time() -> None:
    asked = 0

    async def lookup(_host: str, _port: int) -> Sequence[str]:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0.02)
        return ["8.8.8.8", "fe80::1%eth0"]

    resolver = Resolver(TargetRules(), lookup)
    found = await asyncio.gather(*(resolver.permitted("partner.example", 443) for _ in range(5)))
    assert asked == 1
    assert found == [[ipaddress.ip_address("8.8.8.8")]] * 5
    await resolver.permitted("partner.example", 443)
    assert asked == 2
