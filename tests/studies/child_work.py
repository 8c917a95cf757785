"""What a file could make its reader do, as work for a child process without Django."""

import os
import sys

from studies.errors import BadOption
from studies.importers.files.faults import Fault, Refused


def takes_memory(send):
    send("begun")
    len(b"x" * (3 << 30))


def takes_time(send):
    while True:
        pass


def breaks_down(send):
    send("begun")
    os.abort()


def refuses(send):
    raise Refused([Fault(3, "f", "r", "m")], is_cut=True)


def finds_a_bad_option(send):
    raise BadOption("seed", "m")


def finds_no_file(send):
    raise FileNotFoundError(2, "gone")


def prints(send):
    sys.stdout.write("not a pickle")
    sys.stdout.flush()
    send("read")


def sends_for_ever(send):
    while True:
        send("x" * 1_000)
