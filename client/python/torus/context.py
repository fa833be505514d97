# SPDX-License-Identifier: Apache-2.0
"""A connection to the daemon of this node.

Everything that uses the connection (groups, requests, arrays) refers to its Context, so the library
frees it after the last of them. A close ends the connection at once; arrays keep their mapping.
The library locks the connection, so that several threads may use it; a call of the library releases
the interpreter's lock. A call that waits for the daemon inside of the library runs in a thread of its
own, so that Ctrl-C ends the wait. A forked child sends nothing, nor does the interpreter when it
ends.
"""
from __future__ import annotations

import _thread
import collections
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, List, Optional, Set, TypeVar

import numpy as np

from ._torus import ffi, lib
from . import errors

if TYPE_CHECKING:
    from .requests import Request

Result = TypeVar("Result")
REGION = 1 << 20  # bytes; larger memory is a region of its own, which the daemon has to map
_warned: Set[int] = set()  # processes whose variables were looked at
combining = threading.local()  # `active`: the thread runs a user-defined operator


def _destroy(pointer: Any, pid: int = os.getpid(), getpid: Callable[[], int] = os.getpid,
             finalizing: Callable[[], bool] = sys.is_finalizing,
             close: Any = lib.torus_close) -> None:
    if getpid() == pid and not finalizing():
        close(pointer)


@ffi.def_extern()
def torus_py_warn(_code: int, text: Any, _user: Any) -> None:
    """torus_log_function of the variables of the environment that torusd does not know."""
    print(f"torus: warning: {errors.text(text)}", file=sys.stderr)


def _warn(pointer: Any) -> None:
    """Prints these warnings, once in a process."""
    if os.getpid() in _warned:
        return
    _warned.add(os.getpid())
    lib.torus_set_log(pointer, lib.torus_py_warn, ffi.NULL)
    lib.torus_set_log(pointer, ffi.NULL, ffi.NULL)


class Context:
    """A connection; `lock` makes several calls of the library one step for other threads."""

    def __init__(self, socket: Optional[str] = None) -> None:
        options = ffi.new("struct torus_open_options *")
        path = ffi.NULL if socket is None else ffi.new("char[]", os.fsencode(socket))
        options.size = ffi.sizeof("struct torus_open_options")
        options.socket = path
        options.threads = 1
        self.pid = os.getpid()
        self.closed = False
        self.groups = 0
        self.groups_most = 128  # handles.make_room collects then
        self.lock = threading.RLock()
        self.pending: Dict[int, "Request"] = {}  # in flight; these own their buffers
        self._deferred: Deque[Any] = collections.deque()
        self._busy: Set[object] = set()  # calls in threads of their own

        def connect() -> None:
            made = ffi.new("torus_context **")
            code = lib.torus_open(made, options)
            if made[0] == ffi.NULL:
                raise errors.make(code, "no memory for a connection")
            # bound to this process: a child must not close what it has inherited
            self.pointer = ffi.gc(made[0], lambda p, pid=self.pid: _destroy(p, pid))
            self.check(code)
            _warn(self.pointer)

        self.interruptible(connect)

    def interruptible(self, function: Callable[[], Result]) -> Result:
        """Returns function(), which calls the library and may wait there. An exception of a signal's
        handler, such as KeyboardInterrupt, ends the wait; the function continues in its thread, and
        the destructor of its result frees the result. Handlers run in the main thread alone."""
        if threading.get_ident() != threading.main_thread().ident:
            return function()
        ended, token = _thread.allocate_lock(), object()
        results: List[Result] = []
        raised: List[BaseException] = []

        def run() -> None:
            try:
                results.append(function())
            except BaseException as error:  # pylint: disable=broad-except
                raised.append(error)
            finally:
                self._busy.discard(token)
                ended.release()

        ended.acquire()
        self._busy.add(token)
        try:
            _thread.start_new_thread(run, ())
        except RuntimeError:  # no more threads
            self._busy.discard(token)
            return function()
        ended.acquire()
        if raised:
            raise raised.pop()
        return results.pop()

    def check(self, code: int) -> None:
        """Raises the exception of an error that the calling thread got."""
        if code < 0:
            raise errors.make(code, errors.text(lib.torus_last_error(self.pointer)))

    def enter(self) -> None:
        """Raises an exception if this thread may not call the library now."""
        if os.getpid() != self.pid:
            raise errors.make(lib.TORUS_ERR_FORKED,
                              f"the job belongs to the parent process, {self.pid}: join a job of "
                              "this process")
        if self.closed:
            raise errors.make(lib.TORUS_ERR_SHUTDOWN, "this process has closed the job")
        if getattr(combining, "active", False):
            raise errors.make(lib.TORUS_ERR_INVALID, "a user-defined operator must not call torus")
        while self._busy and threading.get_ident() == threading.main_thread().ident:
            time.sleep(0.001)  # a signal has ended the wait for a call, which holds the library's lock
        self.drain()

    def defer(self, function: Any, *arguments: Any) -> None:
        """Calls a function of the library in the next call, for destructors: these may run at any
        moment in any thread. After close there is no next call, and nothing is sent any more."""
        self._deferred.append((function, arguments))
        if self.closed and os.getpid() == self.pid and not (sys.is_finalizing() or self._busy):
            self.drain()

    def drain(self) -> None:
        """Makes the deferred calls."""
        while self._deferred:
            try:
                function, arguments = self._deferred.popleft()
            except IndexError:  # another thread was faster
                return
            function(*arguments)

    def empty(self, shape: Any, dtype: Any) -> np.ndarray:
        """Returns an array of zeros in shared memory, which the service uses in place."""
        self.enter()
        dtype = np.dtype(dtype)
        if dtype.hasobject:
            raise TypeError("shared memory cannot hold Python objects (dtype "
                            f"{dtype}): use the lower-case calls")
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        count = 1
        for length in shape:
            if length < 0:
                raise ValueError(f"negative length in shape {shape}")
            count *= int(length)
        size = count * dtype.itemsize
        memory = self._allocate(size) if size < REGION else self.interruptible(
            lambda: self._allocate(size))
        return np.frombuffer(ffi.buffer(memory, max(size, 1)), np.uint8)[:size].view(
            dtype).reshape(shape)

    def _allocate(self, size: int) -> Any:
        address = lib.torus_alloc(self.pointer, size)
        if address == ffi.NULL:
            sentence = errors.text(lib.torus_last_error(self.pointer))
            self.enter()  # another thread may have closed the job
            lost = lib.torus_dispatch(self.pointer)
            raise errors.make(min(lost, 0) or lib.TORUS_ERR_NO_MEMORY, sentence)
        return ffi.gc(address, lambda a: self.defer(lib.torus_free, self.pointer, a))

    def disconnect(self) -> None:
        """Leaves all groups and ends the connection, at once; sends nothing in a child."""
        if self.closed or os.getpid() != self.pid:
            return
        self.closed = True
        if self._busy:  # as in enter: do not wait for it
            _thread.start_new_thread(self._leave, ())
        else:
            self._leave()

    def _leave(self) -> None:
        lib.torus_disconnect(self.pointer)
        for request in list(self.pending.values()):
            request.poll()
        self.drain()
