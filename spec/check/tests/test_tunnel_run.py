"""The reader of runs (vectors_tunnel_run.py): what is changed in a file it does not take."""

import copy
import unittest
from pathlib import Path

from clew_check import Refused
from clew_check.cases import read
from clew_check.vectors_tunnel_run import run

CASES = read(Path(__file__).parents[2] / "vectors" / "tunnel.jsonl")
NAMES = ("trace-plain", "trace-moved", "rekey-twice", "replay-rekey", "puzzle-asked-8", "stale-followed", "sequence-gap")


def outcome(case):
    try:
        run(case)
    except Refused as refused:
        return refused.rule
    except AssertionError:
        return "differs"
    return "valid"


class Changed(unittest.TestCase):
    def changed(self, kind, change):
        """Each event of a kind is changed in a copy."""
        for name in NAMES:
            case = copy.deepcopy(CASES[name])
            self.assertEqual(outcome(case), case.expect, name)
            for place, event in enumerate(case["event"]):
                if event.split(" ")[2] == kind:
                    other = copy.deepcopy(case)
                    change(other, place, event.split(" "))
                    self.assertEqual(outcome(other), "differs", f"{name}: {event}")

    def test_another_verdict(self):
        def change(case, place, words):
            case["event"][place] = " ".join([*words[:5], "bad-time" if words[5] == "taken" else "taken"])

        self.changed("gets", change)

    def test_another_packet_is_sent(self):
        """A bit of the box, or of what stands before it."""

        def change(case, place, words):
            number = int(words[3])
            packet = bytearray(case["packet"][number])
            packet[(place * 7) % len(packet)] ^= 4
            case["packet"][number] = bytes(packet)

        self.changed("sends", change)

    def test_the_program_hears_something_else(self):
        def change(case, place, words):
            case["event"][place] = " ".join([*words, "more"])

        self.changed("hears", change)

    def test_an_answer_without_a_box_is_not_sent(self):
        for name in ("stale-followed", "puzzle-asked-8"):
            case = copy.deepcopy(CASES[name])
            plain = [n for n, packet in enumerate(case["packet"]) if packet[0] & 0xC0 and not packet[15] & 1]
            sent = [f"server sends {n} " for n in plain]
            case["event"] = [event for event in case["event"] if not any(words in event for words in sent)]
            self.assertEqual(outcome(case), "differs", name)

    def test_a_server_sends_elsewhere(self):
        for name in NAMES:
            case = copy.deepcopy(CASES[name])
            last = max(place for place, event in enumerate(case["event"]) if " server sends " in event)
            case["event"][last] += "1"
            self.assertEqual(outcome(case), "differs", name)


if __name__ == "__main__":
    unittest.main()
