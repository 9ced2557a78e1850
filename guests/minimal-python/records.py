"""The volumes as records in the host's state: `volume/NAME` holds id, size and parameters, `id/ID`
the name, `counter` the last number given.

It knows nothing of requests. Every change is one commit with what was read before as its
expectation: two calls that run at the same time never share an id, and a call that loses the race
reads again.
"""

import json
from dataclasses import dataclass

from componentize_py_types import Err
from wit_world.imports import state, types

# As often a call tries before it lets its client come back.
ATTEMPTS = 16

COUNTER = "counter"


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


def find_or_create(name: str, parameters: list[tuple[str, str]], size: int) -> Record:
    """The volume of this name, new if there is none."""
    key = f"volume/{name}"
    for _ in range(ATTEMPTS):
        found = read(key)
        if found is not None:
            return parse(key, found)
        given = read(COUNTER)
        number = number_after(given)
        record = Record(f"vol-{number}", size, sorted(parameters))
        if commit(
            expect(COUNTER, given),
            expect(key, None),
            put(COUNTER, str(number)),
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


def exists(volume_id: str) -> bool:
    """Whether there is a volume of this id."""
    return read(f"id/{volume_id}") is not None


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


def number_after(given: str | None) -> int:
    try:
        return int(given or "0") + 1
    except ValueError:
        raise damaged(COUNTER) from None


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
