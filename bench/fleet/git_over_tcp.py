"""Git over a TCP connection, in place of ssh: a server of bare repositories, and the command that git calls as its ssh.

The connection carries what ssh would carry, so git cannot tell the difference. It can be cut like any other, and needs
no accounts and keys. As a program: ``python git_over_tcp.py serve ADDRESS PORT`` is the server, and
``python git_over_tcp.py HOST COMMAND`` the client, which connects to ``$FLEET_GIT`` whatever the host.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import threading

__all__ = ["call", "serve"]

_COMMANDS = ("git-receive-pack", "git-upload-pack")
_MOST_BYTES = 1 << 12
_CHUNK = 1 << 16


def serve(address: str, port: int) -> None:
    """Answer each connection with the git command that it names, until the process ends."""
    with socket.create_server((address, port), backlog=64) as listening:
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=_answer, args=(connection,), daemon=True).start()


def _answer(connection: socket.socket) -> None:
    with connection:
        line = bytearray()
        while not line.endswith(b"\n") and len(line) < _MOST_BYTES:
            read = connection.recv(1)
            if not read:
                return
            line += read
        words = shlex.split(line.decode())
        program = shutil.which(words[0]) if len(words) == 2 and words[0] in _COMMANDS else None
        if program is not None:
            environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
            stream = connection.fileno()
            subprocess.run([program, words[1]], stdin=stream, stdout=stream, check=False, env=environment)


def call(command: str) -> int:
    """Run the git *command* on the server, with this process's streams."""
    host, _, port = os.environ["FLEET_GIT"].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.settimeout(None)
        connection.sendall(command.encode() + b"\n")
        threading.Thread(target=_send, args=(connection,), daemon=True).start()
        while part := connection.recv(_CHUNK):
            view = memoryview(part)
            while view:
                view = view[os.write(1, view) :]
    return 0


def _send(connection: socket.socket) -> None:
    try:
        while part := os.read(0, _CHUNK):
            connection.sendall(part)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(call(sys.argv[2]))
