"""A fleet after a fork: one in memory works on in the child, one in a file says what to do."""

import os
import threading

import numpy as np
import pytest

import lastblock as lb

POLICY = lb.LBSDALM(minimum=4, scale=0.5)
OPTIONS = {"arms": 3, "size": 5000, "seed": 7, "threads": 2}
IDS = np.arange(5000)


def in_child(work):
    """What a forked process answers: bytes, or why it could not."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, work())
        except BaseException as error:
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        answer = answers.read()
    os.waitpid(child, 0)
    return answer


def says(act):
    """The message of a ValueError."""
    try:
        act()
    except ValueError as error:
        return str(error).encode()
    return b"no error"


def test_a_fleet_in_memory_works_in_the_child_with_threads_of_its_own():
    fleet = lb.Fleet(POLICY, **OPTIONS)
    fleet.tell(IDS, fleet.ask(IDS), np.ones(IDS.size))
    assert in_child(lambda: fleet.ask(IDS).tobytes()) == fleet.ask(IDS).tobytes()


def test_a_fleet_in_memory_that_was_in_use_says_so_in_the_child():
    fleet = lb.Fleet(POLICY, **OPTIONS)
    held, done = threading.Event(), threading.Event()

    def hold():
        with fleet._lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    answer = in_child(lambda: says(lambda: fleet.ask(IDS)))
    done.set()
    thread.join()
    assert answer.startswith(b"another thread was using this fleet when the process was forked")
    assert fleet.ask(IDS).size == IDS.size


@pytest.mark.parametrize("keeps", [False, True])
def test_a_fleet_in_a_file_belongs_to_the_process_that_opened_it(tmp_path, keeps):
    path = tmp_path / "fleet"
    with lb.Fleet.create(path, POLICY, **OPTIONS) as fleet:
        arms = fleet.ask(IDS)
        kept = fleet._states if keeps else None  # as a thread in the middle of a batch does

        def refused():
            answers = [
                says(lambda: fleet.ask(IDS)),
                says(lambda: fleet.tell(IDS, arms, np.ones(IDS.size))),
                says(lambda: lb.Fleet.open(path)),
            ]
            fleet.flush()
            fleet.close()
            return b"\n".join(answers)

        asked, told, opened = in_child(refused).split(b"\n")
        expected = f"this fleet belongs to the process that opened {path}, and a forked process"
        assert asked == told
        assert told.decode().startswith(expected)
        assert told.endswith(b"or start workers by spawn")
        assert b"is open elsewhere" in opened
        fleet.tell(IDS, arms, np.ones(IDS.size))
        del kept
    with lb.Fleet.open(path) as fleet:
        assert fleet.pulls().sum() == IDS.size


def test_a_child_may_open_the_file_when_the_parent_has_closed_it(tmp_path):
    path = tmp_path / "fleet"
    fleet = lb.Fleet.create(path, POLICY, **OPTIONS)
    arms = fleet.ask(IDS)
    go, closed = os.pipe()

    def opens():
        os.read(go, 1)
        with lb.Fleet.open(path) as again:
            again.tell(IDS, arms, np.ones(IDS.size))
        return b"told"

    answers = []
    waiting = threading.Thread(target=lambda: answers.append(in_child(opens)))
    waiting.start()
    fleet.close()
    os.write(closed, b".")
    waiting.join()
    os.close(go)
    os.close(closed)
    assert answers == [b"told"]
    with lb.Fleet.open(path) as fleet:
        assert fleet.pulls().sum() == IDS.size


def test_the_file_is_free_when_the_parent_closes_while_a_child_lives(tmp_path):
    path = tmp_path / "fleet"
    fleet = lb.Fleet.create(path, POLICY, **OPTIONS)
    go, closed = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(go, 1)
        os._exit(0)
    try:
        fleet.close()
        lb.Fleet.open(path).close()
    finally:
        os.write(closed, b".")
        os.waitpid(child, 0)
        os.close(go)
        os.close(closed)
