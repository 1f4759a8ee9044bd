"""Part of Selvedge: runs a test that must fail through the machinery of pytest, without reporting it.

If the machinery reports that it passed, the machinery was changed, and its other results are worthless. Behind a
wrapper, where no option can request a report, this plugin also makes pytest write one.
"""

import os

import pytest

import selvedge_probes

_HERE = os.path.dirname(os.path.abspath(__file__))


_GIVEN = {name: os.environ.get(name) for name in ("PYTHONPATH", "PYTEST_ADDOPTS")}


def _take_out(variable, ours, separator):
    """Removes Selvedge's part of a variable, so that programs that tests start do not get it."""
    parts = os.environ.get(variable, "").split(separator)
    others = [part for part in parts if part != ours]
    if any(others):
        os.environ[variable] = separator.join(others)
    else:
        os.environ.pop(variable, None)


# The folder for the report, behind a wrapper.
_REPORTS = os.environ.pop("SELVEDGE_REPORTS", None)
_take_out("PYTHONPATH", _HERE, os.pathsep)
_take_out("PYTEST_ADDOPTS", "-pselvedge_canary", " ")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes():
    """Restores the variables for the workers of pytest-xdist, which remove Selvedge's part again."""
    os.environ.update({name: value for name, value in _GIVEN.items() if value})


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    options = config.option
    lists = ("collectonly", "showfixtures", "show_fixtures_per_test")
    if not _REPORTS or any(getattr(options, name, False) for name in lists):
        return
    # The project writes its own report or cannot write one, or this is a worker of pytest-xdist.
    if getattr(options, "xmlpath", "none") or hasattr(config, "workerinput"):
        return
    options.xmlpath = os.path.join(_REPORTS, "report-pytest-%d" % os.getpid())
    # The older family records the file of each test.
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

    # Without any fixture of the project.
    nothing = FuncFixtureInfo(
        argnames=(), initialnames=(), names_closure=[], name2fixturedefs={}
    )
    item = pytest.Function.from_parent(
        session, name="canary", callobj=_canary, fixtureinfo=nothing
    )
    # Not logged, so it is neither counted nor printed.
    reports = runner.runtestprotocol(item, log=False)
    return [report.outcome for report in reports if report.when == "call"]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtestloop(session):
    yield
    try:
        selvedge_probes.write(_outcomes(session))
    except Exception:
        # An unknown version of pytest.
        pass
    selvedge_probes.run()
