"""The composition root: what a process that serves or works needs, made once."""

from dataclasses import dataclass

from studiogate.settings import Settings
from studiogate.storage.database import Database


@dataclass(frozen=True, slots=True)
class Runtime:
    settings: Settings
    database: Database

    @classmethod
    def open(cls, settings: Settings) -> "Runtime":
        if settings.database_url is None:
            raise ValueError("the database's address must be resolved before a runtime is opened")
        return cls(settings, Database(settings.database_url, settings.pool_size))

    async def close(self) -> None:
        await self.database.close()
