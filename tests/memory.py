"""What a program takes of memory, in a process of its own."""

import subprocess
import sys

# The peak since the program began: `getrusage` counts what its parent held, too.
PEAK = """
from pathlib import Path
told = Path("/proc/self/status").read_text().split()
print(told[told.index("VmHWM:") + 1])
"""


def run(program, *arguments):
    """The number that a program prints, and its peak of memory in kilobytes."""
    done = subprocess.run(
        [sys.executable, "-c", program + PEAK, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    printed, kilobytes = map(int, done.stdout.split())
    return printed, kilobytes
