"""Part of Selvedge: makes assertions that must fail with the functions that the tests have used.

Their outcomes are written next to this file. If one passes, the results of the tests are worthless.
"""

import ast
import builtins
import os
import re
import sys
import threading
import types

# Functions that tests rely on, and that code has no legitimate reason to replace.
_PURE = (
    "AssertionError Exception abs all any bool dict float hash int isinstance issubclass iter len list max min "
    "next range repr reversed round set sorted str sum tuple type zip"
).split()
_BUILTINS = {name: getattr(builtins, name) for name in _PURE}
_open = open


def _nothing(*_):
    return None


# Methods of a test case, with arguments for which each must fail.
_METHODS = (
    ("fail", ()),
    ("assertTrue", (False,)),
    ("assertFalse", (True,)),
    ("assertEqual", (1, 2)),
    ("assertEqual", ("a", "b")),
    ("assertEqual", ([1], [2])),
    ("assertEqual", ({1: 1}, {1: 2})),
    ("assertNotEqual", (1, 1)),
    ("assertIs", (1, None)),
    ("assertIsNot", (None, None)),
    ("assertIsNone", (1,)),
    ("assertIsNotNone", (None,)),
    ("assertIn", (1, [])),
    ("assertNotIn", (1, [1])),
    ("assertIsInstance", (1, str)),
    ("assertNotIsInstance", (1, int)),
    ("assertGreater", (1, 2)),
    ("assertGreaterEqual", (1, 2)),
    ("assertLess", (2, 1)),
    ("assertLessEqual", (2, 1)),
    ("assertAlmostEqual", (1, 2)),
    ("assertNotAlmostEqual", (1, 1)),
    ("assertListEqual", ([1], [2])),
    ("assertTupleEqual", ((1,), (2,))),
    ("assertSetEqual", ({1}, {2})),
    ("assertDictEqual", ({1: 1}, {1: 2})),
    ("assertSequenceEqual", ([1], [2])),
    ("assertMultiLineEqual", ("a", "b")),
    ("assertCountEqual", ([1], [2])),
    ("assertRegex", ("a", "b")),
    ("assertNotRegex", ("a", "a")),
    ("assertRaises", (ValueError, _nothing)),
    ("assertRaisesRegex", (ValueError, "a", _nothing)),
)


def _test_case(method, arguments):
    case = sys.modules["unittest"].TestCase

    class Probe(case):
        def runTest(self):
            pass

    getattr(Probe(), method)(*arguments)


def _test_case_run():
    """Runs a failing test in the same way as all other tests."""
    unittest = sys.modules["unittest"]

    class Probe(unittest.TestCase):
        def runTest(self):
            raise AssertionError("this test must fail")

    result = unittest.TestResult()
    unittest.TestSuite([Probe()]).run(result)
    if result.failures or result.errors:
        raise AssertionError


def _mock():
    sys.modules["unittest.mock"].Mock().assert_called()


def _raises():
    with sys.modules["pytest"].raises(ValueError):
        pass


def _approx():
    if not sys.modules["pytest"].approx(1) == 2:
        raise AssertionError


def _numpy(function, *arguments):
    getattr(sys.modules["numpy.testing"], function)(*arguments)


def _builtin(name):
    if getattr(builtins, name) is _BUILTINS[name]:
        raise AssertionError


def _probes():
    for name in _PURE:
        yield "builtins", name, _builtin, (name,)
    for method, arguments in _METHODS:
        yield "unittest", method, _test_case, (method, arguments)
    yield "unittest", "a test", _test_case_run, ()
    yield "unittest.mock", "assert_called", _mock, ()
    yield "pytest", "fail", lambda: sys.modules["pytest"].fail("it must"), ()
    yield "pytest", "raises", _raises, ()
    yield "pytest", "approx", _approx, ()
    yield "numpy.testing", "assert_equal", _numpy, ("assert_equal", 1, 2)
    yield "numpy.testing", "assert_array_equal", _numpy, ("assert_array_equal", [1], [2])
    yield "numpy.testing", "assert_allclose", _numpy, ("assert_allclose", 1, 2)


def _fails(probe, arguments):
    try:
        probe(*arguments)
    except BaseException:
        return True
    return False


# Modules that run tests or make assertions.
_MODULES = (
    "pytest _pytest _pytest.runner _pytest.python _pytest.outcomes _pytest.python_api _pytest.assertion.rewrite pluggy "
    "unittest unittest.case unittest.result unittest.runner unittest.suite unittest.mock numpy.testing"
).split()


def _add(name, lines):
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    text = "".join(line + "\n" for line in lines)
    try:
        with _open(place, "a") as file:
            file.write(text)
    except OSError:
        # No file can be written after the tests, so no outcome is recorded.
        pass


def write(outcomes):
    """Records outcomes of tests that must fail."""
    _add("canary", outcomes)


_UNKNOWN = object()


def _imported(node, module):
    """Returns the module that `from … import …` names."""
    package = module.__dict__.get("__package__") or ""
    parents = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
    return sys.modules.get(".".join(parents + ([node.module] if node.module else [])))


