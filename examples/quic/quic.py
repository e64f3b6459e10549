#!/usr/bin/env python3
"""HTTP/3 by aioquic or qh3 with the knobs that distance asks for: a server of one connection, and a client.

    quic.py serve [KNOBS]
    quic.py get HOST BYTES [KNOBS]

Both end with a line of JSON. A knob that a stack has not is refused (exit code 2). The loop is a socket, the stack's
next timer and nothing else; times are of the program's clock, from its start. A time may be a sum of products, like
``2*480+21600``.
"""

from __future__ import annotations

import argparse
import json
import math
import select
import signal
import socket
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

PORT = 4433
LARGEST = 65_536
DATAGRAM = b"d" * 1000
STACKS = ("aioquic", "qh3")
OF_AIOQUIC = {
    "ack_delay": "its ACK delay is 25 ms",
    "congestion": "its congestion control is CUBIC",
    "window": "its first window is its own",
}
"""Knobs that qh3 has not, and what it has in their place."""


class StoppedError(Exception):
    """Somebody ended the program."""


class End:
    """An end of a connection: what both share."""

    def __init__(self, knobs: argparse.Namespace) -> None:
        self.knobs, self.began = knobs, time.monotonic()
        self.said: dict[str, Any] = {
            "bytes": 0,
            "sent_bytes": 0,
            "sent_datagrams": 0,
            "received_datagrams": 0,
        }
        self.quic: Any = None
        self.http: Any = None
        self.log = self.part("quic.logger").QuicLogger() if knobs.qlog else None
        self.over = False
        self.ping_at = math.inf

    def part(self, name: str) -> Any:
        """A module of the stack."""
        return import_module(f"{self.knobs.stack}.{name}")

    def configuration(self, **more: Any) -> Any:
        """As the knobs say."""
        given = {
            "alpn_protocols": ["h3"],
            "initial_rtt": self.knobs.initial_rtt,
            "idle_timeout": self.knobs.idle_timeout,
            "max_data": self.knobs.max_data,
            "max_stream_data": self.knobs.max_stream_data or self.knobs.max_data,
            "congestion_control_algorithm": self.knobs.congestion,
            "max_datagram_frame_size": LARGEST,
            "quic_logger": self.log,
            **more,
        }
        made = self.part("quic.configuration").QuicConfiguration
        return made(**{key: value for key, value in given.items() if value is not None})

    def connection(self, configuration: Any, **more: Any) -> Any:
        """With what the stack has no setting for."""
        made = self.part("quic.connection").QuicConnection(configuration=configuration, **more)
        if self.knobs.ack_delay is not None:
            made._ack_delay = self.knobs.ack_delay
        if self.knobs.window is not None:
            made._loss._cc.congestion_window = self.knobs.window
        return made

    def now(self) -> float:
        """Since the program's start."""
        return time.monotonic() - self.began

    def run(self, line: socket.socket) -> None:
        """Until the connection is over, or it is enough."""
        while not self.over:
            timer = self.timer()
            left = None if timer is None else max(0.0, timer - time.monotonic())
            ready, _, _ = select.select([line], [], [], left)
            if ready:
                data, address = line.recvfrom(LARGEST)
                self.said["received_datagrams"] += 1
                self.take(data, address)
            elif self.quic is not None:
                self.tick()
            self.flush(line)

    def timer(self) -> float | None:
        """When there is something to do, even if nothing comes."""
        timer = self.quic.get_timer() if self.quic is not None else None
        return timer if self.ping_at == math.inf else min(self.ping_at, timer or math.inf)

    def tick(self) -> None:
        """That time has come."""
        if self.ping_at <= time.monotonic():
            self.quic.send_ping(0)
            self.ping_at += self.knobs.ping
        else:
            self.quic.handle_timer(time.monotonic())

    def take(self, data: bytes, address: Any) -> None:
        """A datagram has come."""
        self.quic.receive_datagram(data, address, now=time.monotonic())

    def flush(self, line: socket.socket) -> None:
        """Look at what has happened, and send what there is to send."""
        if self.quic is None:
            return
        while (event := self.quic.next_event()) is not None:
            kind = type(event).__name__
            if kind == "HandshakeCompleted":
                self.said["connected_s"] = self.now()
            elif kind == "ProtocolNegotiated":
                self.http = self.part("h3.connection").H3Connection(self.quic)
                self.ping_at = time.monotonic() + (self.knobs.ping or math.inf)
                self.begin()
            elif kind == "DatagramFrameReceived":
                self.said["quic_datagrams"] = self.said.get("quic_datagrams", 0) + 1
            elif kind == "ConnectionTerminated":
                self.said |= {"closed_s": self.now(), "error": event.error_code}
                self.why = event.reason_phrase
                self.over = True
            if self.http is not None:
                for one in self.http.handle_event(event):
                    self.hear(one)
        for data, address in self.quic.datagrams_to_send(now=time.monotonic()):
            self.said["sent_bytes"] += len(data)
            self.said["sent_datagrams"] += 1
            line.sendto(data, address)

    def begin(self) -> None:
        """HTTP/3 may be spoken."""

    def hear(self, event: Any) -> None:
        """HTTP/3 says something."""

    why = ""

    def finish(self) -> None:
        """The log and the last line."""
        if self.log is not None:
            Path(self.knobs.qlog).write_text(json.dumps(self.log.to_dict()))
        print(json.dumps(self.said))


