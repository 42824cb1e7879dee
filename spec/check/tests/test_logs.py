"""What is said if a log has the request, or not; and which files a bundle has."""

import unittest
from types import SimpleNamespace

from clew_check import bundle, opening, Refused, xr

LOG = object()


def said(*logs):
    """The caveats about the log of a group with these logs, from epoch 0 on."""
    group = SimpleNamespace(
        scheme=xr,
        revoked_in=lambda row, x: None,
        stolen=lambda: None,
        sharing=lambda e: (SimpleNamespace(origin=2), None),
        logs=lambda: list(enumerate(logs)),
    )
    entry = SimpleNamespace(index=0, how=2, joined=0, replaces=1)
    return opening.caveats(group, 0, entry, None)


REISSUED, NOT_ANCHORED, NOT_REQUESTED = ("name-reissued", None), ("not-anchored", None), ("not-requested", None)


class Logs(unittest.TestCase):
    def test_a_missing_request_is_said(self):
        self.assertEqual(said(None), [NOT_ANCHORED, REISSUED])
        self.assertEqual(said(None, None), [NOT_ANCHORED, REISSUED])
        for logs in ((LOG,), (None, LOG), (LOG, None, LOG)):
            self.assertEqual(said(*logs), [NOT_ANCHORED, NOT_REQUESTED, REISSUED])
        for epoch, logs in ((1, (LOG, None)), (2, (None, LOG, None, None)), (3, (LOG, None, LOG, None))):
            self.assertEqual(said(*logs), [NOT_ANCHORED, ("log-given-up", epoch), NOT_REQUESTED, REISSUED])

    def test_a_request_without_decisions_is_said(self):
        before = said(LOG, None)
        self.assertEqual(opening.caveats_of_request(before, [1, 3], 2), [NOT_ANCHORED, REISSUED])
        for trustees in ([], [2], [2, 2]):
            after = opening.caveats_of_request(before, trustees, 2)
            self.assertEqual(after, [NOT_ANCHORED, ("not-decided", None), REISSUED])

    def test_the_files_of_a_bundle(self):
        good = dict.fromkeys(("group.clew", "opening.txt", "packets.pcap", "origin.json", "report.html", "report.pdf"), b"")
        bundle.check_names(good)
        bundle.check_names(good | {"request.txt": b"", "decision-32.txt": b""})
        for name in ("README-FIRST.html", "decision-1.txt"):
            with self.assertRaises(Refused):
                bundle.check_names(good | {name: b""})
        for name in ("decision-01.txt", "decision-0.txt", "decision-33.txt", "decision-1"):
            with self.assertRaises(Refused):
                bundle.check_names(good | {"request.txt": b"", name: b""})
        with self.assertRaises(Refused):
            bundle.check_names({name: data for name, data in good.items() if name != "report.pdf"})

    def test_versions(self):
        for good in ("0.1.0", "1.0.0-rc.1", "a" * 32):
            self.assertTrue(bundle.is_version(good))
        for bad in ("", "a" * 33, "0.1.0\33[2J", "0.1 0", None, 1):
            self.assertFalse(bundle.is_version(bad))


if __name__ == "__main__":
    unittest.main()
