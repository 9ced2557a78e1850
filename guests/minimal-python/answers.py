"""What a client is going to be told, held against the contract.

It knows no request and changes nothing. The host refuses an answer that breaks the contract, but what
was committed before stays: a volume that no client knows of. So `records` asks it before every commit.
"""

import unicodedata

from componentize_py_types import Err
from wit_world.imports import types

# Longest id, and largest context (keys and values together), in bytes.
LONGEST_ID = 128
LARGEST_CONTEXT = 4 << 10
# Clients read sizes as numbers with a sign.
LARGEST_SIZE = (1 << 63) - 1


def check(volume: types.Volume) -> None:
    """Raises an error where clients cannot be told of a volume."""
    size = len(volume.volume_id.encode())
    if not 1 <= size <= LONGEST_ID:
        raise broken(f"volume-id has {size} bytes; from 1 to {LONGEST_ID} are allowed")
    if has_control(volume.volume_id):
        raise broken("volume-id has a control character")
    if volume.capacity_bytes > LARGEST_SIZE:
        raise broken(f"capacity-bytes is {volume.capacity_bytes}; at most {LARGEST_SIZE} is allowed")
    check_context(volume.volume_context)


def check_context(context: list[tuple[str, str]]) -> None:
    seen: set[str] = set()
    for key, value in context:
        if not key or has_control(key) or "\0" in value:
            raise broken(f"volume-context has an unusable key or value at {key!r}")
        if key in seen:
            raise broken(f"volume-context has the key {key!r} twice")
        seen.add(key)
    size = sum(len(key.encode()) + len(value.encode()) for key, value in context)
    if size > LARGEST_CONTEXT:
        raise broken(f"volume-context has {size} bytes; at most {LARGEST_CONTEXT} are allowed")


def has_control(text: str) -> bool:
    return any(unicodedata.category(character) == "Cc" for character in text)


def broken(problem: str) -> Err:
    words = f"the backend would answer against the contract: {problem}"
    return Err(types.Error(types.ErrorCode.INTERNAL, None, words))
