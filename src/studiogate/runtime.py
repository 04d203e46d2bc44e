"""The composition root: what a process that serves or works needs, made once."""

from dataclasses import dataclass

from studiogate import settings as configuration
from studiogate.domain.webhooks.secrets import Sealer
from studiogate.domain.webhooks.targets import TargetRules
from studiogate.flows.events import Sequencer
from studiogate.settings import Settings
from studiogate.storage.database import Database


@dataclass(frozen=True, slots=True)
class Runtime:
    settings: Settings
    database: Database
    sequencer: Sequencer
    sealer: Sealer
    targets: TargetRules

    @classmethod
    def open(cls, settings: Settings) -> "Runtime":
        if settings.database_url is None:
            raise ValueError("the database's address must be resolved before a runtime is opened")
        database = Database(settings.database_url, settings.pool_size)
        targets = TargetRules(settings.webhook_allow_cidrs, allow_http=settings.webhook_allow_http)
        # The key is read, and made where there is none, only when a secret is sealed or opened.
        sealer = Sealer(lambda: configuration.secret_key(settings))
        return cls(settings, database, Sequencer(database), sealer, targets)

    async def close(self) -> None:
        await self.sequencer.settled()
        await self.database.close()
