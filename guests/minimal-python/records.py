"""The volumes as records in the host's state: `volume/NAME` holds id, size and parameters, `id/ID`
the name.

It knows nothing of requests. Every change is one commit with what was read before as its
expectation: of two calls for one name that run at the same time one makes the volume, and the other
reads again and finds it. Ids are drawn: calls for different names that counted them would all wait
for one key. Nothing is committed of which no client could be told.
"""

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass

import answers
from componentize_py_types import Err
from wit_world.imports import state, types

# As often a call tries before it lets its client come back. Only calls for one object meet here, and the
# host lets those of one name in one after the other.
ATTEMPTS = 4


@dataclass
class Record:
    """What the state holds of a volume."""

    volume_id: str
    capacity_bytes: int
    # Sorted, so that equal parameters are equal here.
    parameters: list[tuple[str, str]]


def error(code: types.ErrorCode, message: str, reason: str | None = None) -> Err:
    """An error to be raised."""
    return Err(types.Error(code, reason, message))


def find_or_create(
    name: str, parameters: list[tuple[str, str]], size: int, told: Callable[[Record], types.Volume]
) -> Record:
    """The volume of this name, new if there is none. `told`: what clients are told of it."""
    key = f"volume/{name}"
    for _ in range(ATTEMPTS):
        found = read(key)
        if found is not None:
            return parse(key, found)
        # 128 random bits, so that no id is ever given twice, to a volume deleted long ago neither.
        record = Record(f"vol-{secrets.token_hex(16)}", size, sorted(parameters))
        answers.check(told(record))
        if commit(
            expect(key, None),
            put(key, json.dumps([record.volume_id, size, record.parameters])),
            put(f"id/{record.volume_id}", name),
        ):
            return record
    raise crowded()


def delete(volume_id: str) -> None:
    """Forgets a volume; success when there is none."""
    key = f"id/{volume_id}"
    for _ in range(ATTEMPTS):
        name = read(key)
        if name is None:
            return
        if commit(expect(key, name), state.Change_Delete(key), state.Change_Delete(f"volume/{name}")):
            return
    raise crowded()


def find(volume_id: str) -> Record | None:
    """The volume of this id; none: there is no such volume."""
    name = read(f"id/{volume_id}")
    key = f"volume/{name}"
    found = None if name is None else read(key)
    return None if found is None else parse(key, found)


def read(key: str) -> str | None:
    try:
        value = state.get(key)
    except Err as failed:
        raise refused(failed.value) from None
    return None if value is None else value.decode()


def commit(*changes: state.Change) -> bool:
    """Makes the changes; false when an expectation was not met."""
    try:
        state.commit(list(changes))
    except Err as failed:
        if isinstance(failed.value, state.Error_Conflict):
            return False
        raise refused(failed.value) from None
    return True


def parse(key: str, text: str) -> Record:
    try:
        volume_id, size, parameters = json.loads(text)
        return Record(volume_id, size, [(name, value) for name, value in parameters])
    except ValueError:
        raise damaged(key) from None


def put(key: str, value: str) -> state.Change:
    return state.Change_Put(state.Entry(key, value.encode()))


def expect(key: str, value: str | None) -> state.Change:
    return state.Change_Expect(state.Expectation(key, None if value is None else value.encode()))


def damaged(key: str) -> Err:
    return error(types.ErrorCode.FAILED_PRECONDITION, f"the record {key} is damaged")


def refused(failed: state.Error) -> Err:
    if isinstance(failed, state.Error_QuotaExceeded):
        return error(types.ErrorCode.RESOURCE_EXHAUSTED, "the state's quota is used up")
    if isinstance(failed, state.Error_ReadOnly):
        return error(types.ErrorCode.FAILED_PRECONDITION, "the state is read-only here")
    return error(types.ErrorCode.UNAVAILABLE, f"the state answered {failed}")


def crowded() -> Err:
    return error(types.ErrorCode.ABORTED, "other calls changed the state again and again", "busy")
