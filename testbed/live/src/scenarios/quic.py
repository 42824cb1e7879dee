"""A QUIC server that sends a million bytes on each stream, or a client that asks for them."""

import asyncio
import ssl
import sys
from datetime import datetime, timedelta, timezone

from aioquic.asyncio import connect, serve
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

COUNT = 1_000_000
PORT = 4433


def certificate(folder):
    """A key and a certificate that nobody checks."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "bed")])
    now = datetime.now(timezone.utc)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name)
    builder = builder.public_key(key.public_key()).serial_number(1)
    builder = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1))
    signed = builder.sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8
    with open(f"{folder}/quic.key", "wb") as file:
        file.write(key.private_bytes(pem, form, serialization.NoEncryption()))
    with open(f"{folder}/quic.crt", "wb") as file:
        file.write(signed.public_bytes(pem))


async def answer(reader, writer):
    await reader.read()
    writer.write(bytes(COUNT))
    writer.write_eof()


async def serving(address, folder):
    certificate(folder)
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["bed"])
    configuration.load_cert_chain(f"{folder}/quic.crt", f"{folder}/quic.key")
    handler = lambda reader, writer: asyncio.ensure_future(answer(reader, writer))
    await serve(address, PORT, configuration=configuration, stream_handler=handler)
    await asyncio.Future()


async def fetching(address, _):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["bed"])
    configuration.verify_mode = ssl.CERT_NONE
    async with connect(address, PORT, configuration=configuration) as client:
        reader, writer = await client.create_stream()
        writer.write(b"all")
        writer.write_eof()
        got = await asyncio.wait_for(reader.read(), 20)
    sys.exit(0 if len(got) == COUNT else f"{len(got)} of {COUNT} bytes")


asyncio.run({"serve": serving, "fetch": fetching}[sys.argv[1]](*sys.argv[2:]))
