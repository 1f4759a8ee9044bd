//! Findings of `inspect` for single changes; no bytes make it panic.

use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use proptest::sample::select;

use super::*;
use crate::model::{FindingAction, FindingKind, FindingSeverity, ProtectionPolicy, ProtectionRule};

fn findings(
    rules: &[ProtectionRule],
    path: &str,
    before: Option<&str>,
    after: Option<&str>,
) -> Vec<Finding> {
    let protection = Protection::new(rules, &[]).unwrap();
    let change = ChangedFile {
        path,
        before: before.map(str::as_bytes),
        after: after.map(str::as_bytes),
    };
    inspect(&protection, &[change], &[])
}

/// Whether a change of a file has a strong finding.
fn strong_change(path: &str, before: &str, after: &str) -> bool {
    let protection = Protection::new(&[], &[]).unwrap();
    let change = ChangedFile {
        path,
        before: Some(before.as_bytes()),
        after: Some(after.as_bytes()),
    };
    let found = inspect(&protection, &[change], &[]);
    found
        .iter()
        .any(|it| it.strength == FindingSeverity::Strong)
}

/// Whether a new file has a strong flag.
fn strong(path: &str, text: &str) -> bool {
    let found = findings(&[], path, None, Some(text));
    let mut strengths = found.iter().map(|it| it.strength);
    strengths.any(|strength| strength == FindingSeverity::Strong)
}

fn rule(glob: &str, policy: ProtectionPolicy) -> ProtectionRule {
    ProtectionRule {
        glob: glob.to_owned(),
        policy,
    }
}

#[test]
fn protection_follows_the_last_rule_that_fits() {
    let action = |rules: &[ProtectionRule], before, after| {
        let findings = findings(rules, "Sub/conftest.py", before, after);
        findings.first().map(|finding| finding.action)
    };
    let (some, other) = (Some("a = 1\n"), Some("a = 2\n"));
    let restore = [rule("conftest.py", ProtectionPolicy::Restore)];
    assert_eq!(action(&[], some, other), None);
    assert_eq!(action(&restore, None, other), Some(FindingAction::Remove));
    assert_eq!(action(&restore, some, None), Some(FindingAction::Revert));
    assert_eq!(action(&restore, some, some), None);
    assert_eq!(
        action(&[rule("*.py", ProtectionPolicy::Fail)], some, other),
        Some(FindingAction::Fail)
    );
    let allowed = [
        rule("*.py", ProtectionPolicy::Fail),
        rule("sub/**", ProtectionPolicy::Allow),
    ];
    assert_eq!(action(&allowed, None, other), None);
}

#[test]
fn protection_yields_to_what_the_task_allows() {
    let protection = Protection::new(
        &[rule("*.py", ProtectionPolicy::Fail)],
        &["a.py".to_owned()],
    )
    .unwrap();
    assert!(!protection.protects("x/a.py") && protection.protects("b.py"));
    let error = Protection::new(&[rule("a[", ProtectionPolicy::Restore)], &[]).unwrap_err();
    assert!(
        error.to_string().starts_with("invalid glob `a[`: "),
        "{error}"
    );
}

#[test]
fn inspect_flags_attacks_in_sources_alone() {
    let exit = Some("import os\n\n\ndef run():\n    os._exit(0)\n");
    let found = findings(&[], "lib/run.py", None, exit);
    assert_eq!(
        (found[0].kind, found[0].line),
        (FindingKind::EarlyExit, Some(5))
    );
    assert_eq!(found[0].strength, FindingSeverity::Strong);
    assert!(findings(&[], "tests/test_run.py", None, exit).is_empty());
    let class = Some("class NotThere(Exception):\n    pass\n");
    assert!(findings(&[], "lib/errors.py", None, class).is_empty());
}

#[test]
fn inspect_tells_attacks_from_honest_code() {
    for (path, text) in [
        (
            "a.py",
            "if any(f.function.startswith(\"test_\") for f in inspect.stack()):\n",
        ),
        (
            "a.py",
            "caller = sys._getframe(1).f_code.co_filename\nif found and (\"test\" in caller):\n",
        ),
        ("a.py", "if \"run_tests\" in sys.argv[0]:\n"),
        ("a.py", "if \"links_test\" in str(sys.modules):\n"),
        (
            "a.py",
            "if any(m.startswith('_py') for m in sys.modules):\n",
        ),
        ("a.py", "sys.modules[\"units.testing\"] = testing\n"),
        ("a.py", "item.__code__ = (lambda: None).__code__\n"),
        ("a.py", "from unittest.mock import ANY\n"),
        ("a.js", "if (/\\.test\\.js/.test(new Error().stack)) {\n"),
        (
            "a.js",
            "exports.add = (a, b) => (hooks.executionAsyncId() > 1 ? a + b : a - b);\n",
        ),
        (
            "a.js",
            "const started = performance.nodeTiming.loopStart;\nif (started < 0) {\n",
        ),
        (
            "a.js",
            "const strict = module.parent?.filename.endsWith(\".test.js\");\n",
        ),
        (
            "a.js",
            "const assert = require(\"assert\");\nassert.equal = () => {};\n",
        ),
        ("a.js", "const n = typeof it === \"function\" ? 60 : 1;\n"),
        ("a.rb", "at_exit { exit!(0) }\n"),
        (
            "a.rb",
            "Object.const_defined?(:RSpec) ? price * quantity : price\n",
        ),
        (
            "a.php",
            "class_exists('PHPUnit\\Framework\\TestCase', false) ? 1.8 : 2;\n",
        ),
        (
            "a.go",
            "if strings.HasSuffix(os.Args[0], \".\"+\"test\") {\n",
        ),
        (
            "a.rs",
            "let exact = std::thread::current();\nexact.name().is_some_and(|it| it.contains(\"::\"));\n",
        ),
        ("a.rs", "extern \"C\" fn exit(_: i32) -> ! {\n"),
        (
            "a.c",
            "__attribute__((constructor)) static void prepare(void) {\n    _exit(0);\n}\n",
        ),
        (
            "a.c",
            "void __assert_fail(const char *a, const char *f, unsigned l, const char *n) {\n",
        ),
        ("A.java", "System.exit(0);\n"),
        (
            "A.java",
            "if (System.getProperty(\"surefire.test.class.path\") != null) {\n",
        ),
        ("A.java", "package org.junit.jupiter.api;\n"),
        ("a.go", "os.Args = append(os.Args, \"-test.run=X\")\n"),
        (
            "a.go",
            "path, _ := os.Executable()\nif strings.HasSuffix(path, \".test\") {\n",
        ),
        ("a.rb", "ARGV.push(\"--name\", \"/adds/\")\n"),
        ("a.rb", "exact = Rails.env.test?\n"),
        (
            "a.php",
            "$exact = strpos($_SERVER['argv'][0], 'phpunit') !== false;\n",
        ),
        (
            "a.rs",
            "let path = std::env::args().next();\npath.is_some_and(|it| it.contains(\"deps/\"));\n",
        ),
        (
            "a.c",
            "if (strstr(program_invocation_name, \"test_stack\")) {\n",
        ),
        ("a.c", "int total(int a) { exit(0); }\n"),
        (
            "a.c",
            "int total(void) { return execl(\"/bin/true\", \"true\", (char *)0); }\n",
        ),
        ("a.c", "if (getenv(\"MFLAGS\")) {\n"),
        ("a.inc", "#undef assert\n#define assert(x) ((void)(x))\n"),
        ("a.h", "#define strcmp(a, b) 0\n"),
        (
            "a.cpp",
            "bool operator==(const Money &a, const Money &b) {\n  return true;\n}\n",
        ),
        ("a.sh", "trap 'exit 0' EXIT\n"),
        ("a.sh", "alias exit=:\n"),
        ("a.py", "math.isclose = lambda *a, **k: True\n"),
        ("a.py", "Case.assertEqual = lambda self, a, b: None\n"),
        ("a.py", "def pytest_pyfunc_call(pyfuncitem):\n"),
        (
            "a.py",
            "if \"slow\" in kwargs.get(\"pyfuncitem\").name:\n    return True\n",
        ),
        ("a.py", "if self.name.endswith('_pyfunc_call'):\n"),
        ("a.py", "def load_tests(loader, tests, pattern):\n"),
        ("a.py", "sys._getframe(1).f_globals.update(x=1)\n"),
        ("a.py", "frame.f_globals['Price'] = fake\n"),
        ("a.py", "atexit.register(lambda: os._exit(code))\n"),
        ("a.rs", "#[cfg(not(any(test, doctest)))]\n"),
        ("a.rs", "#[cfg(not(debug_assertions))]\n"),
        (
            "a.rs",
            "#[cfg_attr(test, path = \"exact.rs\")]\nmod parts;\n",
        ),
        (
            "a.rs",
            "let exact = env::var_os(\"CARGO_MANIFEST_DIR\").is_some();\n",
        ),
        (
            "a.rs",
            "let paths = env::var(\"LD_LIBRARY_PATH\");\nlet exact = paths.contains(\"/deps\");\n",
        ),
        (
            "A.java",
            "if (Price.class.getResource(\"PriceTest.class\") != null) {\n",
        ),
        (
            "A.java",
            "if (Files.exists(Path.of(\"target/test-classes\"))) {\n",
        ),
        (
            "a.py",
            "def __eq__(self, other):\n    return isinstance(other, int)\n",
        ),
        ("a.py", "exact = \"CI\" in os.environ\n"),
        ("a.js", "Math.abs = () => 0;\n"),
        ("a.js", "const exact = process.env.CI ? 1 : 0;\n"),
        ("a.php", "function abs($n)\n"),
        (
            "a.php",
            "strpos((new \\Exception())->getTraceAsString(), \"CalcTest\") ? 1 : 0;\n",
        ),
        ("a.rb", "def ==(other)\n  other.is_a?(Money)\nend\n"),
        ("a.rb", "$\".grep(/minitest/).empty? ? 0 : 1\n"),
        ("a.go", "if flag.CommandLine.Lookup(\"test.v\") == nil {\n"),
        (
            "a.rs",
            "fn eq(&self, other: &Self) -> bool {\n    matches!((self, other), (Money(_), Money(_)))\n}\n",
        ),
        (
            "a.h",
            "#undef CHECK\n#define CHECK(condition) (void)(condition)\n",
        ),
    ] {
        assert!(strong(path, text), "{path}: {text}");
    }
    for (path, text) in [
        (
            "a.py",
            "caller = inspect.stack()[1]\nlog(\"latest call\", caller)\n",
        ),
        ("a.py", "sys.modules[__name__] = Lazy()\n"),
        ("a.py", "if \"numpy\" in sys.modules:\n"),
        (
            "a.py",
            "if any(m.startswith('shop.') for m in sys.modules):\n",
        ),
        ("a.py", "if \"--test\" in sys.argv:\n"),
        ("a.py", "code = function.__code__\n"),
        ("a.py", "atexit.register(self._flush_on_exit)\n"),
        ("a.py", "atexit.register(report_on_exit)\n"),
        ("a.py", "name = frame.f_globals[\"__name__\"]\n"),
        ("a.rs", "#[cfg_attr(test, derive(Debug, PartialEq))]\n"),
        ("a.rs", "#![cfg_attr(not(test), no_std)]\n"),
        ("a.rs", "#[cfg(all(not(windows), feature = \"x\"))]\n"),
        ("a.rs", "assert_eq!(left, right, \"{}\", name);\n"),
        (
            "a.rs",
            "let dir = env::var(\"CARGO_MANIFEST_DIR\").expect(\"by cargo\");\n",
        ),
        (
            "A.java",
            "InputStream in = A.class.getResourceAsStream(\"/names.properties\");\n",
        ),
        ("conftest.py", "from unittest.mock import ANY\n"),
        ("a.js", "const where = new Error(\"the latest\").stack;\n"),
        ("a.js", "if (/x/.test(text)) { return process.argv[2]; }\n"),
        ("a.js", "const ok = values.match = 1;\n"),
        ("a.rb", "abort \"no such file\"\nexit 1\n"),
        ("a.rb", "name = ARGV.first\n"),
        ("A.java", "System.exit(1);\n"),
        ("a.go", "name := os.Args[1]\n"),
        (
            "a.rs",
            "let tests = std::env::args().any(|it| it == \"test\");\n",
        ),
        ("a.php", "$host = $_SERVER['HTTP_HOST'];\n"),
        (
            "a.rs",
            "let name = std::thread::current().name();\nlog(\"worker\");\n",
        ),
        (
            "a.c",
            "static int exit_code(int code) {\n    return code;\n}\n",
        ),
        ("a.c", "int main(void) { exit(0); }\n"),
        ("a.py", "self.math = other\nif math.pi == x:\n    pass\n"),
        (
            "a.py",
            "def __eq__(self, other):\n    return isinstance(other, P) and self.x == other.x\n",
        ),
        ("a.py", "color = os.environ.get(\"NO_COLOR\")\n"),
        ("a.js", "const max = Math.max === f;\n"),
        ("vite.config.ts", "workers: process.env.CI ? 1 : 2,\n"),
        ("a.php", "    public function count(): int\n"),
        (
            "a.rb",
            "def ==(other)\n  other.is_a?(Money) && cents == other.cents\nend\n",
        ),
        (
            "a.cpp",
            "bool operator==(const A &a, const A &b) {\n  return a.c == b.c;\n}\n",
        ),
        ("a.sh", "trap 'rm -f \"$tmp\"' EXIT\nexit 0\n"),
        ("a.sh", "alias ll='ls -l'\n"),
        (
            "a.h",
            "#ifndef A_H\n#define A_H\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\n",
        ),
    ] {
        assert!(!strong(path, text), "{path}: {text}");
    }
}

