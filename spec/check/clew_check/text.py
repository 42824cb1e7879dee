"""key-file.md section 1: the text form of one object."""

from base64 import b64decode, b64encode
from binascii import Error
from hashlib import sha256

from . import need, Refused

LIMIT = 16 * 1024


def _line(data):
    """The label and the base64 of the one line."""
    need(len(data) <= LIMIT, "not-a-key")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Refused("not-a-key")
    lines = [line.strip() for line in text.split("\n")]
    lines = [line for line in lines if line and not line.startswith("#")]
    need(len(lines) == 1, "not-a-key")
    label, space, value = lines[0].partition(" ")
    value = value.strip()
    need(space and value and label.startswith("clew-"), "not-a-key")
    return label, value


def label(data):
    return _line(data)[0]


def read(data):
    """The label and the payload."""
    label, value = _line(data)
    try:
        payload = b64decode(value, validate=True)
    except (Error, ValueError):
        raise Refused("damaged")
    need(b64encode(payload).decode() == value, "damaged")  # one encoding
    need(len(payload) >= 8 and payload[-8:] == checksum(label, payload[:-8]), "damaged")
    return label, payload[:-8]


def checksum(label, payload):
    return sha256(label.encode() + payload).digest()[:8]


def write(label, payload):
    return f"{label} {b64encode(payload + checksum(label, payload)).decode()}\n".encode()
