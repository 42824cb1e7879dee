import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from clew_check import bbs04, curve, group_file, join, key_file, merkle, opening, quorum, receiver  # noqa: E402,F401
from clew_check import Refused, register, revocation, text, xr  # noqa: E402,F401


class Case(unittest.TestCase):
    def refuses(self, rule, function, *arguments, where=None):
        with self.assertRaises(Refused) as caught:
            function(*arguments)
        self.assertEqual(caught.exception.rule, rule, str(caught.exception))
        if where is not None:
            self.assertIn(str(where), str(caught.exception.where))


def flip(data, at, bit=1):
    data = bytearray(data)
    data[at] ^= bit
    return bytes(data)


def put(data, at, value):
    return data[:at] + value + data[at + len(value) :]
