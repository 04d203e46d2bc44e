"""The composition root: what an API or worker process needs, created once."""

from dataclasses import dataclass
from pathlib import Path

from studiogate import settings as configuration
from studiogate.domain.encryption import Sealer
from studiogate.domain.webhooks.targets import TargetRules
from studiogate.flows.bookings.scheduler import Scheduler
from studiogate.flows.events import Sequencer
from studiogate.flows.resolver import Resolver
from studiogate.settings import Settings
from studiogate.storage.db.pool import Database
from studiogate.storage.notifications import EventListeners
from studiogate.storage.upload_bucket import UploadBucket
from studiogate.storage.upload_folder import UploadFolder
from studiogate.storage.upload_store import UploadStore


def upload_store(settings: Settings) -> UploadStore:
    """Return where the files of an installation are: the folder or the bucket of ``uploads_url``."""
    url = settings.uploads_url
    if url is not None and url.startswith("s3:"):
        return UploadBucket(settings.data_dir, url)
    return UploadFolder(settings.data_dir, None if url is None else Path(url))


@dataclass(frozen=True, slots=True)
class Runtime:
    settings: Settings
    database: Database
    sequencer: Sequencer
    sealer: Sealer
    resolver: Resolver
    event_listeners: EventListeners
    bookings: Scheduler
    uploads: UploadStore

    @classmethod
    def open(cls, settings: Settings) -> "Runtime":
        if settings.database_url is None:
            raise ValueError("the database's address must be resolved before a runtime is opened")
        database = Database(settings.database_url, settings.pool_size)
        rules = TargetRules(settings.webhook_allow_cidrs, allow_http=settings.webhook_allow_http)
        # The key is read, and created if there is none, only when a secret is sealed or opened.
        sealer = Sealer(lambda: configuration.secret_keys(settings))
        # Half of the connections: the others are for everything else.
        bookings = Scheduler(database, settings.booking_batch, max(1, settings.pool_size // 2))
        uploads = upload_store(settings)
        event_listeners = EventListeners(settings.database_url)
        return cls(settings, database, Sequencer(database), sealer, Resolver(rules), event_listeners, bookings, uploads)

    async def close(self) -> None:
        await self.event_listeners.close()
        self.resolver.close()
        await self.bookings.settled()
        await self.sequencer.settled()
        await self.database.close()
