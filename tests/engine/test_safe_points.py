"""Ctrl-C waits for a safe point, and is never lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

import tidalog
from tidalog.engine.interrupts import anywhere, at_safe_points, check_interrupt


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    """Every block gives the handler back that it found."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def test_it_waits_for_a_safe_point() -> None:
    passed: list[str] = []
    with pytest.raises(KeyboardInterrupt), at_safe_points():
        ctrl_c()
        passed.append("after Ctrl-C")
        check_interrupt()
        passed.append("after the safe point")
    assert passed == ["after Ctrl-C"]


def test_without_a_safe_point_it_waits_for_the_end() -> None:
    passed: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        with at_safe_points():
            with at_safe_points():  # of a function that a rule calls, with a knowledge base of its own
                ctrl_c()
                ctrl_c()
            passed.append("after the inner block")
        passed.append("after the outer block")
    assert passed == ["after the inner block"]


def test_it_is_raised_once() -> None:
    with at_safe_points():
        ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
        check_interrupt()


def test_an_error_does_not_hide_it() -> None:
    with pytest.raises(KeyboardInterrupt) as raised, at_safe_points():
        ctrl_c()
        raise ValueError
    assert isinstance(raised.value.__context__, ValueError)


def test_code_of_the_user_is_stopped_at_once_and_what_follows_is_not() -> None:
    passed: list[str] = []
    with at_safe_points():
        with pytest.raises(KeyboardInterrupt), anywhere():
            ctrl_c()
            passed.append("code of the user")
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()
            passed.append("rollback")
            check_interrupt()
    assert passed == ["rollback"]


def test_a_handler_of_the_user_is_called_at_the_safe_point() -> None:
    calls: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: calls.append(number))
    with at_safe_points():
        ctrl_c()
        assert calls == []
        check_interrupt()
        assert calls == [signal.SIGINT]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_another_thread_does_not_get_it() -> None:
    found: list[str] = []

    def work() -> None:
        with at_safe_points(), anywhere():
            check_interrupt()
            found.append("no interrupt")

    with pytest.raises(KeyboardInterrupt), at_safe_points():
        ctrl_c()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == ["no interrupt"]


@pytest.mark.parametrize("call", ["apply", "materialise", "query"])
def test_it_stops_a_function_that_rules_call(call: str) -> None:
    """As if it waited for an answer that does not come; and the facts are as they were."""
    kb = tidalog.open()

    @kb.function
    def ask(value: int) -> int:
        if value == 7:
            ctrl_c()
            raise AssertionError("it went on")
        return value

    kb.load("known(1). answer(?y) :- known(?x), ?y = ASK(?x).")
    if call == "materialise":
        kb.insert("known", [(7,)])
    else:
        kb.materialise()
    with pytest.raises(tidalog.RunError, match="T053"):
        match call:
            case "apply":
                kb.insert("known", [(7,)])
            case "materialise":
                kb.materialise()
            case _:
                kb.query("?y :- known(?x), ?y = ASK(?x + 6)")
    kb.delete("known", [(7,)])
    assert list(kb.facts("answer")) == [(1,)]