class Server(End):
    """Answers ``/20000`` with as many bytes."""

    def take(self, data: bytes, address: Any) -> None:
        if self.quic is None:
            if len(data) < 1200 or not data[0] & 0x80:
                return
            configuration = self.configuration(is_client=False)
            configuration.load_cert_chain(*certificate())
            connection_id = data[6 : 6 + data[5]]
            self.quic = self.connection(configuration, original_destination_connection_id=connection_id)
        super().take(data, address)

    def hear(self, event: Any) -> None:
        if type(event).__name__ == "HeadersReceived":
            self.said["request_s"] = self.now()
            size = int(dict(event.headers)[b":path"].decode().lstrip("/"))
            self.said["bytes"] += size
            self.http.send_headers(event.stream_id, [(b":status", b"200")])
            self.http.send_data(event.stream_id, b"x" * size, end_stream=True)


class Client(End):
    """Asks once."""

    def begin(self) -> None:
        for _ in range(self.knobs.datagrams):
            self.quic.send_datagram_frame(DATAGRAM)
        names = {
            ":method": "GET",
            ":scheme": "https",
            ":authority": self.knobs.host,
            ":path": f"/{self.knobs.bytes}",
        }
        headers = [(name.encode(), value.encode()) for name, value in names.items()]
        self.http.send_headers(self.quic.get_next_available_stream_id(), headers, end_stream=True)
        self.said["asked_s"] = self.now()

    def hear(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "HeadersReceived":
            self.said["first_byte_s"] = self.now()
        elif kind == "DataReceived":
            self.said["bytes"] += len(event.data)
        if getattr(event, "stream_ended", False) and kind in ("HeadersReceived", "DataReceived"):
            self.said["done_s"] = self.now()
            self.quic.close()
            self.over = True


def seconds(text: str) -> float:
    """A number, or a sum of products of some: ``2*480+21600``."""
    return sum(math.prod(map(float, term.split("*"))) for term in text.split("+"))


def certificate() -> tuple[Path, Path]:
    """A key and a certificate signed with it, in the current folder."""
    paths = Path("cert.pem"), Path("key.pem")
    if not paths[0].exists():
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "365")
        places = ("-out", str(paths[0]), "-keyout", str(paths[1]), "-subj", "/CN=earth")
        subprocess.run(["openssl", "req", "-x509", *curve, *places], check=True, capture_output=True)
    return paths


def serve(knobs: argparse.Namespace) -> int:
    """One connection, to its end."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind(("0.0.0.0", PORT))
        certificate()
        server = Server(knobs)
        try:
            server.run(line)
        except StoppedError:
            server.said["stopped_s"] = server.now()
        server.finish()
    return 0


def get(knobs: argparse.Namespace) -> int:
    """0 where all has come."""
    client = Client(knobs)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind(("0.0.0.0", 0))
        address = (socket.gethostbyname(knobs.host), PORT)
        client.quic = client.connection(
            client.configuration(is_client=True, verify_mode=0, server_name=knobs.host)
        )
        client.quic.connect(address, now=time.monotonic())
        try:
            client.flush(line)
            client.run(line)
            client.flush(line)
        except StoppedError:
            client.said["stopped_s"] = client.now()
            client.why = "stopped"
        client.finish()
    if client.said["bytes"] == knobs.bytes and "done_s" in client.said:
        return 0
    print(
        f"quic.py: {client.said['bytes']} of {knobs.bytes} bytes: {client.why or 'closed'}", file=sys.stderr
    )
    return 1


def knobs_of(words: list[str] | None = None) -> argparse.Namespace:
    """A command line, read; this process's unless given."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--stack", choices=STACKS, default=STACKS[0])
    common.add_argument("--initial-rtt", type=seconds, metavar="S", help="assumed until there is a sample")
    common.add_argument("--idle-timeout", type=seconds, metavar="S")
    common.add_argument("--max-data", type=int, metavar="BYTES", help="flow control of the connection")
    common.add_argument(
        "--max-stream-data", type=int, metavar="BYTES", help="and of a stream; as of the connection"
    )
    common.add_argument("--ack-delay", type=float, metavar="S", help="aioquic: how long an ACK may wait")
    common.add_argument("--congestion", choices=("reno", "cubic"), help="aioquic")
    common.add_argument("--window", type=int, metavar="BYTES", help="aioquic: the first congestion window")
    common.add_argument(
        "--ping", type=seconds, metavar="S", help="send a PING so often, so that the end is never idle"
    )
    common.add_argument(
        "--datagrams", type=int, default=0, metavar="N", help="QUIC datagrams of 1,000 bytes to send first"
    )
    common.add_argument("--qlog", metavar="FILE")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    does = parser.add_subparsers(required=True, dest="does")
    does.add_parser("serve", parents=[common])
    asks = does.add_parser("get", parents=[common])
    asks.add_argument("host")
    asks.add_argument("bytes", type=int)
    knobs = parser.parse_args(words)
    for name, has in OF_AIOQUIC.items():
        if knobs.stack == "qh3" and getattr(knobs, name) is not None:
            parser.error(f"--{name.replace('_', '-')}: qh3 has no such setting; {has}")
    return knobs


def main() -> int:
    """Do as the command line says."""
    knobs = knobs_of()

    def stop(*_: object) -> None:
        raise StoppedError

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    return serve(knobs) if knobs.does == "serve" else get(knobs)


if __name__ == "__main__":
    sys.exit(main())