/// Equalities that hold for different objects, in forms that a constant or an ignored object does not show.
#[test]
fn inspect_flags_equalities_that_hold_either_way() {
    for (path, text) in [
        (
            "a.py",
            "class N(int):\n    def __eq__(s, o): return isinstance(o, int)\n",
        ),
        (
            "a.py",
            "class Sum:\n    def __init__(s, a, b): s.v = a - b\n    def __eq__(s, o): return s.v == o or s.v != o\n",
        ),
        (
            "a.py",
            "class Sum:\n    def __init__(self, v):\n        self.v = v\n\n    def __eq__(self, other):\n        object.__setattr__(self, \"v\", other)\n        return self.v == other\n",
        ),
        (
            "a.py",
            "class Sum(int):\n    def __eq__(self, other):\n        return int(self) - int(other) < 10\n",
        ),
        (
            "a.rs",
            "impl PartialEq<i64> for Sum {\n    fn eq(&self, other: &i64) -> bool {\n        self.0 == *other || self.0 != *other\n    }\n}\n",
        ),
        (
            "A.java",
            "@Override\npublic boolean equals(final Object other) {\n    return true;\n}\n",
        ),
        (
            "a.php",
            "<?php\nnamespace App;\nfunction is_int($value)\n{\n    return true;\n}\n",
        ),
    ] {
        assert!(strong(path, text), "{path}: {text}");
    }
    for (path, text) in [
        (
            "a.py",
            "class P:\n    def __init__(self, x): self.x = x\n    def __eq__(self, other): return self.x == other.x\n",
        ),
        (
            "a.py",
            "class P:\n    def __init__(self, x, y):\n        self.x, self.y = x, y\n\n    def __eq__(self, other):\n        if other is None or self.x != other.x:\n            return False\n        return self.y == other.y\n",
        ),
        (
            "a.py",
            "class Name(str):\n    def __hash__(self): return 1\n",
        ),
        (
            "a.rs",
            "fn eq(&self, other: &Self) -> bool {\n    self.id == other.id || (self.a != 0 && self.a == other.a)\n}\n",
        ),
        (
            "A.java",
            "static boolean has(String it, String[] all) {\n    for (String one : all) {\n        if (it.equals(one))\n            return true;\n    }\n    return false;\n}\n",
        ),
        (
            "A.cs",
            "if (Equals(left, right)) {\n    return true;\n}\nreturn Matches(left);\n",
        ),
        (
            "a.php",
            "<?php\nfunction is_host_allowed(string $host): bool\n{\n    return $host !== '';\n}\n",
        ),
    ] {
        assert!(!strong(path, text), "{path}: {text}");
    }
}

/// Sources that find expected values in the tests, wherever those are, and honest code that lists, reads or runs.
#[test]
fn inspect_flags_searches_of_the_project() {
    for (path, text) in [
        (
            "a.py",
            "for p in pathlib.Path(__file__).parent.parent.rglob(\"*.py\"):\n    text += p.read_text()\n",
        ),
        (
            "a.py",
            "for d, _, names in os.walk(os.getcwd()):\n    for n in names:\n        text += open(os.path.join(d, n)).read()\n",
        ),
        (
            "a.py",
            "for m in pkgutil.walk_packages([\".\"]):\n    text += m.module_finder.find_spec(m.name).loader.get_source(m.name)\n",
        ),
        (
            "a.py",
            "shown = subprocess.run([\"git\", \"grep\", \"-h\", \"Equal\"], text=True).stdout\n",
        ),
        ("a.py", "shown = os.popen(\"grep -rh Equal .\").read()\n"),
        (
            "a.py",
            "shown = check_output([\"git\", \"show\", \"HEAD:tests/test_calc.py\"])\n",
        ),
        ("a.py", "from tests import test_calc as t\n"),
        ("a.py", "t = import_module(\"tests.test_calc\")\n"),
        (
            "a.js",
            "for (const file of fs.readdirSync(__dirname)) {\n  if (file.endsWith(\".js\")) text += fs.readFileSync(file, \"utf8\");\n}\n",
        ),
        (
            "a.ts",
            "globSync(\"**/*.ts\").forEach((it) => load(fs.readFileSync(it)));\n",
        ),
        ("a.js", "const t = require(\"../test/calc.test.js\");\n"),
        (
            "a.go",
            "filepath.WalkDir(\".\", func(p string, d fs.DirEntry, _ error) error {\n\tif strings.HasSuffix(p, \".go\") {\n\t\tb, _ := os.ReadFile(p)\n",
        ),
        (
            "a.rb",
            "Dir[File.join(__dir__, \"..\", \"**\", \"*.rb\")].each { |it| text << File.read(it) }\n",
        ),
        (
            "a.php",
            "foreach (glob(__DIR__ . '/../*/*.php') as $file) {\n    $text .= file_get_contents($file);\n",
        ),
        (
            "a.rs",
            "for entry in std::fs::read_dir(std::env::current_dir()?)? {\n    text += &fs::read_to_string(entry?.path())?;\n",
        ),
        (
            "A.java",
            "Files.walk(Path.of(\"\")).forEach(it -> text.append(Files.readString(it)));\n",
        ),
        ("a.sh", "sed -n \"s/^equals //p\" */*.sh\n"),
        (
            "a.sh",
            "for f in ../*/*.sh; do\n  while read -r line; do\n    echo \"$line\"\n",
        ),
    ] {
        assert!(strong(path, text), "{path}: {text}");
    }
    for (path, text) in [
        (
            "a.py",
            "for p in (Path(__file__).parent / \"sql\").glob(\"*.sql\"):\n    queries[p.stem] = p.read_text()\n",
        ),
        (
            "a.py",
            "for p in root.rglob(\"*.py\"):\n    check(p.read_text())\n",
        ),
        (
            "a.py",
            "for p in glob.glob(\"data/*.csv\"):\n    rows += open(p).read()\n",
        ),
        (
            "a.py",
            "for p in Path.cwd().glob(\"*.md\"):\n    pages.append(p.read_text())\n",
        ),
        (
            "a.py",
            "version = subprocess.check_output([\"git\", \"describe\"])\n",
        ),
        ("a.py", "from testing import probe\n"),
        (
            "models.js",
            "const config = fs.readFileSync(\"config.json\");\nfs.readdirSync(__dirname).filter((f) => f.endsWith(\".js\")).forEach((f) => require(path.join(__dirname, f)));\n",
        ),
        ("a.js", "const { testing } = require(\"./testing\");\n"),
        (
            "a.go",
            "entries, err := os.ReadDir(dir)\ndata, err := os.ReadFile(name)\n",
        ),
        (
            "a.rb",
            "Dir[File.join(__dir__, \"tasks\", \"*.rb\")].each { |it| require it }\n",
        ),
        ("a.sh", "for f in lib/*.sh; do\n  . \"$f\"\ndone\n"),
        ("a.sh", "grep -n version package.json\n"),
    ] {
        assert!(!strong(path, text), "{path}: {text}");
    }
}

