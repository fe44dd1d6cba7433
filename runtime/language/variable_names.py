"""The names of variables in Python: no word of Python or of the runtime is one of them.

A program may call a variable `$open`, `$class` or `$sum`. Where such a name means something in Python, the variable has
a mark behind its name there, which no author's name can have. So `sum(prices)` is a call beside a variable `$sum`.
"""

from __future__ import annotations

import builtins
import keyword
import re

VARIABLE = re.compile(r"\$([^\W\d]\w*)")
MARK = "\u00b7"

_WORDS = frozenset(
    {
        *(*keyword.kwlist, *dir(builtins), "true", "false", "null", "yes", "no"),
        *("asyncio", "collections", "datetime", "functools", "itertools", "json", "math", "re"),
    }
)


def python_name(variable: str) -> str:
    """The name of a variable in Python. Names with a capital are those of agents and playbooks there."""
    return f"{variable}{MARK}" if variable in _WORDS or variable[:1].isupper() else variable


def variable_name(name: str) -> str:
    """The name of the variable that a name in Python means."""
    return name.removesuffix(MARK)
