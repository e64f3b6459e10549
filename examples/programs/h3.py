"""HTTP/3 (aioquic) with the patience that Mars takes: a server of one page, and a client that fetches it.

    dstcc run examples/programs/mars.toml -o runs/h3 --earth "python3 /run/here/examples/programs/h3.py serve" \\
        -- python3 /run/here/examples/programs/h3.py get earth 20000

aioquic's own ``connect`` wants IPv6, which the guest has not, so the client makes its endpoint itself. QUIC gives up
after an idle timeout; a minute of silence is nothing here.
"""

from __future__ import annotations

import asyncio
import datetime
import ssl
import sys
import time
from pathlib import Path
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ProtocolNegotiated, QuicEvent

PORT = 4433
PATIENCE_S = 3600.0
"""Idle timeout of the program's clock; QUIC's first guess at the round trip is a fraction of a second."""


class Http3(QuicConnectionProtocol):
    """Either end of an HTTP/3 connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.http: H3Connection | None = None
        self.received = 0
        self.done: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def quic_event_received(self, event: QuicEvent) -> None:
        """Hand QUIC's events to HTTP/3."""
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        if self.http is not None:
            for said in self.http.handle_event(event):
                if isinstance(said, HeadersReceived) and not self._quic.configuration.is_client:
                    self._answer(said)
                elif isinstance(said, DataReceived):
                    self.received += len(said.data)
                    if said.stream_ended and not self.done.done():
                        self.done.set_result(self.received)

    def _answer(self, asked: HeadersReceived) -> None:
        """As many bytes as the path says: ``/20000``."""
        path = dict(asked.headers)[b":path"].decode()
        print("asked for", path)
        assert self.http is not None
        self.http.send_headers(asked.stream_id, [(b":status", b"200")])
        self.http.send_data(asked.stream_id, b"x" * int(path.lstrip("/")), end_stream=True)
        self.transmit()

    def get(self, host: str, path: str) -> None:
        """Ask for a page."""
        self.http = self.http or H3Connection(self._quic)
        stream = self._quic.get_next_available_stream_id()
        names = [
            (b":method", b"GET"),
            (b":scheme", b"https"),
            (b":authority", host.encode()),
            (b":path", path.encode()),
        ]
        self.http.send_headers(stream, names, end_stream=True)
        self.transmit()


async def server() -> None:
    """Serve for ever."""
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN, idle_timeout=PATIENCE_S)
    configuration.load_cert_chain(*certificate())
    await serve("0.0.0.0", PORT, configuration=configuration, create_protocol=Http3)
    print("serving")
    await asyncio.Event().wait()


async def client(host: str, size: int) -> None:
    """Fetch one page and say how long it took."""
    began = time.monotonic()
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=H3_ALPN, idle_timeout=PATIENCE_S, verify_mode=ssl.CERT_NONE
    )
    connection = QuicConnection(configuration=configuration)
    loop = asyncio.get_running_loop()
    _, protocol = await loop.create_datagram_endpoint(lambda: Http3(connection), local_addr=("0.0.0.0", 0))
    (address,) = {entry[4] for entry in await loop.getaddrinfo(host, PORT, family=2, type=2)}
    protocol.connect(address)
    await protocol.wait_connected()
    print(f"connected after {time.monotonic() - began:.3f} s")
    protocol.get(host, f"/{size}")
    print(f"{await protocol.done} bytes after {time.monotonic() - began:.3f} s")


def certificate() -> tuple[Path, Path]:
    """A key and a certificate signed with it, in the current folder."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "earth")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=365))
        .sign(key, hashes.SHA256())
    )
    paths = Path("cert.pem"), Path("key.pem")
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return paths


if __name__ == "__main__":
    asyncio.run(server() if sys.argv[1] == "serve" else client(sys.argv[2], int(sys.argv[3])))