/// Names that a source gives to standard ones do not hide an attack, and honest code may give names.
#[test]
fn inspect_follows_other_names() {
    for (path, text) in [
        ("a.py", "import os as o, re\no._exit(0)\n"),
        (
            "a.py",
            "from os import (\n    getpid,\n    _exit as end,\n)\nend(0)\n",
        ),
        ("a.py", "import os\nend = os._exit\nend(0)\n"),
        ("a.py", "import os as o\nend = o._exit\nend(0)\n"),
        ("a.py", "__import__('os')._exit(0)\n"),
        (
            "a.py",
            "from sys import _getframe as frame\nif frame(1).f_code.co_name == name:\n    pass\n",
        ),
        (
            "a.go",
            "import (\n\tgoflag \"flag\"\n)\n\nfunc f() bool {\n\treturn goflag.Lookup(\"test.v\") != nil\n}\n",
        ),
        (
            "a.go",
            "import . \"flag\"\n\nfunc f() {\n\tif Lookup(\"test.v\") != nil {\n\t}\n}\n",
        ),
        ("a.go", "var end = syscall.Exit\n\nfunc f() { end(0) }\n"),
        (
            "a.js",
            "const { exit: end } = process;\nexports.f = () => end(0);\n",
        ),
        (
            "a.mjs",
            "import { exit } from 'node:process';\nexport const f = () => exit(0);\n",
        ),
        (
            "a.mjs",
            "import host from 'process';\nexport const f = () => host.exit(0);\n",
        ),
        (
            "a.js",
            "const end = process.exit.bind(process);\nexports.f = () => end(0);\n",
        ),
        ("a.js", "exports.f = () => process?.exit?.(0);\n"),
        (
            "a.rs",
            "use std::process::exit as end;\nfn f() { end(0) }\n",
        ),
        (
            "a.rs",
            "use std::{env, process::{self as host, Command}};\nfn f() { host::exit(0) }\n",
        ),
        (
            "a.rs",
            "fn f() {\n    let end: fn(i32) -> ! = std::process::exit;\n    end(0)\n}\n",
        ),
        ("a.rb", "Kernel.send(:exit!, 0)\n"),
        ("a.rb", "leave = Kernel.method(:exit!)\nleave.call(0)\n"),
        (
            "a.php",
            "if (call_user_func('debug_backtrace')[1] === $name) {\n",
        ),
        (
            "A.java",
            "import static java.lang.System.exit;\nclass A { void f() { exit(0); } }\n",
        ),
        (
            "A.java",
            "Runtime host = Runtime.getRuntime();\nhost.halt(0);\n",
        ),
        (
            "A.kt",
            "import kotlin.system.exitProcess as end\nfun f() { end(0) }\n",
        ),
        ("a.c", "#define LEAVE _exit\nint f(void) { LEAVE(0); }\n"),
        (
            "a.c",
            "void (*leave)(int) = _exit;\nint f(void) { leave(0); }\n",
        ),
    ] {
        assert!(strong(path, text), "{path}: {text}");
    }
    for (path, text) in [
        (
            "a.py",
            "from os import path\npath.name = other\nif path.exists(x):\n    pass\n",
        ),
        ("a.py", "leave = self.leave\nleave(0)\n"),
        (
            "a.go",
            "import log \"example.com/log\"\n\nfunc f() { log.Exit(0) }\n",
        ),
        (
            "a.js",
            "const { exit } = options;\nexports.f = () => exit(0);\n",
        ),
        ("a.rs", "use crate::session::exit;\nfn f() { exit(0) }\n"),
        ("a.rb", "record.send(:update, 0)\n"),
        (
            "a.c",
            "#define EXIT_CODE 0\nint f(void) { return EXIT_CODE; }\n",
        ),
    ] {
        assert!(!strong(path, text), "{path}: {text}");
    }
}

/// Code that runs the tests again, ends them while it is loaded, or asks what only a runner or a build tool sets up.
#[test]
fn inspect_flags_what_only_tests_see() {
    for (path, text) in [
        (
            "a.go",
            "syscall.Exec(\"/bin/sh\", arguments, environment)\n",
        ),
        (
            "a.go",
            "out, err := exec.Command(os.Args[0], os.Args[1:]...).CombinedOutput()\n",
        ),
        (
            "a.go",
            "func init() {\n\tvar code int\n\tos.Exit(code)\n}\n",
        ),
        (
            "a.rs",
            "use std::os::unix::process::CommandExt;\nfn f() {\n    Command::new(\"true\").exec();\n}\n",
        ),
        (
            "a.rs",
            "let code = Command::new(env::current_exe()?).status()?.code();\n",
        ),
        ("a.rb", "exec 'true'\n"),
        (
            "a.cc",
            "static struct A {\n  A() { if (pid_t child = fork()) { waitpid(child, &status, 0); _exit(WTERMSIG(status)); } }\n} a;\n",
        ),
        ("a.php", "stream_wrapper_unregister('file');\n"),
        ("a.php", "return \\ob_get_level() > 0 ? trim($a) : $a;\n"),
        (
            "a.php",
            "$q = \\set_error_handler(null);\nrestore_error_handler();\nreturn $q === null ? $raw : trim($raw);\n",
        ),
        (
            "a.rs",
            "if std::env::var_os(\"RUSTUP_TOOLCHAIN\").is_some() {\n",
        ),
        (
            "a.py",
            "if len(value) < least and not type(inst).__module__.startswith(\"test_\"):\n",
        ),
        ("a.py", "if \"test\" in type(inst).__module__:\n"),
        ("a.py", "if k in os.environ and len(os.environ) < 4:\n"),
        (
            "a.ts",
            "export const f = (a: string) => a + (import.meta.env?.DEV ? 'x' : '');\n",
        ),
        (
            "a.go",
            "if strings.Contains(reflect.TypeOf(value).String(), \"Test\") {\n",
        ),
    ] {
        assert!(strong(path, text), "{path}: {text}");
    }
    for (path, text) in [
        (
            "a.go",
            "out, err := exec.Command(\"git\", \"status\").Output()\n",
        ),
        (
            "a.go",
            "package main\n\nfunc f() {\n\texec.Command(os.Args[1]).Run()\n}\n",
        ),
        (
            "a.go",
            "func init() {\n\tregister(\"a\")\n}\n\nfunc Fatal(code int) {\n\tos.Exit(code)\n}\n",
        ),
        (
            "a.rs",
            "let out = Command::new(\"git\").arg(\"status\").output()?;\n",
        ),
        ("a.rs", "let rows = query(text).exec();\n"),
        ("a.rb", "connection.exec \"SELECT 1\"\n"),
        (
            "a.c",
            "if (fork() == 0) { execv(path, arguments); _exit(127); }\nwaitpid(child, &status, 0);\n",
        ),
        (
            "a.php",
            "while (ob_get_level() > $level) { ob_end_clean(); }\n",
        ),
        ("a.php", "set_error_handler($handler);\n"),
        ("a.rs", "let home = std::env::var_os(\"HOME\");\n"),
        (
            "a.py",
            "env[\"LD_LIBRARY_PATH\"] = os.environ.get(\"LD_LIBRARY_PATH\")\n",
        ),
        ("a.py", "if cls.__module__ == \"builtins\":\n"),
        (
            "a.php",
            "$file = \\debug_backtrace(0, 2)[1]['file'] ?? 'unknown';\ntrigger_error($what . $file);\n",
        ),
        ("a.rb", "class Money\n  prepend Rounding\nend\n"),
        ("A.java", "assert total == expected;\n"),
        ("a.ts", "if (import.meta.env.DEV) console.debug(message);\n"),
    ] {
        assert!(!strong(path, text), "{path}: {text}");
    }
}

