"""bundle.md: one file for a court."""

import struct
from hashlib import sha256
from string import ascii_letters, digits
from zlib import crc32

from . import need, Reader, Refused

LIMIT, FILES_MAX, NAME_MAX = 64 << 20, 64, 64
SUMS = "SHA256SUMS"
FORM = bytes([20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0])
VERSION = set(ascii_letters + digits + "-.")
LETTERS = set(ascii_letters + digits + "-_.")


def read(data):
    """The files by name, once form and sums hold."""
    need(len(data) <= LIMIT, "form")
    fields, files = Reader(data, "form"), {}
    while data[fields.at : fields.at + 4] == b"PK\3\4":
        header = fields.take(30)
        size, length = struct.unpack_from("<I", header, 18)[0], struct.unpack_from("<H", header, 26)[0]
        try:
            name = fields.take(length).decode()
        except UnicodeDecodeError:
            raise Refused("form")
        files[name] = fields.take(size)
    need(write(files) == data, "form")
    sums = files.pop(SUMS, None)
    need(sums == sums_of(files), "sums")
    return files


def sums_of(files):
    return "".join(f"{sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)).encode()


def write(files):
    """The one form of these files."""
    need(len(files) <= FILES_MAX, "form")
    local, central = b"", b""
    for name in sorted(files):
        need(0 < len(name) <= NAME_MAX and set(name) <= LETTERS and not name.startswith("."), "form")
        data = files[name]
        entry = FORM + struct.pack("<IIIHH", crc32(data), len(data), len(data), len(name), 0)
        central += b"PK\1\2\x14\0" + entry + bytes(10) + struct.pack("<I", len(local)) + name.encode()
        local += b"PK\3\4" + entry + name.encode() + data
    end = struct.pack("<HHHHIIH", 0, 0, len(files), len(files), len(central), len(local), 0)
    return local + central + b"PK\5\6" + end


NAMES = {"group.clew", "opening.txt", "match.txt", "packets.pcap", "packets.pcapng", "warrant.txt", "request.txt"}
REPORTS = {"report.html", "report.pdf"}
NAMES |= {"origin.json"} | REPORTS
DECISIONS = {f"decision-{trustee}.txt": trustee for trustee in range(1, 33)}


def decision(name):
    """Whose decision a file of that name is, or None."""
    return DECISIONS.get(name)


def check_names(files):
    """Section 2: both reports, no other files, and decisions only with a request."""
    need(REPORTS <= set(files), "files", "reports")
    for name in files:
        need(name in NAMES or decision(name), "files", name)
    need("request.txt" in files or not any(map(decision, files)), "files", "decisions without request.txt")


def is_version(text):
    return isinstance(text, str) and 0 < len(text) <= 32 and set(text) <= VERSION


def is_capture(text):
    return isinstance(text, str) and 0 < len(text.encode()) <= 255


def one_of(files, *names):
    found = [name for name in names if name in files]
    need(len(found) == 1, "files", " or ".join(names))
    return files[found[0]]
