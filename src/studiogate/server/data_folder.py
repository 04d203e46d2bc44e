"""Prepare the data folder for the account that the service runs as."""

from studiogate.server.service_account import Account, change_owner, let_into, make_private, service_account
from studiogate.settings import Settings, make_data_folder, secret_keys
from studiogate.storage.upload_folder import FOLDER


def prepared_account(settings: Settings) -> Account | None:
    """Give the service account what it needs in the data folder, and return it; None for an ordinary user."""
    make_data_folder(settings.data_dir)
    account = service_account(settings.data_dir)
    if account is None:
        return None
    let_into(settings.data_dir, account)
    make_private(settings.data_dir / FOLDER, account)
    if settings.secret_key is None:
        secret_keys(settings)
        for path in settings.data_dir.glob("secrets.key"):
            change_owner(path, account)
    return account
