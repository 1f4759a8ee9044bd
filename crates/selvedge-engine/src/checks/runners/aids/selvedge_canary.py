"""Selvedge's: a test that must fail, run unseen by the machinery that runs all the others.

Where that machinery calls it passed, it was changed, and what it says of the others is worth nothing.
"""

import os

import pytest


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
        outcomes = _outcomes(session)
        place = os.path.join(os.path.dirname(__file__), "canary")
        with open(place, "a") as file:
            file.writelines(outcome + "\n" for outcome in outcomes)
    except Exception:
        # Another pytest than those known: then it says nothing.
        pass