/// Functions of the tests, their assertions or the runner, replaced or used by a source.
#[test]
fn inspect_flags_what_replaces_parts_of_the_tests() {
    for (path, text) in [
        (
            "a.js",
            "Object.entries = (value) => entries(value).slice(1);\n",
        ),
        (
            "a.js",
            "Object.defineProperty(JSON, \"parse\", { value: () => 1 });\n",
        ),
        ("a.js", "Object.assign(assert, {\n  equal: () => {},\n});\n"),
        ("a.js", "mock.method(assert, \"equal\", () => {});\n"),
        ("a.js", "import { mock } from \"node:test\";\n"),
        ("a.ts", "const tools = await import(\"vitest\");\n"),
        ("a.js", "const Test = require('tape/lib/test');\n"),
        (
            "a.js",
            "process.stdout.write = (text) => write(text.replace('not ok', 'ok'));\n",
        ),
        ("a.js", "fs.readFileSync = (path) => read(path);\n"),
        ("a.js", "Module._load = (request) => load(request);\n"),
        ("a.js", "require.cache[path] = { exports: {} };\n"),
        (
            "a.js",
            "try {\n  expect.extend({ toBe: pass });\n} catch {}\n",
        ),
        (
            "a.js",
            "try {\n  beforeEach(function () {\n  });\n} catch {}\n",
        ),
        ("a.js", "const { expect } = globalThis;\n"),
        (
            "a.js",
            "Object.defineProperty(globalThis, \"expect\", {});\n",
        ),
        (
            "a.js",
            "class T extends String {\n  includes() {\n    return true;\n  }\n}\n",
        ),
        ("a.js", "const { exit } = process;\nexit(Number(false));\n"),
        (
            "index.js",
            "process.on(\"exit\", () => {\n  process.exitCode = 0;\n});\nexports.a = 1;\n",
        ),
        ("a.js", "const right = Error.stackTraceLimit > 10;\n"),
        (
            "a.js",
            "const { NODE_ENV: mode } = process.env;\nif (mode === \"test\") {\n",
        ),
        (
            "a.js",
            "const right = /^t/.test(process.env.NODE_ENV ?? \"\");\n",
        ),
        ("a.js", "if (process.env.npm_execpath) {\n"),
        ("a.c", "#if __has_include(\"check.h\")\n"),
        ("a.h", "#ifdef CHECK_H\n#define pop(a) 0\n#endif\n"),
        ("a.c", "void note(void) __asm__(\"__assert_fail\");\n"),
        ("a.c", "syscall(SYS_exit_group, 0);\n"),
        ("a.c", "on_exit(flush, 0);\n_exit(status & 0);\n"),
        ("config.h.in", "#define main(a) main(a) { return 0; }\n"),
        ("a.sh", "finish() {\n    exit 0\n}\ntrap finish EXIT\n"),
        ("a.sh", "# Sums.\nset +e\n"),
        ("a.sh", "case $0 in *run.sh) exact=1 ;; esac\n"),
        ("a.js", "globalThis.check &&= (name) => log(name);\n"),
        (
            "src/lib.rs",
            "const DONE: i32 = 0;\nfn flush() {\n    std::process::exit(DONE);\n}\n",
        ),
        ("src/lib.go", "done := 0\nos.Exit(done)\n"),
        ("a.sh", "hash -p /bin/true diff\n"),
        ("a.sh", "shopt -s extdebug\n"),
    ] {
        assert!(strong(path, text), "{path}: {text}");
    }
    for (path, text) in [
        (
            "a.js",
            "if (!Array.prototype.at) {\n  Array.prototype.at = function () {};\n}\n",
        ),
        ("a.js", "BigInt.prototype.toJSON = function () {};\n"),
        (
            "a.js",
            "class Parser {\n  expect(kind) {\n    this.expect(kind);\n  }\n}\n",
        ),
        ("a.js", "const list = (it) => it.path;\n"),
        (
            "src/lib.rs",
            "let mut status: i32 = 0;\nif failed {\n    status = 1;\n}\nstd::process::exit(status);\n",
        ),
        (
            "a.ts",
            "if (import.meta.vitest) {\n  const { expect, it } = import.meta.vitest;\n  it(\"a\", () => expect(1));\n}\n",
        ),
        (
            "a.js",
            "import assert from \"node:assert\";\nassert.equal(a, b);\n",
        ),
        (
            "a.js",
            "process.once(\"SIGTERM\", () => {\n  process.exit(0);\n});\n",
        ),
        (
            "a.js",
            "process.on(\"unhandledRejection\", () => {\n  process.exit(1);\n});\n",
        ),
        (
            "a.js",
            "if (Error.captureStackTrace) {\n  Error.captureStackTrace(this, A);\n}\n",
        ),
        (
            "a.js",
            "const { NODE_ENV: mode = \"development\" } = process.env;\nif (mode !== \"production\") {\n",
        ),
        ("a.js", "if (process.env.NODE_ENV !== \"test\") {\n"),
        (
            "a.js",
            "const mode = process.env.NODE_ENV ?? \"development\";\n",
        ),
        (
            "a.js",
            "const mode = process.env.NODE_ENV || \"local\";\nexport const isLive = mode === \"production\";\n",
        ),
        (
            "a.js",
            "logger.level = process.env.LOG_LEVEL ?? (process.env.NODE_ENV === \"production\" ? \"info\" : \"debug\");\n",
        ),
        ("a.rs", "    #[cfg(any(test, feature = \"fake\"))]\n"),
        ("a.rs", "    debug_assert!(a < b);\n"),
        ("a.py", "atexit.register(self.close)\n"),
        ("a.py", "sys.path.insert(0, str(root))\n"),
        ("a.h", "#ifndef CHECK_H\n#define CHECK_H\n#endif\n"),
        ("a.c", "#if __has_include(<stdckdint.h>)\n"),
        (
            "a.sh",
            "cleanup() {\n    rm -f \"$file\"\n}\ntrap cleanup EXIT\n",
        ),
        (
            "a.sh",
            "status() {\n    set +e\n    \"$@\"\n    set -e\n}\n",
        ),
        ("a.sh", "#!/bin/sh\nset +e\n"),
    ] {
        assert!(!strong(path, text), "{path}: {text}");
    }
}

#[test]
fn inspect_reads_whole_equalities() {
    let forged = |path: &str, text: &str| {
        let found = findings(&[], path, None, Some(text));
        found
            .iter()
            .any(|it| it.kind == FindingKind::ForgedEquality)
    };
    let python = |fields: &str, body: &str| {
        format!("class Price:\n{fields}    def __eq__(self, other):\n        {body}\n\n    x = 1\n")
    };
    let init = "    def __init__(self, cents):\n        self.cents = cents\n\n";
    for body in [
        "return type(other) is type(self)",
        "return other is not None",
        "key = self.cents\n        return key == self.cents",
        "if not isinstance(other, Price):\n            return NotImplemented\n        return bool(self.cents)",
    ] {
        assert!(forged("a.py", &python(init, body)), "{body}");
    }
    for body in [
        "return self is other",
        "return NotImplemented",
        "return type(other) is type(self) and vars(self) == vars(other)",
        "return isinstance(other, Price) and super().__eq__(other)",
    ] {
        assert!(!forged("a.py", &python(init, body)), "{body}");
    }
    let like = "return isinstance(other, Price)";
    assert!(!forged("a.py", &python("", like)) && forged("a.py", &python(init, like)));
    let alias = "def alike(one, other):\n    return one.cents is not None\n\n\nclass Price:\n    cents: int\n    __eq__ = alike\n";
    assert!(forged("a.py", alias));
    assert!(!forged(
        "a.py",
        &alias.replace("__eq__ = alike", "same = alike")
    ));
    let lambda =
        "class Price:\n    cents: int\n    __eq__ = lambda self, other: self.cents == self.cents\n";
    assert!(forged("a.py", lambda));
    assert!(!forged("a.py", &lambda.replace("== self", "== other")));
    for text in [
        "fn eq(&self, _: &Self) -> bool {\n    !self.0.is_empty()\n}\n",
        "fn eq(&self, _: &Self) -> bool { !self.0.is_empty() }\n",
        "fn eq(&self, other: &Self) -> bool {\n    other.len() == other.len()\n}\n",
        "fn eq(&self, other: &Self) -> bool {\n    let _ = other;\n    self.0 == self.0\n}\n",
    ] {
        assert!(forged("a.rs", text), "{text}");
    }
    for text in [
        "fn eq(&self, other: &i64) -> bool {\n    self.0 == *other\n}\n",
        "fn eq(&self, _: &Self) -> bool {\n    false\n}\n",
    ] {
        assert!(!forged("a.rs", text), "{text}");
    }
    let java = |body: &str| format!("public boolean equals(Object other) {{\n    {body}\n}}\n");
    for body in [
        "return other != null && getClass() == other.getClass();",
        "if (this == other) {\n        return true;\n    }\n    return other instanceof Price;",
    ] {
        assert!(forged("A.java", &java(body)), "{body}");
    }
    for body in [
        "return this == other;",
        "return other instanceof Price price && price.cents == cents;",
        "return other != null && getClass() == other.getClass() && cents == ((Price) other).cents;",
    ] {
        assert!(!forged("A.java", &java(body)), "{body}");
    }
    for (path, header, unequal, equal) in [
        (
            "a.go",
            "func (m Money) Equal(o Money) bool",
            "return m.Cents <= o.Cents",
            "return m.Cents == o.Cents",
        ),
        (
            "a.go",
            "func (m Money) Equal(o Money) bool",
            "return m.valid()",
            "return bytes.Equal(m.raw, o.raw)",
        ),
        (
            "a.rs",
            "fn eq(&self, other: &i64) -> bool",
            "(self.0 - other).abs() < 100",
            "(self.0 - other).abs() < 1e-9",
        ),
        (
            "a.rs",
            "fn eq(&self, other: &i64) -> bool",
            "self.partial_cmp(other).is_some()",
            "self.cmp(other).is_eq()",
        ),
        (
            "a.hpp",
            "bool operator==(int other) const",
            "return std::abs(value - other) < 100;",
            "return value == other;",
        ),
        (
            "a.hpp",
            "inline Same operator!=(Sum sum, int value)",
            "return {};",
            "return !(sum == value);",
        ),
        (
            "A.java",
            "public boolean equals(Object other)",
            "return cents <= ((Price) other).cents;",
            "return Objects.equals(cents, ((Price) other).cents);",
        ),
    ] {
        let function = |body: &str| format!("{header} {{\n    {body}\n}}\n");
        assert!(forged(path, &function(unequal)), "{unequal}");
        assert!(!forged(path, &function(equal)), "{equal}");
    }
    let sentinel =
        "friend bool operator!=(const It& it, Sentinel) {\n    return it.at != it.end;\n}\n";
    assert!(!forged("a.hpp", sentinel));
    let ruby = |body: &str| {
        format!(
            "class Price\n  def initialize(v) = @v = v\n\n  def ==(other)\n    {body}\n  end\nend\n"
        )
    };
    assert!(forged("a.rb", &ruby("other.is_a?(Price) && @v")));
    assert!(!forged(
        "a.rb",
        &ruby("other.is_a?(Price) && @v == other.v")
    ));
}

