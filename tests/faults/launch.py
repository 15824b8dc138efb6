"""Runs one command under limits and reports its cost: `python launch.py FD COMMAND...`.

The test runner cannot measure it: what the kernel counts as a child's peak of memory includes that of the process it
was forked from, and the test runner is large. This one is small.
"""

import ctypes
import json
import os
import resource
import sys

CPU_SECONDS = 4  # the tests ask for less; this ends a command that would run forever
_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


def main(report: int, command: list[str]) -> None:
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # root may read everything; without these two capabilities it is a user like any other.
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
        os.close(report)
        os.execv(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    answer = {
        "code": os.waitstatus_to_exitcode(status),
        "cpu": usage.ru_utime + usage.ru_stime,
        "megabytes": usage.ru_maxrss / 1024,
    }
    os.write(report, json.dumps(answer).encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
