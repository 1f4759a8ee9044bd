"""Part of Selvedge: `python -m unittest` that also reports the outcome of each test.

It replaces `-m unittest`, with the same arguments, search path, output and exit code. At its end it writes a JUnit XML
report next to this file.
"""

import os
import re
import sys
import unittest
from xml.sax.saxutils import quoteattr

import selvedge_probes

# Makes unittest omit this module's frames from tracebacks.
__unittest = True

RANKS = ("passed", "skipped", "failed")


class Result(unittest.TextTestResult):
    """Records outcomes. The worst one counts if a test has several."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.told = {}

    def note(self, test, outcome):
        id = name(test.id())
        known = self.told.get(id, outcome)
        self.told[id] = max(known, outcome, key=RANKS.index)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "passed")

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "failed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "failed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skipped")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.note(test, "skipped")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, "failed")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(test, "failed")


def name(id):
    """Returns the name of a test, or of a module that did not load or a class whose setup failed."""
    return re.sub(r"^unittest\.loader\._FailedTest\.|^\w+ \((.+)\)$", r"\1", id)


class Runner(unittest.TextTestRunner):
    """The text runner with a result that records outcomes."""

    resultclass = Result

    def run(self, test):
        result = super().run(test)
        selvedge_probes.run()
        write(result)
        return result


def write(result):
    cases = []
    for id, outcome in result.told.items():
        id = "".join(c if c.isprintable() else " " for c in id)
        within = {"passed": "", "skipped": "<skipped/>", "failed": "<failure/>"}[outcome]
        cases.append("<testcase name=%s>%s</testcase>\n" % (quoteattr(id), within))
    failed = sum(outcome == "failed" for outcome in result.told.values())
    if failed == 0 and not result.wasSuccessful():
        failed = 1
    head = '<testsuite name="unittest" tests="%d" failures="%d">\n' % (len(cases), failed)
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "report")
    with open(place, "w", encoding="utf-8", errors="replace") as file:
        file.write(head + "".join(cases) + "</testsuite>\n")


if __name__ == "__main__":
    # As with `-m`: the current folder is first in the search path, unless Python's flags exclude it.
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        sys.path[0] = os.getcwd()
    sys.argv[0] = os.path.basename(sys.executable) + " -m unittest"
    unittest.main(module=None, testRunner=Runner)