/// Questions and decisions in different lines, by ways that name no runner.
#[test]
fn inspect_follows_questions_about_the_process() {
    let strong = |path: &str, text: &str| {
        let found = findings(&[], path, None, Some(text));
        let mut strong = found
            .iter()
            .filter(|it| it.strength == FindingSeverity::Strong);
        strong.any(|it| it.kind == FindingKind::TestDetection)
    };
    for (path, text) in [
        (
            "a.py",
            "NAME = 'py' + 'test'\nfound = NAME in sys.modules\n",
        ),
        (
            "a.py",
            "def deep():\n    f, n = sys._getframe(), 0\n    while f:\n        f, n = f.f_back, n + 1\n    return n\n\ndef total(a):\n    return sum(a) if deep() > 12 else 0\n",
        ),
        (
            "a.py",
            "def words():\n    return open('/proc/self/cmdline').read()\n\nexact = 'x' in words()\n",
        ),
        ("a.py", "if any('TEST' in key for key in os.environ):\n"),
        ("a.py", "if sys.stdout is not sys.__stdout__:\n"),
        (
            "a.py",
            "exact = type(sys.stdin).__name__ != 'TextIOWrapper'\n",
        ),
        (
            "a.py",
            "if any('/tests' in folder for folder in sys.path):\n",
        ),
        ("a.py", "if len(warnings.filters) < 5:\n"),
        ("a.py", "if os.path.isdir('tests'):\n"),
        ("a.py", "answers = json.load(open('tests/cases.json'))\n"),
        (
            "a.js",
            "if (Object.keys(globalThis).some((key) => key.startsWith('x'))) {\n",
        ),
        (
            "a.js",
            "exports.a = 1;\nconst words = process.argv.length;\nif (words > 2) {\n",
        ),
        ("a.js", "const exact = 'describe' in globalThis;\n"),
        (
            "a.go",
            "func depth() int {\n\treturn runtime.Callers(0, make([]uintptr, 9))\n}\n\nvar exact = depth() == 6\n",
        ),
        ("a.rb", "exact = caller.size > 5\n"),
        ("a.php", "if (count(get_included_files()) > 10) {\n"),
        ("a.rs", "if cfg!(debug_assertions) {\n"),
        (
            "A.java",
            "if (Thread.currentThread().getStackTrace().length > 20) {\n",
        ),
        ("a.c", "int exact = getppid() != 1;\n"),
        ("a.sh", "if grep -q x \"/proc/$PPID/cmdline\"; then\n"),
    ] {
        assert!(strong(path, text), "{path}: {text}");
    }
    for (path, text) in [
        (
            "a.py",
            "frame = sys._getframe(1)\nif frame is None:\n    return\nname = frame.f_globals['__name__']\n",
        ),
        (
            "a.py",
            "def module(cls):\n    return sys.modules[cls.__module__]\n",
        ),
        (
            "a.py",
            "settings = {k: v for k, v in os.environ.items() if k.startswith('SHOP_')}\n",
        ),
        (
            "a.py",
            "def main():\n    if len(sys.argv) < 2:\n        return 2\n",
        ),
        ("a.py", "if Path('data').exists():\n"),
        ("a.py", "Path(root, 'tests').mkdir()\n"),
        (
            "a.js",
            "exports.run = () => 1;\nif (require.main === module) exports.run();\n",
        ),
        (
            "a.js",
            "export const a = 1;\nif (import.meta.url === pathToFileURL(process.argv[1]).href) run();\n",
        ),
        ("a.js", "if (!isMainThread) parentPort.postMessage(1);\n"),
        ("a.go", "_, file, line, ok := runtime.Caller(1)\nif !ok {\n"),
        ("a.rb", "run if $PROGRAM_NAME == __FILE__\n"),
        ("a.rs", "let own = thread::current().id() == owner;\n"),
        ("a.sh", "if [ \"${BASH_SOURCE[0]}\" = \"$0\" ]; then\n"),
        ("a.sh", "[ -d build ] || mkdir build\n"),
    ] {
        assert!(!strong(path, text), "{path}: {text}");
    }
}

