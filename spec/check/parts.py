#!/usr/bin/env python3
"""Runs the parts of this verifier's own check, as many at a time as there are cores: parts.py [CLEW].

A part is a file of tests, the test vectors, or a comparison with the program CLEW. What each part printed comes whole and
in the order of the list, with the time that it took. Exit status: 0 if all parts passed, else 1.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS, VECTORS, CAPTURES = HERE / "tests", HERE.parent / "vectors", HERE.parents[1] / "crates/clew/tests/captures"
FLOW = CAPTURES / "tcpdump--quic_handshake.pcap"
MIXED = [CAPTURES / name for name in ("arkime--v6.pcap", "zeek--ssh-ssh.pcap", "zeek--pppoe-over-qinq.pcap")]


def parts(clew):
    """The words of each part behind the name of Python, the slowest first."""
    if clew:
        yield "agree_flow.py", clew, FLOW
        yield "agree_effs.py", clew, FLOW
        yield "agree.py", clew, FLOW, *MIXED
    for file in sorted(TESTS.glob("test_*.py")):
        yield "-m", "unittest", "discover", "-s", TESTS, "-p", file.name
    yield "check.py", "vectors", VECTORS


def run(part):
    start = time.monotonic()
    words = [sys.executable, *map(str, part)]
    done = subprocess.run(words, cwd=HERE, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done, time.monotonic() - start


def main(words):
    clew = Path(words[0]).resolve() if words else None
    start, todo, failed = time.monotonic(), list(parts(clew)), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for part, (done, seconds) in zip(todo, pool.map(run, todo)):
            failed += done.returncode != 0
            name = part[-1] if part[0] == "-m" else part[0]
            print(f"== {name}: {'failed' if done.returncode else 'passed'} in {seconds:.1f} s\n{done.stdout}", flush=True)
    print(f"in {time.monotonic() - start:.1f} s:\n{len(todo) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
