"""studiogate uploads: where the files of forms and the pictures are kept."""

from functools import partial
from typing import Annotated

import typer

from studiogate import settings as configuration
from studiogate.cli.commands import Call, Group
from studiogate.cli.context import CommandError, complaints, counted, print_json, screen
from studiogate.cli.files import progress_bars
from studiogate.flows import move_uploads as flow
from studiogate.flows.move_uploads import Move, Moved
from studiogate.runtime import upload_store
from studiogate.storage.upload_store import FAILURES

app = Group("The files of forms, and pictures: move them to another place.")
Source = Annotated[
    str | None,
    typer.Option("--from", metavar="URL", help="Where they are: a folder or a bucket. Default: in the data folder."),
]
Remove = Annotated[bool, typer.Option("--remove", help="Then remove them from where they were.")]


@app.command("move")
def move(call: Call, source: Source = None, remove: Remove = False) -> None:
    """Copy all files to STUDIOGATE_UPLOADS_URL while the service runs; again, it copies what has come since."""
    target = call.settings
    there = None if source is None else configuration.load(uploads_url=source).uploads_url
    if there == target.uploads_url:
        raise CommandError(
            "The files are there: set STUDIOGATE_UPLOADS_URL to where they go, for this command at first."
        )
    origin = upload_store(target.model_copy(update={"uploads_url": there}))
    with progress_bars(("files",), shown=not call.as_json) as progress:
        plan = Move(origin, upload_store(target), remove, progress)
        try:
            done: Moved = call.on_database(partial(flow.move, plan=plan))
        except FAILURES as error:
            raise CommandError(f"The files cannot be moved: {error} Run it again: it continues.") from None
    if call.as_json:
        print_json({"from": str(plan.source), "to": str(plan.target), **vars(done)})
    else:
        text = f"{counted(done.copied, 'file')} copied to {plan.target}, {done.present} there already"
        screen.print(f"{text}, {done.removed} removed from {plan.source}.", soft_wrap=True)
        for each in done.missing:
            complaints.print(
                f"warning: {each} is in neither place: run this on the machine that has it.", soft_wrap=True
            )
        for each in done.damaged:
            complaints.print(f"fault: {each} is not what was received: restore it from a backup.", soft_wrap=True)
    if done.missing or done.damaged:
        raise typer.Exit(1)