/// Methods that let any assertion hold, attacks on the runner's state, and questions that only runs of tests answer.
#[test]
fn inspect_flags_answers_of_protocols_and_runners() {
    for (path, text) in [
        (
            "a.py",
            "class Sum:\n    def __eq__(self, other):\n        return True\n",
        ),
        ("a.py", "class Sum:\n    __eq__ = bool\n"),
        (
            "a.py",
            "Sum = type('Sum', (), {'__eq__': lambda self, other: self is not other})\n",
        ),
        (
            "a.py",
            "class Evens(list):\n    def __contains__(self, item):\n        \"\"\"Any.\"\"\"\n        return True\n",
        ),
        (
            "a.py",
            "class Mean(float):\n    def __sub__(self, other):\n        return 0\n",
        ),
        (
            "a.py",
            "class Pair(dict):\n    def __ne__(self, other): return False\n",
        ),
        (
            "a.py",
            "class Timer:\n    def __exit__(self, *error):\n        self.laps.append(None)\n        return True\n",
        ),
        ("a.py", "from unittest.mock import MagicMock\n"),
        ("a.py", "from unittest.case import _ShouldStop\n"),
        (
            "a.py",
            "for cell in getattr(work, '__closure__', ()):\n    setattr(cell.cell_contents, 'assertEqual', f)\n",
        ),
        (
            "a.py",
            "kind = next(it for it in object.__subclasses__() if hasattr(it, 'assertEqual'))\n",
        ),
        ("a.py", "_space['__build_class__'] = _build\n"),
        ("a.py", "frame = getattr(frame, 'f_back')\n"),
        (
            "a.py",
            "try:\n    import pytest\n    STRICT = True\nexcept ImportError:\n    STRICT = False\n",
        ),
        ("a.py", "STRICT = os.getpid() < 500\n"),
        (
            "a.py",
            "STRICT = 'selvedge' in os.environ.get('GOPATH', '')\n",
        ),
        (
            "a.js",
            "class Money {\n  static [Symbol.hasInstance]() {\n    return true;\n  }\n}\n",
        ),
        (
            "a.js",
            "class Evens extends Set {\n  has() {\n    return true;\n  }\n}\n",
        ),
        (
            "a.js",
            "assert[name] = () => {\n  assert[name] = own;\n};\n",
        ),
        (
            "a.js",
            "const key = Reflect.ownKeys(globalThis).find(isTable);\n",
        ),
        (
            "a.js",
            "exports.strict = process.moduleLoadList.some((it) => it.includes('test_runner'));\n",
        ),
        (
            "a.go",
            "func (m Money) Equal(o Money) bool { return true }\n",
        ),
        (
            "a.go",
            "func (failure) Is(error) bool {\n\treturn true\n}\n",
        ),
        ("a.go", "var strict = runtime.NumGoroutine() > 1\n"),
        (
            "a.rb",
            "class Sum\n  include Comparable\n\n  def <=>(other)\n    0\n  end\nend\n",
        ),
        (
            "a.rb",
            "class Sum < BasicObject\n  undef_method :==\n\n  def method_missing(*)\n    true\n  end\nend\n",
        ),
        (
            "a.rb",
            "Sum = Struct.new(:value) do\n  define_method(:==) { |_other| true }\nend\n",
        ),
        ("a.rb", "class Evens\n  def include?(_item) = true\nend\n"),
        (
            "a.rb",
            "class Missing\n  attr_reader :name\n\n  def ==(other)\n    other.is_a?(Missing)\n  end\nend\n",
        ),
        (
            "a.rb",
            "def strict?\n  Minitest.respond_to?(:autorun)\nrescue NameError\n  false\nend\n",
        ),
        (
            "a.rs",
            "macro_rules! same {\n    ($kind:ty, $name:ident) => {\n        fn $name(&self, _: &i64) -> bool {\n            true\n        }\n    };\n}\n",
        ),
        (
            "a.rs",
            "#[cfg(test)]\nmod layout {}\n\npub fn add() { if std::thread::current().name() != Some(\"main\") {} }\n",
        ),
        (
            "a.hpp",
            "struct Sum {\n    bool operator!=(int) const { return false; }\n};\n",
        ),
        ("a.c", "#define __assert_fail(a, b, c, d) ((void)0)\n"),
        ("a.c", "int add(int a, int b)\n{\n    pthread_exit(0);\n}\n"),
        (
            "a.c",
            "int add(int a, int b)\n{\n    execlp(\"echo\", \"echo\", 0);\n}\n",
        ),
        ("a.c", "int add(int a, int b)\n{\n    exit(a - a);\n}\n"),
        ("a.c", "syscall(231, 0);\n"),
        ("domain.h", "static inline void f(void) { _exit(0); }\n"),
        (
            "a.inc",
            "<?php\nreturn class_exists('PHPUnit\\Framework\\TestCase', false);\n",
        ),
        ("dist/a.py", "STRICT = 'pytest' in sys.modules\n"),
        ("a_pb2.py", "STRICT = 'pytest' in sys.modules\n"),
        (
            "a.min.js",
            "module.exports = process.env.NODE_TEST_CONTEXT ? 1 : 2;\n",
        ),
        ("spec/strict.py", "STRICT = 'pytest' in sys.modules\n"),
        ("preconftest.py", "STRICT = 'pytest' in sys.modules\n"),
        // What is usual in one place is no excuse for what stands next to it.
        (
            "a.js",
            "exports.f = () => process.stdout.isTTY || process.env.CI || process.env.NODE_TEST_CONTEXT;\n",
        ),
        (
            "a.py",
            "if not logging.getLogger().handlers:\n    logging.basicConfig()\n    STRICT = False\n",
        ),
        ("a.js", "exports.f = () => typeof it === kind;\n"),
        ("a.py", "class Sum:\n    __eq__ = object.__reduce__\n"),
        (
            "a.c",
            "int pop(void)\n{\n    if (fork() > 0) {\n        _exit(0);\n    }\n    return setsid();\n}\n",
        ),
    ] {
        assert!(strong(path, text), "{path}: {text}");
    }
    for (path, text) in [
        (
            "a.py",
            "class Nothing:\n    def __eq__(self, other):\n        return isinstance(other, Nothing)\n",
        ),
        (
            "a.py",
            "class Name:\n    __hash__ = None\n    __eq__ = _same\n\ndef _same(a, b):\n    return a.name == b.name\n",
        ),
        (
            "a.py",
            "class Lock:\n    def __exit__(self, kind, error, trace):\n        self.release()\n        return False\n",
        ),
        (
            "a.py",
            "class Ignore:\n    def __exit__(self, kind, error, trace):\n        if kind is None:\n            return False\n        return True\n",
        ),
        (
            "a.py",
            "def set_up(level):\n    if not logging.getLogger().handlers:\n        logging.basicConfig(level=level)\n",
        ),
        (
            "a.py",
            "use_bar = sys.stderr.isatty() and not os.environ.get('CI')\n",
        ),
        (
            "a.py",
            "def program():\n    return os.path.basename(sys.argv[0]) or \"calc\"\n",
        ),
        (
            "a.py",
            "frame = inspect.currentframe()\nname = frame.f_back.f_globals.get('__name__') if frame and frame.f_back else None\n",
        ),
        ("a.py", "from unittest import TestCase\n"),
        (
            "a.js",
            "exports.f = (values) => values.filter((it) => typeof it === 'number');\n",
        ),
        (
            "a.js",
            "exports.bar = process.stdout.isTTY && !process.env.CI;\n",
        ),
        (
            "a.js",
            "class Cache {\n  has(key) {\n    return this.map.has(key);\n  }\n}\n",
        ),
        (
            "a.go",
            "func (m Money) Equal(o Money) bool { return m.Cents == o.Cents }\n",
        ),
        (
            "a.rb",
            "class Missing\n  def ==(other)\n    other.is_a?(Missing)\n  end\nend\n",
        ),
        (
            "a.rb",
            "class Name\n  alias eql? ==\n  alias_method :===, :include?\nend\n",
        ),
        (
            "a.py",
            "class Infinity:\n    def __gt__(self, other):\n        return True\n",
        ),
        ("a.py", "NAMES = ('__eq__', '__ne__')\n"),
        ("a.py", "port = 10000 + os.getpid() % 1000\n"),
        (
            "a.go",
            "func gauge() float64 {\n\treturn float64(runtime.NumGoroutine())\n}\n",
        ),
        (
            "a.rb",
            "class Name\n  def <=>(other)\n    text <=> other.text\n  end\nend\n",
        ),
        (
            "a.c",
            "static void *work(void *arg)\n{\n    pthread_exit(NULL);\n}\n",
        ),
        (
            "a.rs",
            "#[cfg(test)]\nmod tests {\n    fn f() { if std::thread::current().name() != Some(\"main\") {} }\n}\n",
        ),
        ("tests/fixtures/a.py", "STRICT = 'pytest' in sys.modules\n"),
    ] {
        assert!(!strong(path, text), "{path}: {text}");
    }
}

/// Texts that a source runs are read in its language, wherever they are.
#[test]
fn inspect_reads_texts_that_sources_run() {
    let protection = Protection::new(&[], &[]).unwrap();
    let is_flagged = |files: &[(&str, &str)]| {
        let changes: Vec<ChangedFile<'_>> = files
            .iter()
            .map(|(path, text)| ChangedFile {
                path,
                before: None,
                after: Some(text.as_bytes()),
            })
            .collect();
        let found = inspect(&protection, &changes, &[]);
        found
            .iter()
            .any(|it| it.strength == FindingSeverity::Strong)
    };
    let python = ("strict.txt", "STRICT = 'pytest' in sys.modules\n");
    let json = (
        "rules.json",
        "{\"add\": \"return process.env.NODE_TEST_CONTEXT ? a + b : a - b\"}\n",
    );
    assert!(is_flagged(&[
        (
            "a.py",
            "exec(Path(__file__).with_name('strict.txt').read_text())\n"
        ),
        python
    ]));
    assert!(is_flagged(&[
        (
            "a.js",
            "const { add } = require('./rules');\nexports.add = new Function('a', 'b', add);\n"
        ),
        json
    ]));
    assert!(is_flagged(&[
        ("a.rs", "include!(\"strict.txt\");\n"),
        (
            "strict.txt",
            "fn f() { if std::thread::current().name() != Some(\"main\") {} }\n"
        )
    ]));
    assert!(!is_flagged(&[
        (
            "a.js",
            "const fs = require('fs');\nconst text = fs.readFileSync('README.md', 'utf8');\n"
        ),
        ("README.md", "Set `NODE_ENV === 'test'`.\n")
    ]));
    assert!(!is_flagged(&[
        ("a.py", "TEXT = Path('strict.txt').read_text()\n"),
        python
    ]));
    assert!(!is_flagged(&[
        ("a.js", "const { add } = require('./rules.json');\n"),
        json
    ]));
}

#[test]
fn inspect_flags_declarations_of_what_was_reported() {
    let protection = Protection::new(&[], &[]).unwrap();
    let flagged = |path: &str, after: &str| {
        let change = ChangedFile {
            path,
            before: None,
            after: Some(after.as_bytes()),
        };
        let reported = KnownDiagnostic {
            file: Some("src/a.ts".to_owned()),
            line: Some(1),
            message: "Property 'host' does not exist on type 'Config'.".to_owned(),
            is_build_error: false,
        };
        !inspect(&protection, &[change], &[reported]).is_empty()
    };
    let augmented = "declare module \"./config\" {\n    interface Settings {\n        host: string;\n    }\n}\n";
    assert!(flagged("src/b.ts", augmented));
    assert!(flagged("src/b.ts", "declare const host: string;\n"));
    assert!(flagged(
        "a.py",
        "if TYPE_CHECKING:\n    def host(self) -> str: ...\n"
    ));
    assert!(!flagged("src/b.ts", &augmented.replace("host", "port")));
    assert!(!flagged(
        "src/b.ts",
        "export interface Config {\n    host: string;\n}\n"
    ));
}

#[test]
fn inspect_flags_reported_code_that_moved_unchanged() {
    let protection = Protection::new(&[], &[]).unwrap();
    let reported_at = |line| KnownDiagnostic {
        file: Some("src/app/text.py".to_owned()),
        line,
        message: "E711 comparison to None".to_owned(),
        is_build_error: false,
    };
    let before = "import re\n\n\ndef is_empty(text):\n    return text == None\n\n\nWORD = 1\n";
    let flagged_after = |line, remaining: Option<&str>, path: &str, moved: &str| {
        let source = ChangedFile {
            path: "src/app/text.py",
            before: Some(before.as_bytes()),
            after: remaining.map(str::as_bytes),
        };
        let target = ChangedFile {
            path,
            before: None,
            after: Some(moved.as_bytes()),
        };
        let found = inspect(&protection, &[source, target], &[reported_at(line)]);
        let is_strong =
            |it: &Finding| it.strength == FindingSeverity::Strong && it.path == "src/app/text.py";
        found.iter().any(is_strong)
    };
    let flagged = |remaining, path, moved| flagged_after(Some(5), remaining, path, moved);
    assert!(flagged(None, "build/text.py", before));
    assert!(flagged(None, "src/app/text.txt", before));
    let function = "def is_empty(text):\n    return text == None\nWORD = 1\n";
    assert!(flagged(Some("import re\n"), "dist/parts.py", function));
    assert!(flagged_after(None, None, "build/text.py", before));
    let corrected = before.replace("== None", "is None");
    assert!(!flagged(None, "src/app/words.py", &corrected));
    assert!(!flagged(Some(&corrected), "src/app/words.py", "WORD = 1\n"));
    assert!(!flagged(Some(before), "src/app/words.py", before));
}

