"""The base of every value type: immutable, compared by value, cheap to make."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

import msgspec
import msgspec.structs

UNSET = msgspec.UNSET
UnsetType = msgspec.UnsetType


class Frozen(msgspec.Struct, frozen=True, gc=False):
    """An immutable record. Values in it are trees, never cycles, so the cycle collector may skip it."""


class Word(str, Enum):
    """A closed set of words that compare equal to their text."""

    def __str__(self) -> str:
        return str(self.value)


T = TypeVar("T", bound=Frozen)


def changed(value: T, **fields: Any) -> T:
    """A copy of ``value`` with other values in ``fields``."""
    return msgspec.structs.replace(value, **fields)
