"""Records `selvedge demo` in a terminal, and writes docs/images/demo.svg with svg-term (from npm).

python3 packaging/record-demo.py target/release/selvedge
"""

import codecs
import fcntl
import json
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time

COLUMNS, ROWS = 100, 46
# The last screen stays this long before the recording begins again.
PAUSE = 8


def record(arguments, environment):
    """Yields the time and the text of each piece of output."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.execve(arguments[0], arguments, environment)
    began, decoder = time.monotonic(), codecs.getincrementaldecoder("utf-8")()
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # The program ended.
            break
        yield time.monotonic() - began, decoder.decode(piece)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("the demo failed")


def main():
    program = os.path.abspath(sys.argv[1])
    image = pathlib.Path(__file__).parents[1] / "docs/images/demo.svg"
    with tempfile.TemporaryDirectory() as scratch:
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": scratch, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        events = [(at, "o", text) for at, text in record([program, "demo", "--dir", scratch + "/duration"], environment)]
        events.append((events[-1][0] + PAUSE, "o", " "))
        lines = [{"version": 2, "width": COLUMNS, "height": ROWS}, *events]
        cast = pathlib.Path(scratch, "demo.cast")
        text = "\n".join(json.dumps(line) for line in lines).replace(scratch, "/tmp/demo")
        cast.write_text(text)
        size = ["--width", str(COLUMNS), "--height", str(ROWS)]
        command = ["npx", "--yes", "svg-term-cli@2.1.1", "--in", cast, "--out", image, "--window", "--no-cursor", *size]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


main()