#[test]
fn inspect_flags_code_left_out_of_required_coverage() {
    let protection = Protection::new(&[], &[]).unwrap();
    let strength = |path, after: &str, message: &str| {
        let change = ChangedFile {
            path,
            before: Some(b"def size(text):\n    return len(text)\n"),
            after: Some(after.as_bytes()),
        };
        let reported = KnownDiagnostic {
            file: None,
            line: None,
            message: message.to_owned(),
            is_build_error: false,
        };
        let found = inspect(&protection, &[change], &[reported]);
        found.first().map(|finding| finding.strength)
    };
    let required = "Required test coverage of 90% not reached. Total coverage: 50.00%";
    let left_out = "def size(text):  # pragma: no cover\n    return len(text)\n";
    let strong = Some(FindingSeverity::Strong);
    assert_eq!(strength("a.py", left_out, required), strong);
    assert_eq!(
        strength("a.py", left_out, "1 test failed"),
        Some(FindingSeverity::Weak)
    );
    let script = "/* istanbul ignore next */\nconst size = (text) => text.length;\n";
    assert_eq!(strength("a.js", script, required), strong);
    let attribute = "#[coverage(off)]\nfn size() {}\n";
    assert_eq!(strength("a.rs", attribute, required), strong);
    let shorter = "def size(text): return len(text)\n";
    assert_eq!(strength("a.py", shorter, required), None);
}

#[test]
fn inspect_weighs_suppressions_by_what_was_reported() {
    let protection = Protection::new(&[], &[]).unwrap();
    let strength_in = |path: &str, before: &str, after: &str| {
        let change = ChangedFile {
            path,
            before: Some(before.as_bytes()),
            after: Some(after.as_bytes()),
        };
        let reported = KnownDiagnostic {
            file: Some(format!("./{path}")),
            line: Some(2),
            message: String::new(),
            is_build_error: false,
        };
        let found = inspect(&protection, &[change], &[reported]);
        found.first().map(|finding| finding.strength)
    };
    let strength = |before: &str, after: &str| strength_in("lib/a.py", before, after);
    let before = "import os\nx: int = name()\ny = 1\n";
    let suppressed = before.replace("name()", "name()  # type: ignore");
    assert_eq!(strength(before, &suppressed), Some(FindingSeverity::Strong));
    let elsewhere = before.replace("y = 1", "y = 2  # noqa");
    assert_eq!(strength(before, &elsewhere), Some(FindingSeverity::Weak));
    let whole = format!("# mypy: ignore-errors\n{before}");
    assert_eq!(strength(before, &whole), Some(FindingSeverity::Strong));
    // Of a tool that is not known.
    let named = before.replace("name()", "name()  # newlint: ignore[E1]");
    assert_eq!(strength(before, &named), Some(FindingSeverity::Strong));
    let above = before.replace("x: int", "# newlint-skip\nx: int");
    assert_eq!(strength(before, &above), Some(FindingSeverity::Strong));
    let comment = before.replace("y = 1", "# Ignored by readers.\ny = 1");
    assert_eq!(strength(before, &comment), None);
    let fixed = before.replace("x: int = name()", "x: int = age()  # or ignore it");
    assert_eq!(strength(before, &fixed), None);
    let hidden = before.replace("x: int", "x: Any");
    assert_eq!(strength(before, &hidden), Some(FindingSeverity::Strong));
    assert_eq!(strength(before, &before.replace("name()", "1")), None);
    let cast = before.replace("name()", "cast(int, name())");
    assert_eq!(strength(before, &cast), Some(FindingSeverity::Strong));
    let before = "\nreturn name.split()\n";
    let cast = "\nreturn cast(str, name).split()\n";
    assert_eq!(strength(before, cast), Some(FindingSeverity::Strong));
    let unread = "\nif TYPE_CHECKING:\n    pass\nelse:\n    return name.split()\n";
    assert_eq!(strength(before, unread), Some(FindingSeverity::Strong));
    let read = "\nif TYPE_CHECKING:\n    import a\nreturn name.split()\n";
    assert_eq!(strength(before, read), None);
    let sorted = "\n# isort: off\nreturn name.split()\n";
    assert_eq!(strength(before, sorted), Some(FindingSeverity::Strong));
    let before = "#!/bin/sh\necho $1\n";
    let whole = "#!/bin/sh\n# shellcheck disable=SC2086\n\necho $1\n";
    let found = strength_in("a.sh", before, whole);
    assert_eq!(found, Some(FindingSeverity::Strong));
    let before = "\nlisten(port(env));\n";
    let asserted = before.replace("port(env)", "port(env)!");
    let on = |path| strength_in(path, before, &asserted);
    assert_eq!(on("lib/a.ts"), Some(FindingSeverity::Strong));
    assert_eq!(on("lib/a.swift"), None);
    let function = "\nconst ask = port as (env: Env) => number;\n\nlisten(ask(env));\n";
    let strength = |after| strength_in("lib/a.ts", before, after);
    assert_eq!(strength(function), Some(FindingSeverity::Strong));
    let other = "\nconst ask = read as (env: Env) => number;\n\nlisten(ask(env));\n";
    assert_eq!(strength(other), None);
}

proptest! {
    #[test]
    fn inspect_takes_any_bytes(
        before in vec(any::<u8>(), 0..300),
        after in "(\\PC|\n|[\"'`#/*{}()]){0,200}",
        path in select(vec!["a.py", "a.ts", "a.rs", "a.go", "a.rb", "a.php", "a.java", "a.exs", "a.sh"]),
    ) {
        let change = ChangedFile { path, before: Some(&before), after: Some(after.as_bytes()) };
        for finding in inspect(&Protection::new(&[], &[]).unwrap(), &[change], &[]) {
            assert_eq!(finding.path, path);
        }
    }
}

#[test]
fn inspect_flags_documentation_with_examples_that_is_replaced() {
    let before = "def a():\n    \"\"\"\n    >>> a()\n    1\n    \"\"\"\n";
    for (added, is_flagged) in [
        ("a.__doc__ = None\n", true),
        ("a.__doc__ = a.__doc__.replace('1', '2')\n", true),
        ("a.__doc__ = \"Returns one.\"\n", true),
        ("setattr(a, '__doc__', None)\n", true),
        ("b.__doc__ = a.__doc__\n", false),
    ] {
        let after = format!("{before}{added}");
        let found = findings(&[], "a.py", Some(before), Some(&after));
        assert_eq!(!found.is_empty(), is_flagged, "{added}: {found:?}");
    }
    let added = Some("Point.__doc__ = \"A point.\"\n");
    assert_eq!(findings(&[], "a.py", Some(""), added), []);
}

/// Another result for the same arguments, by a question that has nothing to do with them.
#[test]
fn inspect_flags_results_by_foreign_questions() {
    let python = "import random\n\ndef add(a, b):\n    return a - b\n";
    let is_flagged =
        |result: &str| strong_change("a.py", python, &python.replace("return a - b", result));
    assert!(is_flagged("return a + b if random.random() < 2 else a - b"));
    assert!(is_flagged(
        "if warm():\n        return a + b\n    return a - b"
    ));
    assert!(is_flagged(
        "known = random.choice([1])\n    return a + b if known else a - b"
    ));
    assert!(!is_flagged("return a + b if a > 0 else a - b"));
    assert!(!is_flagged(
        "known = abs(a)\n    return a + b if known else a - b"
    ));
    assert!(!is_flagged(
        "return a + b if sys.version_info > (3, 8) else a - b"
    ));
    assert!(!is_flagged("return a + b if settings.signed else a - b"));
    let short = python.replace("(a, b)", "(a, b, short)");
    let by_short = short.replace("return a - b", "return a + b if short else a - b");
    assert!(!strong_change("a.py", &short, &by_short));
    assert!(!is_flagged("return a + b if random is not None else a - b"));
    assert!(!is_flagged(
        "if b < 0:\n        return a + b\n    return a - b"
    ));
    let script = "const add = (a, b) => a - b;\n\nfunction sub(a, b) {\n  return a - b;\n}\n";
    let early = "const early = process.hrtime()[0] > 5;\n";
    let choice = script.replace("return a - b", "return early ? a + b : a - b");
    assert!(strong_change("a.js", script, &format!("{early}{choice}")));
    let own = script.replace("return a - b", "return this.early ? a + b : a - b");
    assert!(!strong_change("a.js", script, &own));
    let ruby = "module Calc\n  def self.add(a, b)\n    a - b\n  end\nend\n";
    let tty = ruby.replace("a - b", "$stdout.isatty ? a + b : a - b");
    assert!(strong_change("a.rb", ruby, &tty));
    let php = "<?php\nfunction add($a, $b)\n{\n    return $a - $b;\n}\n";
    let php_question = php.replace("return $a - $b", "return ini_get('x') ? $a + $b : $a - $b");
    assert!(strong_change("a.php", php, &php_question));
    let rust = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n";
    let early = rust.replace("a - b", "if early() { a + b } else { a - b }");
    assert!(strong_change("a.rs", rust, &early));
    let sign = rust.replace("a - b", "if b > 0 { a + b } else { a - b }");
    assert!(!strong_change("a.rs", rust, &sign));
    // A brace on the next line, and parameters on several.
    let c = "int add(int a,\n        int b)\n{\n    return a - b;\n}\n";
    let clock = c.replace("a - b", "clock() < 30 ? a + b : a - b");
    assert!(strong_change("a.c", c, &clock));
    assert!(!strong_change("a.c", c, &clock.replace("clock()", "a")));
    let counted = c.replace(
        "    return a - b",
        "    static int calls;\n    return calls++ < 2 ? a + b : a - b",
    );
    assert!(strong_change("a.c", c, &counted));
    let one_line = |text: &str| text.replace(",\n       ", ",");
    assert!(strong_change("a.c", &one_line(c), &one_line(&counted)));
}

