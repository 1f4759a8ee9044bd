"""Selvedge's: tests that must fail, run unseen by the machinery that runs all the others.

Where that machinery calls one passed, it was changed, and what it says of the others is worth nothing. Behind a
wrapper, where no option can ask for a report, it also has pytest write one.
"""

import os

import pytest

import selvedge_probes

_HERE = os.path.dirname(os.path.abspath(__file__))


_GIVEN = {name: os.environ.get(name) for name in ("PYTHONPATH", "PYTEST_ADDOPTS")}


def _take_out(variable, ours, separator):
    """Takes our part out of a variable: what the tests start is none of our concern."""
    parts = os.environ.get(variable, "").split(separator)
    others = [part for part in parts if part != ours]
    if any(others):
        os.environ[variable] = separator.join(others)
    else:
        os.environ.pop(variable, None)


# Where to write a report, if this is behind a wrapper.
_REPORTS = os.environ.pop("SELVEDGE_REPORTS", None)
_take_out("PYTHONPATH", _HERE, os.pathsep)
_take_out("PYTEST_ADDOPTS", "-pselvedge_canary", " ")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """The workers of pytest-xdist begin as this process did; each takes out the same again."""
    os.environ.update({name: value for name, value in _GIVEN.items() if value})


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    options = config.option
    lists = ("collectonly", "showfixtures", "show_fixtures_per_test")
    if not _REPORTS or any(getattr(options, name, False) for name in lists):
        return
    # The project's own report, or none at all, or a worker of pytest-xdist.
    if getattr(options, "xmlpath", "none") or hasattr(config, "workerinput"):
        return
    options.xmlpath = os.path.join(_REPORTS, "report-pytest-%d" % os.getpid())
    # The older family says which file a test stands in.
    config._inicache["junit_family"] = "xunit1"


def pytest_sessionstart(session):
    path = getattr(session.config.option, "xmlpath", None)
    if _REPORTS and path and os.path.dirname(path) == _REPORTS:
        name = os.path.basename(path).replace("report", "started", 1)
        open(os.path.join(_REPORTS, name), "w").close()


def _canary():
    raise AssertionError("this test must fail")


def _outcomes(session):
    from _pytest import runner
    from _pytest.fixtures import FuncFixtureInfo

    # No fixture of the project's is set up for it.
    nothing = FuncFixtureInfo(
        argnames=(), initialnames=(), names_closure=[], name2fixturedefs={}
    )
    item = pytest.Function.from_parent(
        session, name="canary", callobj=_canary, fixtureinfo=nothing
    )
    # Nobody is told, so it is neither counted nor printed.
    reports = runner.runtestprotocol(item, log=False)
    return [report.outcome for report in reports if report.when == "call"]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtestloop(session):
    yield
    try:
        selvedge_probes.write(_outcomes(session))
    except Exception:
        # Another pytest than those known: then it says nothing.
        pass
    selvedge_probes.run()
