# SPDX-License-Identifier: Apache-2.0
"""Requests of non-blocking calls.

A request owns the buffers of its call until the call is complete, also if the program drops the
request. `wait`, `test` and `await` return the result, or raise the exception of the call.

>>> import numpy as np
>>> total = np.zeros(1)
>>> request = job.Iallreduce(np.ones(1), total)
>>> request.wait()
>>> float(total[0]) == job.size
True
"""
from __future__ import annotations

import asyncio
import select
import threading
import time
from typing import Any, Callable, Generator, Iterable, List, Optional, Sequence

from ._torus import ffi, lib
from . import errors
from .context import Context

SLICE_NS = 100_000_000  # signals are handled this often


NOT_STARTED = 99  # no error of the library


class Recorded(Exception):
    """What an operator has raised: Request.wait raises it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class Request:
    """A call in flight. `keep` holds its buffers; `finish` makes the result.

    KeyboardInterrupt may come between any two steps, so the state is in memory that the library
    writes: `_entry[0]` is the request, NULL when the library has freed it, and `_outcome[0]` is
    then the outcome."""

    def __init__(self, context: Context, start: Callable[[Any], int], keep: Sequence[Any] = (),
                 finish: Optional[Callable[[], Any]] = None) -> None:
        self._context = context
        self._entry = ffi.new("torus_request *[1]")
        self._outcome = ffi.new("int[1]", [NOT_STARTED])
        self._lock = threading.Lock()  # one thread waits for a request
        self._keep: Any = keep
        self._finish = finish
        self._error: Optional[BaseException] = None
        self._result: Any = None
        self._done = False
        self._cancelling = False
        self._futures: List[asyncio.Future] = []
        context.enter()
        with context.lock:
            try:
                context.pending[id(self)] = self
                context.check(start(self._entry))
            finally:
                if self.idle:
                    context.pending.pop(id(self), None)
        _reap(context)

    def __repr__(self) -> str:
        state = "in flight" if not self._done else "failed" if self._error else "complete"
        return f"<torus.Request: {state}>"

    @property
    def idle(self) -> bool:
        """Whether the library knows nothing of the call: it was refused, or not made."""
        return self._entry[0] == ffi.NULL and self._outcome[0] == NOT_STARTED

    @property
    def done(self) -> bool:
        """Whether the call is known to be complete; `test` looks."""
        return self._done

    def _look(self, limit_ns: int) -> None:
        """Waits up to limit_ns for the outcome, and takes it. The caller holds the lock."""
        if self._done:
            return
        code = 0
        if self._entry[0] != ffi.NULL:
            code = lib.torus_waitall(self._entry, 1, limit_ns, self._outcome)
        if self.idle:
            raise errors.make(lib.TORUS_ERR_INVALID, "the call was interrupted before it was made")
        if self._entry[0] != ffi.NULL:
            if code not in (lib.TORUS_PENDING, lib.TORUS_OK):  # forked, or a failed system call
                self._context.check(code)
            return
        try:
            if self._outcome[0] < 0:
                pointer = (lib.torus_last_error(self._context.pointer) if code < 0 else
                           lib.torus_strerror(self._outcome[0]))
                raise errors.make(self._outcome[0], errors.text(pointer))
            if self._finish:
                self._result = self._finish()
        except Recorded as record:
            self._error = record.error
        except Exception as error:  # pylint: disable=broad-except
            self._error = error
        self._done = True
        self._finish = self._keep = None
        self._context.pending.pop(id(self), None)
        for future in self._futures:
            _call_in_loop(future.get_loop(), _wake, future)

    def poll(self) -> None:
        """Takes the outcome if the call is complete and no other thread waits for it."""
        if self._done or self.idle or self._lock.locked():
            return
        with self._lock:
            self._look(0)

    def _enter(self) -> None:
        if not self._done and not self._context.closed:
            self._context.enter()

    def _value(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._result

    def test(self) -> bool:
        """Returns whether the call is complete; raises its exception. It does not wait."""
        self._enter()
        self.poll()
        if self._done:
            self._value()
        return self._done

    def wait(self, timeout: Optional[float] = None) -> Any:
        """Waits for the call, up to `timeout` seconds, and returns its result. TimeoutError: the
        call is not complete yet, and continues."""
        self._enter()
        end = None if timeout is None else time.monotonic() + timeout
        while not self._done:
            left = SLICE_NS if end is None else int((end - time.monotonic()) * 1e9)
            if left < 0:
                raise TimeoutError(f"the call is not complete after {timeout} s; it continues")
            self._wait_slice(min(left, SLICE_NS))
        return self._value()

    def _wait_slice(self, limit_ns: int) -> None:
        if self._cancelling:
            time.sleep(0.001)
        with self._lock:  # no acquire(timeout): an interrupt after it would leave the lock taken
            self._look(limit_ns)

    def cancel(self) -> None:
        """Asks the service to end the call on all ranks. It may still succeed: wait for it."""
        self._enter()
        self._cancelling = True  # a thread that waits lets this one in
        with self._lock:
            self._cancelling = False
            if self._entry[0] != ffi.NULL:
                self._context.check(lib.torus_cancel(self._entry[0]))

    def __await__(self) -> Generator[Any, None, Any]:
        self._enter()
        self.poll()
        if not self._done:
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            self._futures.append(future)
            _watch(self._context, loop)
            try:
                if self._done:  # another thread has taken the outcome meanwhile
                    _wake(future)
                yield from future
            finally:  # if the task was cancelled, the call continues and keeps its buffers
                if future in self._futures:
                    self._futures.remove(future)
                _unwatch(self._context, loop)
        return self._value()

    Wait = wait
    Test = test
    Cancel = cancel

    @staticmethod
    def Waitall(requests: "Iterable[Request]") -> None:
        """Waits for all requests; torus.waitall also returns their results."""
        waitall(requests)

    @staticmethod
    def Testall(requests: "Iterable[Request]") -> bool:
        """Returns whether all requests are complete; raises the first exception of one."""
        return all([request.test() for request in requests])

    @staticmethod
    def Waitany(requests: "Sequence[Request]") -> int:
        """Waits until one of the requests is complete, and returns its index; torus.waitany."""
        return waitany(requests)


def waitall(requests: Iterable[Request], timeout: Optional[float] = None) -> List[Any]:
    """Waits for all requests, and returns their results. The first exception is raised when all
    are complete.

    >>> torus.waitall([job.Ibarrier(), job.Ibarrier()])
    [None, None]
    """
    requests = list(requests)
    end = None if timeout is None else time.monotonic() + timeout
    for request in requests:
        try:
            request.wait(None if end is None else max(0.0, end - time.monotonic()))
        except Exception:  # pylint: disable=broad-except
            if not request.done:
                raise
    return [request.wait() for request in requests]


def waitany(requests: Sequence[Request], timeout: Optional[float] = None) -> int:
    """Waits until one of the requests is complete, and returns the index of the first such one. Its
    `wait` has the result. TimeoutError: none is complete.

    >>> first, second = job.Ibarrier(), job.Ibarrier()
    >>> torus.waitany([first, second]) in (0, 1)
    True
    >>> torus.waitall([first, second])
    [None, None]
    """
    if not requests:
        raise ValueError("waitany has no requests")
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        for i, request in enumerate(requests):
            request._enter()
            request.poll()
            if request.done:
                return i
        left = SLICE_NS if end is None else int((end - time.monotonic()) * 1e9)
        if left < 0:
            raise TimeoutError(f"none of the calls is complete after {timeout} s; they continue")
        arrivals = select.poll()
        for descriptor in {lib.torus_fd(request._context.pointer) for request in requests}:
            arrivals.register(descriptor, select.POLLIN)
        arrivals.poll(min(left, SLICE_NS) / 1e6)  # another thread may take a reply: look again


def _reap(context: Context) -> None:
    """Looks at the two oldest requests: those that the program has dropped."""
    for _ in range(2):
        try:
            key, oldest = next(iter(context.pending.items()))
        except (StopIteration, RuntimeError):  # none, or another thread has changed them
            return
        with context.lock:  # nobody starts a request now: an idle one was interrupted
            if oldest.idle:
                context.pending.pop(key, None)
        oldest.poll()
        if not oldest.done:
            return


# ---- asyncio: the library's descriptor is readable while there is work ----


def _wake(future: asyncio.Future) -> None:
    if not future.done():
        future.set_result(None)


def _call_in_loop(loop: asyncio.AbstractEventLoop, function: Callable, argument: Any) -> None:
    try:
        loop.call_soon_threadsafe(function, argument)
    except RuntimeError:  # the loop is closed: nobody awaits
        pass


def _readable(context: Context) -> None:
    if not context.closed:
        lib.torus_dispatch(context.pointer)
    for request in list(context.pending.values()):
        request.poll()


def _watch(context: Context, loop: asyncio.AbstractEventLoop) -> None:
    watched = context.__dict__.setdefault("loops", {})
    watched[id(loop)] = watched.get(id(loop), 0) + 1
    if watched[id(loop)] == 1:
        loop.add_reader(lib.torus_fd(context.pointer), _readable, context)


def _unwatch(context: Context, loop: asyncio.AbstractEventLoop) -> None:
    watched = context.__dict__["loops"]
    watched[id(loop)] -= 1
    if watched[id(loop)] == 0:
        del watched[id(loop)]
        loop.remove_reader(lib.torus_fd(context.pointer))
