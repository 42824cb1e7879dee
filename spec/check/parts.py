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
    """Name of each part and its words behind Python's, the slowest first."""
    if clew:
        yield "agree_flow.py", ["agree_flow.py", clew, FLOW]
        yield "agree_effs.py", ["agree_effs.py", clew, FLOW]
        yield "agree.py", ["agree.py", clew, FLOW, *MIXED]
    for file in sorted(TESTS.glob("test_*.py")):
        yield file.name, ["-m", "unittest", "discover", "-s", TESTS, "-p", file.name]
    yield "vectors", ["check.py", "vectors", VECTORS]


def run(words):
    start, command = time.monotonic(), [sys.executable, *map(str, words)]
    done = subprocess.run(command, cwd=HERE, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done, time.monotonic() - start


def main(words):
    clew = Path(words[0]).resolve() if words else None
    start, failed, (names, todo) = time.monotonic(), 0, zip(*parts(clew))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, (done, seconds) in zip(names, pool.map(run, todo)):
            failed += done.returncode != 0
            print(f"== {name}: {'failed' if done.returncode else 'passed'} in {seconds:.1f} s\n{done.stdout}", flush=True)
    print(f"in {time.monotonic() - start:.1f} s:\n{len(todo) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
