"""Runs a program at a terminal of its own and answers what it asks.

    terminal.py STEPS COMMAND...

STEPS is a JSON list of [text, answer]: when the text has been seen, behind what was answered last, the answer is typed.
Prints everything that was seen. Exits with the program's code, with 128 and more for a signal as shells do, or with 97
when a text never came.
"""

import fcntl
import json
import os
import pty
import re
import struct
import sys
import termios

COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def main():
    steps, command = json.loads(sys.argv[1]), sys.argv[2:]
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 150, 0, 0))
    seen, fresh = "", ""
    ended = False
    while steps or not ended:
        while steps and steps[0][0] in fresh:
            text, answer = steps.pop(0)
            fresh = fresh.split(text, 1)[1]
            os.write(terminal, answer.encode())
        if ended:
            break
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            # The other side is gone.
            chunk = b""
        ended = not chunk
        chunk = chunk.decode(errors="replace")
        seen += chunk
        fresh += COLOURS.sub("", chunk)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(seen)
    if steps:
        print("never seen:", steps[0][0])
        sys.exit(97)
    sys.exit(code if code >= 0 else 128 - code)


main()
