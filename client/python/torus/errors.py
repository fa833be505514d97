# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each error of libtorus.

Every exception has `code`, the number in torus/torus.h, and the library's sentence, which says what
failed, where, and what to do. `ranks` and `node` are those that the sentence names.

>>> error = make(-8, "rank 3 of job wind died (node 2): restart the job")
>>> type(error).__name__, error.ranks, error.node
('RankFailedError', (3,), 2)
>>> make(-6, "ranks 1,4-6 have not called").ranks
(1, 4, 5, 6)
"""
from __future__ import annotations

import re
from typing import Optional, Set, Tuple

from ._torus import ffi, lib


class TorusError(Exception):
    """An error of the service. Its text is the sentence of the library."""

    code = 0

    def __init__(self, sentence: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence

    @property
    def ranks(self) -> Tuple[int, ...]:
        """The ranks that the sentence names, in ascending order."""
        found: Set[int] = set()
        for words in re.findall(r"\branks? (\d[\d,\- ]*)", self.sentence):
            for part in re.findall(r"\d+(?:-\d+)?", words):
                first, _, last = part.partition("-")
                found.update(range(int(first), int(last or first) + 1))
        return tuple(sorted(found))

    @property
    def node(self) -> Optional[int]:
        """The first node that the sentence names, or None."""
        named = re.search(r"\bnode (\d+)", self.sentence)
        return int(named.group(1)) if named else None


class InvalidError(TorusError, ValueError):
    """An argument is invalid."""

    code = lib.TORUS_ERR_INVALID


class NoMemoryError(TorusError, MemoryError):
    """Memory runs out, here or on the node that the sentence names."""

    code = lib.TORUS_ERR_NO_MEMORY


class NoDaemonError(TorusError, ConnectionError):
    """No daemon accepts connections."""

    code = lib.TORUS_ERR_NO_DAEMON


class ProtocolError(TorusError):
    """The daemon sent a malformed or unexpected message."""

    code = lib.TORUS_ERR_PROTOCOL


class VersionError(TorusError):
    """Library and daemon use different protocol versions."""

    code = lib.TORUS_ERR_VERSION


class OperationTimeoutError(TorusError, TimeoutError):
    """Ranks did not call in time, or a node stalled."""

    code = lib.TORUS_ERR_TIMEOUT


class MismatchError(TorusError):
    """Ranks of one group called different operations."""

    code = lib.TORUS_ERR_MISMATCH


class RankFailedError(TorusError):
    """A rank died or left."""

    code = lib.TORUS_ERR_RANK_FAILED


class NodeFailedError(TorusError):
    """A node died or does not respond."""

    code = lib.TORUS_ERR_NODE_FAILED


class OperationCancelledError(TorusError):
    """A rank cancelled the operation."""

    code = lib.TORUS_ERR_CANCELLED


class BusyError(TorusError):
    """Too much is in flight, or memory is still in use."""

    code = lib.TORUS_ERR_BUSY


class RankTakenError(TorusError):
    """Another process has this rank."""

    code = lib.TORUS_ERR_RANK_TAKEN


class ForkedError(TorusError):
    """The job belongs to the parent process."""

    code = lib.TORUS_ERR_FORKED


class InternalError(TorusError):
    """A bug in the service."""

    code = lib.TORUS_ERR_INTERNAL


class ShutdownError(TorusError, ConnectionError):
    """The daemon has stopped, or this process has closed the job."""

    code = lib.TORUS_ERR_SHUTDOWN


class OperatingSystemError(TorusError, OSError):
    """An operating system call failed."""

    code = lib.TORUS_ERR_SYSTEM


class PartitionedError(TorusError):
    """Nodes of the group do not hear each other; calls work again when they do."""

    code = lib.TORUS_ERR_PARTITIONED


class NotPermittedError(TorusError, PermissionError):
    """The job, memory or socket belongs to other users, or pickle is refused."""

    code = lib.TORUS_ERR_PERMISSION


class ObjectError(TorusError):
    """A rank cannot pickle its object, or has not one for each rank; raised on all ranks of the
    call."""


_CLASSES = {c.code: c for c in TorusError.__subclasses__() if c.code}


def make(code: int, sentence: str) -> TorusError:
    """Returns the exception of an error of the library."""
    error = _CLASSES.get(code, TorusError)(sentence)
    error.code = code
    return error


def text(pointer: object) -> str:
    """Returns a text of the library."""
    return ffi.string(pointer).decode("utf-8", "replace")
