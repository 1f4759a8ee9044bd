#!/usr/bin/env python3
"""A plug-in check: no file that git knows has a merge conflict's markers in it.

    [[checks]]
    type = "plugin"
    run = "python3 checks/no_conflict_markers.py"
    settings = { except = ["docs/merging.md"] }

It is asked by one JSON object on standard input and answers by one on standard output; what it prints on
standard error is kept for people. The contract is in docs/reference/plugins.md.
"""

import json
import re
import subprocess
import sys

MARKER = re.compile(rb"^(<{7} |={7}$|>{7} )")


def failures(directory, excepted):
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=directory, stdout=subprocess.PIPE, check=True,
    ).stdout
    for name in filter(None, listed.split(b"\0")):
        path = name.decode("utf-8", "replace")
        if path in excepted:
            continue
        try:
            with open(directory.encode() + b"/" + name, "rb") as file:
                lines = file.read().splitlines()
        except OSError as error:  # a link that leads nowhere, a file that was removed
            print(f"{path}: {error}", file=sys.stderr)
            continue
        for number, line in enumerate(lines, start=1):
            if MARKER.match(line):
                yield {"kind": "lint", "file": path, "line": number,
                       "summary": "a merge conflict's marker"}


def main():
    request = json.load(sys.stdin)
    settings = request["settings"] or {}
    found = list(failures(request["directory"], settings.get("except", [])))
    json.dump({"v": 1, "status": "fail" if found else "pass", "failures": found}, sys.stdout)


main()
