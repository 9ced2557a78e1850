"""Two parameters that misbehave on purpose, for the project's tests: `fail` (the word of an error code to
answer) and `trap` (`1`: an exception that nobody catches). Projects that begin with this backend are made
without it.
"""

import records
from wit_world.imports import types


def where_asked(parameters: list[tuple[str, str]]) -> None:
    """Does what the parameters for tests ask for."""
    for key, value in parameters:
        if (key, value) == ("trap", "1"):
            raise RuntimeError("the parameter trap asks for it")
        if key == "fail":
            word = value.upper().replace("-", "_")
            code = types.ErrorCode.__members__.get(word, types.ErrorCode.INVALID_ARGUMENT)
            raise records.error(code, f"the parameter fail asks for it: {value}")
