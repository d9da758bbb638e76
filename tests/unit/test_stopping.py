"""Asked to end, a process does so where it can, wherever the signal found it."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from recollect.stopping import Stopped, asked_to_stop


def ask(number: int = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.timed
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_sleeper_wakes_when_it_is_asked_to_end(number: int) -> None:
    with asked_to_stop() as stop:
        assert not stop.wait(0.01)
        threading.Timer(0.05, ask, (number,)).start()
        began = time.monotonic()
        assert stop.wait(10)
        assert time.monotonic() - began < 5
        assert stop.asked == number


def test_a_request_that_comes_in_a_finalizer_is_not_lost() -> None:
    class Last:
        def __del__(self) -> None:
            ask()

    with asked_to_stop() as stop:
        stop.check()
        Last()
        assert stop.wait(0)
        with pytest.raises(Stopped):
            stop.check()


def test_the_second_request_means_now() -> None:
    with asked_to_stop():
        ask(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            ask(signal.SIGINT)


def test_afterwards_signals_mean_what_they_meant_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with asked_to_stop():
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] != before
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