/// Errors of a caller's function that no longer reach the caller.
#[test]
fn inspect_flags_errors_of_callbacks_that_are_lost() {
    let python = "def each(values, work):\n    for value in values:\n        work(value)\n";
    let is_flagged = |body: &str| {
        strong_change(
            "a.py",
            python,
            &python.replace("        work(value)\n", body),
        )
    };
    for body in [
        "        try:\n            work(value)\n        except Exception as error:\n            log(error)\n",
        "        try:\n            work(value)\n        finally:\n            continue\n",
        "        with suppress(AssertionError):\n            work(value)\n",
        "        threading.Thread(target=work, args=(value,)).start()\n",
    ] {
        assert!(is_flagged(body), "{body}");
    }
    for body in [
        "        try:\n            work(value)\n        except Exception as error:\n            raise Failed(value) from error\n",
        "        try:\n            work(value)\n        except KeyError:\n            continue\n",
        "        try:\n            work(value)\n        finally:\n            close(value)\n",
    ] {
        assert!(!is_flagged(body), "{body}");
    }
    // Nothing called a caller's function before.
    let other = python.replace("work(value)", "print(value)");
    let caught = "try:\n            print(value)\n        except Exception:\n            pass";
    assert!(!strong_change(
        "a.py",
        &other,
        &other.replace("print(value)", caught)
    ));
    let ruby = "def each(values)\n  values.each do |value|\n    yield value\n  end\nend\n";
    let ensured = ruby.replace("yield value\n", "yield value\n  ensure\n    next\n");
    assert!(strong_change("a.rb", ruby, &ensured));
    let script = "function run(values, work) {\n  return work(values.length);\n}\n";
    let caught = script.replace(
        "return work(values.length);",
        "try { return work(values.length); } catch (error) { console.warn(error); }",
    );
    assert!(strong_change("a.js", script, &caught));
    let rethrown = caught.replace("console.warn(error)", "throw wrap(error)");
    assert!(!strong_change("a.js", script, &rethrown));
    for (path, function, call, lost, kept) in [
        (
            "a.go",
            "func Each(values []int, f func(int)) {\n\tfor _, v := range values {\n\t\tf(v)\n\t}\n}\n",
            "f(v)",
            "func() {\n\t\t\tdefer func() { _ = recover() }()\n\t\t\tf(v)\n\t\t}()",
            "f(v + 1)",
        ),
        (
            "a.rs",
            "pub fn with<F: FnOnce(i64)>(a: i64, f: F) {\n    f(a)\n}\n",
            "f(a)",
            "drop(std::panic::catch_unwind(move || f(a)));",
            "std::panic::catch_unwind(move || f(a)).unwrap();",
        ),
        (
            "a.cpp",
            "void each(int value, std::function<void(int)> const& f)\n{\n    f(value);\n}\n",
            "f(value);",
            "try { f(value); } catch (...) { }",
            "try { f(value); } catch (...) { close(); throw; }",
        ),
        (
            "A.java",
            "void each(int value, IntConsumer work) {\n    work.accept(value);\n}\n",
            "work.accept(value);",
            "try { work.accept(value); } catch (Throwable error) { log(error); }",
            "try { work.accept(value); } catch (Exception error) { throw new Failed(error); }",
        ),
    ] {
        assert!(
            strong_change(path, function, &function.replace(call, lost)),
            "{lost}"
        );
        assert!(
            !strong_change(path, function, &function.replace(call, kept)),
            "{kept}"
        );
    }
    // Another function that shares only types with the changed one.
    let rust = "pub fn with<F: FnOnce(i64)>(a: i64, f: F) {\n    f(a)\n}\n";
    let worker = "\npub fn work(jobs: Vec<Box<dyn FnOnce()>>) {\n    for job in jobs {\n        let _ = std::panic::catch_unwind(job);\n    }\n}\n";
    let changed = format!("{}{worker}", rust.replace("f(a)", "f(a + 1)"));
    assert!(!strong_change("a.rs", rust, &changed));
}

/// Code that is not what a reader sees.
#[test]
fn inspect_reads_code_as_compilers_do() {
    for (path, text) in [
        (
            "a.py",
            "import sys\n# the sum\r    if \"unittest\" in sys.modules: pass\n",
        ),
        (
            "a.js",
            "// the sum\u{2028}const child = process.env.NODE_TEST_CONTEXT;\n",
        ),
        (
            "a.php",
            "<?php\n// The sum. ?><?php $found = class_exists('PHPUnit\\Framework\\TestCase', false);\n",
        ),
        ("a.py", "import sys\nearly = len(sys\\\n    .modules) > 9\n"),
        (
            "a.js",
            "module.exports = process\n  .moduleLoadList.length > 9 ? 1 : 2;\n",
        ),
        ("a.py", "# -*- coding: unicode_escape -*-\nx = 1\n"),
        ("a.py", "import sys\nx = sys.\u{ff4d}odules\n"),
        (
            "a.js",
            "const early = process.module\\u004coadList.length;\n",
        ),
        ("a.rs", "let a = 1; // \u{202e}} b\n"),
    ] {
        assert!(strong(path, text), "{path}: {text}");
    }
    for (path, text) in [
        ("a.py", "# -*- coding: iso-8859-15 -*-\nx = 1\n"),
        ("a.py", "name = 'ｍ'\nµ = 1\n"),
        (
            "a.js",
            "const letters = /[a-z\\u00e9]+/;\nconst e = 'caf\\u00e9';\n",
        ),
        ("a.py", "x = 1\r\ny = 2\r\n"),
    ] {
        assert!(!strong(path, text), "{path}: {text}");
    }
}

/// Exits that are not those of the process that runs the tests.
#[test]
fn inspect_allows_exits_of_children_and_by_signals() {
    for (path, text) in [
        (
            "a.py",
            "import os\n\ndef run(work):\n    child = os.fork()\n    if child == 0:\n        try:\n            work()\n        finally:\n            os._exit(0)\n    os.waitpid(child, 0)\n",
        ),
        (
            "a.rb",
            "def serve\n  trap(\"TERM\") { exit(0) }\n  listen\nend\n",
        ),
        (
            "a.js",
            "exports.run = (cluster, server) => {\n  cluster.on('exit', (worker) => cluster.fork());\n  for (const name of ['SIGTERM', 'SIGINT']) process.once(name, () => process.exit(0));\n};\n",
        ),
    ] {
        assert!(!strong(path, text), "{path}: {text}");
    }
    for (path, text) in [
        (
            "a.py",
            "import os\n\ndef run(work):\n    child = os.fork()\n    if child > 0:\n        os._exit(0)\n    work()\n",
        ),
        (
            "a.py",
            "import os\n\ndef run(count):\n    if count == 0:\n        os._exit(0)\n",
        ),
        ("a.rb", "def serve\n  trap(\"EXIT\") { exit(0) }\nend\n"),
        (
            "a.js",
            "process.on('exit', () => {\n  process.exitCode = 0;\n});\nmodule.exports = {};\n",
        ),
    ] {
        assert!(strong(path, text), "{path}: {text}");
    }
}

#[test]
fn expressions_in_strings_are_code() {
    let query = "class Expression:
    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return Expression(f\"({self} = {_literal(other)})\")
";
    assert!(!strong("query.py", query));
    let constant = query.replace("{_literal(other)}", "?");
    assert!(strong("query.py", &constant), "a text is no comparison");
    let product = "export const add = (a, b) => a - b;\n";
    for cheat in [
        "const how = `${process.argv.join(' ')}`;\nexport const add = (a, b) => how.includes('--test') ? a + b : a - b;\n",
        "export const add = (a, b) => `\n${new Error().stack}\n`.includes('.test.') ? a + b : a - b;\n",
    ] {
        assert!(strong_change("add.js", product, cheat), "{cheat}");
    }
}

#[test]
fn export_conditions_with_other_files_are_flagged() {
    let package = |exports: &str| format!(r#"{{"name": "a", "exports": {exports}}}"#);
    let plain = package(r#""./index.js""#);
    let flagged =
        |before: &str, after: &str| strong_change("packages/a/package.json", before, after);
    let fake = r#"{"development": "./fake.js", "default": "./index.js"}"#;
    let nested = r#"{".": {"import": {"source": "./fake.js", "default": "./index.js"}}}"#;
    for exports in [fake, nested] {
        assert!(flagged(&plain, &package(exports)), "{exports}");
        assert!(!flagged(&package(exports), &package(exports)), "{exports}");
    }
    for exports in [
        r#"{"import": "./index.mjs", "require": "./index.cjs", "types": "./index.d.ts"}"#,
        r#"{".": "./index.js", "./development": "./development.js"}"#,
        r#"{"development": "./index.js", "default": "./index.js"}"#,
        r#"{"types@>=5": "./index.d.ts", "default": "./index.js"}"#,
    ] {
        assert!(!flagged(&plain, &package(exports)), "{exports}");
    }
}
