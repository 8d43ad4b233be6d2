"""Enumerations for what is compared millions of times: reading a member costs what reading any attribute does.

Before Python 3.12, the metaclass of `enum` has a hook that every look-up goes through, four times as slowly.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from enum import Enum, auto
else:
    from enum import auto

    class Enum:
        """As far as members go, and their names: they are singletons, compared by identity."""

        def __init_subclass__(cls) -> None:
            for name in [name for name, value in vars(cls).items() if isinstance(value, auto)]:
                member = cls()
                member.name = name
                setattr(cls, name, member)

        def __repr__(self) -> str:
            return f"<{type(self).__name__}.{self.name}>"

        def __reduce__(self) -> tuple[object, ...]:
            return getattr, (type(self), self.name)


__all__ = ["Enum", "auto"]
