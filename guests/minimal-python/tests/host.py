"""A host in memory for unit tests: it stands in for the functions of the contract's `state`.

It keeps what the contract promises (a commit is all or nothing), not the host's limits.
"""

from unittest import mock

from componentize_py_types import Err
from wit_world.imports import logging, state


class Host:
    """The state of one test. `conflicts`: so many commits fail as if other calls had been faster."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.conflicts = 0

    def get(self, key: str) -> bytes | None:
        return self.values.get(key)

    def commit(self, changes: list[state.Change]) -> None:
        if self.conflicts:
            self.conflicts -= 1
            raise Err(state.Error_Conflict("another call"))
        values = dict(self.values)
        for change in changes:
            if isinstance(change, state.Change_Put):
                values[change.value.key] = change.value.value
            elif isinstance(change, state.Change_Delete):
                values.pop(change.value, None)
            elif values.get(change.value.key) != change.value.value:
                raise Err(state.Error_Conflict(change.value.key))
        self.values = values

    def __enter__(self) -> "Host":
        functions = {"get": self.get, "commit": self.commit}
        self._patches = [mock.patch.multiple(state, **functions), mock.patch.object(logging, "log")]
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()
