#!/usr/bin/env python3
"""What quic.py does, over TCP: ``tcp.py serve``, and on another host ``tcp.py get HOST BYTES``, which prints JSON."""

import json
import socket
import sys
import time

PORT, CHUNK = 9000, 1 << 20


def serve() -> None:
    """Answer one client with as many bytes as it asks for."""
    with socket.create_server(("", PORT)) as listening:
        line, _ = listening.accept()
        with line:
            left = int(line.makefile().readline())
            while left:
                left -= line.send(bytes(min(CHUNK, left)))


def get(host: str, size: int) -> int:
    """0 where all has come."""
    began, said = time.monotonic(), {"bytes": 0}
    with socket.create_connection((host, PORT)) as line:
        said["connected_s"] = time.monotonic() - began
        line.sendall(b"%d\n" % size)
        while data := line.recv(CHUNK):
            said.setdefault("first_byte_s", time.monotonic() - began)
            said["bytes"] += len(data)
    print(json.dumps(said | {"done_s": time.monotonic() - began}))
    return int(said["bytes"] != size)


if __name__ == "__main__":
    sys.exit(serve() if sys.argv[1] == "serve" else get(sys.argv[2], int(sys.argv[3])))