def _bound(node, module):
    """Yields the names that a statement of a module binds, apart from star imports, with their objects."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            first = alias.name.split(".")[0]
            yield alias.asname or first, sys.modules.get(alias.name if alias.asname else first)
    elif isinstance(node, ast.ImportFrom):
        source = _imported(node, module)
        for alias in node.names:
            yield alias.asname or alias.name, getattr(source, alias.name, _UNKNOWN)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name, _UNKNOWN


def _shadowing(module, tree):
    """Yields names that a star import replaces: built-in functions, and what the test bound before."""
    known = dict(vars(builtins))
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or node.names[0].name != "*":
            known.update(_bound(node, module))
            continue
        source = _imported(node, module)
        if source is None:
            continue
        names = getattr(source, "__all__", None) or [name for name in vars(source) if name[:1] != "_"]
        for name in names:
            own = vars(source).get(name)
            if name in known and own is not known[name] and own is vars(module).get(name):
                yield name, source
            known[name] = own


def _shadowed_in_tests():
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) or ""
        if "test" not in file.lower() or not file.endswith(".py"):
            continue
        with _open(file, "rb") as source:
            text = source.read()
        if b"import *" in text:
            for name, source in _shadowing(module, ast.parse(text)):
                if name.encode() in text:
                    yield "%s\t%s" % (name, getattr(source, "__file__", None) or "")


def _origins():
    for name in _MODULES:
        if name in sys.modules:
            yield "%s\t%s" % (name, getattr(sys.modules[name], "__file__", None) or "")


_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
# Packages of the runner, wherever they are installed.
_RUNNER = {name.split(".")[0] for name in _MODULES}
# Functions that programs may replace.
_REPLACEABLE = {"excepthook", "unraisablehook", "displayhook", "breakpointhook", "showwarning", "formatwarning"}


def _code_files(value):
    """Yields the files with the code of a function, a method, a property, or a class."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    parts = (value.fget, value.fset) if isinstance(value, property) else (value,)
    for part in parts:
        if isinstance(part, type):
            yield getattr(sys.modules.get(part.__module__), "__file__", None) or ""
        code = getattr(part, "__code__", None)
        if isinstance(code, types.CodeType):
            yield os.path.abspath(code.co_filename) if code.co_filename[:1] != "<" else ""


def _is_foreign(file):
    """Whether a file belongs neither to an installation nor to the tests, whose replacements are compared."""
    parts = file.split(os.sep)
    name = parts[-1].lower()
    is_test = name == "conftest.py" or name.startswith("test") or name.endswith(("test.py", "tests.py"))
    others = {"test", "tests", "site-packages", "dist-packages"}
    return bool(file) and not file.startswith(_STANDARD) and not is_test and not others & set(parts)


def _is_constant(member, source):
    """Whether a module defines a member, and has no function that sets it for its callers."""
    name = r"\b%s\b" % re.escape(member)
    return re.search(name, source) and not re.search(r"\bglobal\b.*" + name, source)


def _replaced(name, members, source):
    """Yields replaced members of a module or class, but not added ones."""
    for member, value in list(members.items()):
        if member in _REPLACEABLE or not (callable(value) or isinstance(value, (staticmethod, classmethod, property))):
            continue
        for file in _code_files(value):
            if _is_foreign(file) and (source is None or _is_constant(member, source)):
                yield "%s.%s\t%s" % (name, member, file)


def _patched():
    """Yields functions of the standard library and of the runner that other code has replaced."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        is_standard = file.startswith(_STANDARD) and "-packages" + os.sep not in file
        if not is_standard and name.split(".")[0] not in _RUNNER and name not in sys.builtin_module_names:
            continue
        if name == "__main__" or not isinstance(getattr(module, "__dict__", None), dict):
            continue
        members = vars(module)
        groups = [(name, members)]
        for member, value in list(members.items()):
            if isinstance(value, type) and value.__module__ == name:
                groups.append(("%s.%s" % (name, member), dict(vars(value))))
        source = None
        for group, members in groups:
            found = list(_replaced(group, members, None))
            if found and source is None and file.endswith(".py"):
                with _open(file, encoding="utf-8", errors="replace") as text:
                    source = text.read()
            for line in _replaced(group, members, source) if found else ():
                yield line


def _interposed():
    """Yields functions that see all code: import hooks, and functions that trace."""
    hooks = [("sys.meta_path", finder) for finder in sys.meta_path]
    hooks += [("sys.path_hooks", hook) for hook in sys.path_hooks]
    hooks += [("sys.settrace", sys.gettrace()), ("sys.setprofile", sys.getprofile())]
    hooks += [("threading." + name, getattr(threading, name, None)) for name in ("_trace_hook", "_profile_hook")]
    for name, hook in hooks:
        kind = hook if isinstance(hook, type) or hasattr(hook, "__code__") else type(hook)
        for file in _code_files(kind) if hook is not None else ():
            if _is_foreign(file):
                yield "%s\t%s" % (name, file)


def run():
    """Probes the modules that the tests have loaded; other modules were not used."""
    passed = [
        "passed %s.%s" % (module, name)
        for module, name, probe, arguments in _probes()
        if module in sys.modules and not _fails(probe, arguments)
    ]
    write(passed or ["failed"])
    _add("origins", _origins())
    for find in (_shadowed_in_tests, _patched, _interposed):
        try:
            _add("origins", list(find()))
        except Exception:
            # A file that is not a module's source, or objects without usual attributes.
            pass
