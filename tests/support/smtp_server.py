"""A real SMTP server that keeps the mails it accepts, or refuses them with a configured reply."""

import email
import email.policy
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any

import pytest
from aiosmtpd.controller import Controller


@dataclass
class SmtpServer:
    """Handler of an SMTP server that accepts mails, or refuses them with a configured reply."""

    taken: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802  aiosmtpd names it
        answer = self.answers.pop(0) if self.answers else "250 OK"
        if answer.startswith("250"):
            parsed = email.message_from_bytes(envelope.content, policy=email.policy.default)
            assert isinstance(parsed, EmailMessage)
            self.taken.append(parsed)
            self.recipients += envelope.rcpt_tos
        return answer


@pytest.fixture
def smtp_server() -> Iterator[SmtpServer]:
    smtp_server = SmtpServer()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    controller = Controller(smtp_server, hostname="127.0.0.1", port=port, enable_SMTPUTF8=True)
    controller.start()
    smtp_server.url = f"smtp://127.0.0.1:{port}"  # type: ignore[attr-defined]
    yield smtp_server
    controller.stop()
