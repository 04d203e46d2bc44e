"""Declared actions: what each declares fits its flow, its path and its form."""

import inspect

import pytest

from studiogate.console import screens
from studiogate.console.framework.actions import Action

ACTIONS = [action for screen in screens.SCREENS for action in getattr(screen, "ACTIONS", ())]
every_action = pytest.mark.parametrize("action", ACTIONS, ids=[f"{each.subject.path}/{each.name}" for each in ACTIONS])


@every_action
def test_the_flow_takes_what_the_form_gives(action: Action) -> None:
    row = ["id"] if action.subject.read is not None else []
    values = ["changes"] if action.edits else [each.name for each in action.inputs]
    inspect.signature(action.flow).bind("connection", "access", *row, *values)


@every_action
def test_the_path_names_the_row_that_the_action_is_about(action: Action) -> None:
    assert (f"{{{action.subject.name}_id}}" in action.subject.path) == (action.subject.read is not None)


@every_action
def test_what_undoes_it_is_an_action(action: Action) -> None:
    paths = {f"{action.subject.path}/{action.undo}"} if isinstance(action.undo, str) and action.undo else set()
    assert paths <= {route.path for route in screens.routes() if route.method == "POST"}
