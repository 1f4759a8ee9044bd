//! Which changed files are on the test side, and how renames are applied to originals.

use super::*;
use crate::guard::ChangedFile;
use crate::model::{Step, StepKind};

type Text<'a> = (&'a str, &'a str);
type Texts<'a> = &'a [Text<'a>];

fn base_of(texts: Texts<'_>) -> BaseFiles {
    let file = |(path, text): &(&str, &str)| ((*path).to_owned(), Some(text.as_bytes().to_vec()));
    texts.iter().map(file).collect()
}

/// The changes of an attempt; an empty text represents a missing file.
fn changes_of<'a>(base: Texts<'a>, after: Texts<'a>) -> Vec<ChangedFile<'a>> {
    let change = |(path, text): &(&'a str, &'a str)| {
        let before = base.iter().find(|(other, _)| other == path);
        ChangedFile {
            path,
            before: before.map(|(_, text)| text.as_bytes()),
            after: Some(text.as_bytes()).filter(|text| !text.is_empty()),
        }
    };
    after.iter().map(change).collect()
}

fn crossed(command: &str, base: Texts<'_>, after: Texts<'_>) -> Vec<CrossedFile> {
    let context = CrossingContext {
        is_installed: &|_| false,
        split: &|_| MergeResult::Same,
    };
    let steps = [Step::new(StepKind::Command, command)];
    find_crossed_files(&base_of(base), &changes_of(base, after), &steps, &context)
}

fn sides(command: &str, base: Texts<'_>, after: Texts<'_>) -> Vec<(String, ProjectSide)> {
    let files = crossed(command, base, after).into_iter();
    files.map(|file| (file.path, file.side)).collect()
}

#[test]
fn sides_data_of_unchanged_helper_is_test_side() {
    let base = [
        (
            "devtools/samples.py",
            "FILE = 'samples.csv'\ndef titles(): return open(FILE)\n",
        ),
        ("devtools/samples.csv", "a,b\n"),
        ("text/slug.py", "def slug(title): return title\n"),
        (
            "text/slug_test.py",
            "from samples import titles\nfrom text.slug import slug\n",
        ),
    ];
    let found = sides("pytest", &base, &[("devtools/samples.csv", "a,a\n")]);
    assert_eq!(
        found,
        [("devtools/samples.csv".to_owned(), ProjectSide::Test)]
    );
    let taken = sides(
        "pytest",
        &base,
        &[("text/samples.py", "def titles(): return []\n")],
    );
    assert_eq!(taken, [("text/samples.py".to_owned(), ProjectSide::Test)]);
}

#[test]
fn sides_runner_modules_are_work_side_of_their_project() {
    let base = |manifest| {
        [
            ("pyproject.toml", manifest),
            ("src/pluggy/__init__.py", "def hook(): return 1\n"),
            ("tests/test_hook.py", "from pluggy import hook\n"),
        ]
    };
    let after = [("src/pluggy/__init__.py", "def hook(): return 2\n")];
    let own = base("[project]\nname = \"pluggy\"\n");
    assert!(sides("pytest", &own, &after).is_empty());
    let copied = base("[project]\nname = \"plugins\"\n");
    let test = [("src/pluggy/__init__.py".to_owned(), ProjectSide::Test)];
    assert_eq!(sides("pytest", &copied, &after), test);
}

#[test]
fn sides_single_module_is_not_a_helper() {
    let alone = [
        ("setup.py", "from setuptools import setup\n"),
        (
            "calc.py",
            "def half(n):\n    assert n % 2 == 0\n    return n\n",
        ),
        ("tests/test_halves.py", "from calc import half\n"),
    ];
    let after = [("calc.py", "def half(n):\n    return n // 2\n")];
    assert!(sides("pytest", &alone, &after).is_empty());
    let mut with_code = alone.to_vec();
    with_code.push(("shop.py", "def price(): return 1\n"));
    let test = [("calc.py".to_owned(), ProjectSide::Test)];
    assert_eq!(sides("pytest", &with_code, &after), test);
    // A test of its own.
    with_code.push(("tests/test_calc.py", "from calc import half\n"));
    assert!(sides("pytest", &with_code, &after).is_empty());
}

/// A library of independent modules, which only its tests import.
#[test]
fn sides_module_with_a_message_about_expectations_is_not_a_helper() {
    let base = |clamp: &'static str| {
        [
            ("mathutils.py", clamp),
            ("listutils.py", "def first(items): return items[0]\n"),
            ("tests/test_bounds.py", "from mathutils import clamp\n"),
        ]
    };
    let after = [("mathutils.py", "def clamp(x, low): return max(x, low)\n")];
    let message = "def clamp(x, low):\n    raise ValueError('expected upper bound >= lower')\n";
    assert!(sides("pytest", &base(message), &after).is_empty());
    let helper = "def check(it, expected):\n    if it != expected: raise ValueError\n";
    let test = [("mathutils.py".to_owned(), ProjectSide::Test)];
    assert_eq!(sides("pytest", &base(helper), &after), test);
}

/// Words for tests in the paths of a product: `(command, base, changed file)`.
#[test]
fn sides_names_alone_do_not_make_sources_tests() {
    let module = "def double(x):\n    return x + 2\n";
    let script = "export const name = (s) => s;\n";
    let cases: [(&str, Texts<'_>, &str); 17] = [
        (
            "pytest",
            &[
                ("src/mathx/__init__.py", ""),
                ("src/mathx/helpers.py", module),
                ("tests/test_double.py", "from mathx.helpers import double\n"),
            ],
            "src/mathx/helpers.py",
        ),
        (
            "pytest",
            &[
                ("mathx/__init__.py", ""),
                ("mathx/factories.py", module),
                ("mathx/fixtures.py", module),
                (
                    "tests/test_f.py",
                    "from mathx.factories import double\nfrom mathx.fixtures import double as d\n",
                ),
            ],
            "mathx/factories.py",
        ),
        (
            "pytest",
            &[
                ("forms/__init__.py", "\"Forms.\"\n"),
                ("forms/labels.py", "def label(s): return s\n"),
                ("forms/validate.py", module),
                ("tests/test_email.py", "from forms.validate import double\n"),
            ],
            "forms/validate.py",
        ),
        (
            "node --test",
            &[
                (
                    "package.json",
                    r#"{"exports": {"./helpers": "./helpers.js"}}"#,
                ),
                ("helpers.js", script),
                ("parse.js", script),
                ("test/all.test.js", "import { name } from '../helpers.js'\n"),
            ],
            "helpers.js",
        ),
        (
            "node --test",
            &[
                ("tools/validate.js", script),
                ("tools/parse.js", script),
                (
                    "tools/validate.test.js",
                    "import { name } from './validate.js'\n",
                ),
            ],
            "tools/validate.js",
        ),
        (
            "rspec",
            &[
                ("lib/glob.rb", "module Glob\n  VERSION = '1'\nend\n"),
                ("lib/glob/matcher.rb", "def match?(a) = a\n"),
                (
                    "spec/glob_spec.rb",
                    "require 'glob/matcher'\nRSpec.describe Glob\n",
                ),
            ],
            "lib/glob/matcher.rb",
        ),
        (
            "phpunit tests",
            &[
                (
                    "composer.json",
                    r#"{"autoload": {"psr-4": {"App\\": "php/"}}}"#,
                ),
                ("php/Car.php", "<?php\nclass Car {}\n"),
                ("php/Factory/CarFactory.php", "<?php\nclass CarFactory {}\n"),
                ("tests/CarTest.php", "<?php\nCarFactory::make();\n"),
            ],
            "php/Factory/CarFactory.php",
        ),
        (
            "sh tests/run.sh",
            &[
                ("bin/check-port.sh", "[ \"$1\" -gt 0 ]\n"),
                ("tests/run.sh", "bin/check-port.sh 80 || exit 1\n"),
            ],
            "bin/check-port.sh",
        ),
        (
            "sh run.sh",
            &[
                ("up.sh", "up() { echo \"$1\"; }\n"),
                ("lib/ok.sh", "ok() { echo ok; }\n"),
                (
                    "run.sh",
                    ". ./up.sh\n[ \"$(up a)\" = A ] || { echo wrong; exit 1; }\n",
                ),
            ],
            "up.sh",
        ),
        (
            "vitest run",
            &[
                ("src/features/cart/total.ts", script),
                (
                    "src/features/cart/total.test.ts",
                    "import { name } from './total'\n",
                ),
            ],
            "src/features/cart/total.ts",
        ),
        (
            "pytest",
            &[
                ("api/spec/__init__.py", ""),
                ("api/spec/loader.py", module),
                ("api/routes.py", "from api.spec.loader import double\n"),
                ("tests/test_routes.py", "from api.routes import double\n"),
            ],
            "api/spec/loader.py",
        ),
        (
            "pytest",
            &[
                (
                    "numlib/__init__.py",
                    "from numlib.testing.near import near\n",
                ),
                ("numlib/testing/near.py", module),
                ("tests/test_n.py", "from numlib import near\n"),
            ],
            "numlib/testing/near.py",
        ),
        (
            "go test ./...",
            &[
                ("go.mod", "module example.org/league\n"),
                ("fixtures/plan.go", "package fixtures\n"),
                (
                    "fixtures/plan_test.go",
                    "package fixtures\n\nimport \"testing\"\n",
                ),
                (
                    "league.go",
                    "package league\n\nimport \"example.org/league/fixtures\"\n",
                ),
            ],
            "fixtures/plan.go",
        ),
        (
            "mvn test",
            &[
                (
                    "src/main/java/lab/BloodTest.java",
                    "record BloodTest() {}\n",
                ),
                (
                    "src/test/java/lab/LabTest.java",
                    "import org.junit.jupiter.api.Test;\nBloodTest a;\n",
                ),
            ],
            "src/main/java/lab/BloodTest.java",
        ),
        (
            "pytest",
            &[
                ("shop/vendor/__init__.py", ""),
                ("shop/vendor/payout.py", module),
                ("tests/test_p.py", "from shop.vendor.payout import double\n"),
            ],
            "shop/vendor/payout.py",
        ),
        (
            "pytest tests",
            &[
                (
                    "src/pytest_hello/plugin.py",
                    "import pytest\n\ndef pytest_report_header(config): return 'hello'\n",
                ),
                (
                    "tests/test_plugin.py",
                    "ARGS = ['-p', 'pytest_hello.plugin']\n",
                ),
            ],
            "src/pytest_hello/plugin.py",
        ),
        (
            "jest",
            &[
                ("package.json", r#"{"main": "src/index.js"}"#),
                ("src/index.js", "module.exports = require('./matchers');\n"),
                (
                    "src/matchers.js",
                    "exports.toBeEven = (n) => `expected ${n} to be even`;\n",
                ),
                ("test/even.test.js", "expect.extend(require('../src'));\n"),
            ],
            "src/matchers.js",
        ),
    ];
    for (command, base, changed) in cases {
        let found = sides(command, base, &[(changed, "# changed\nup() { echo; }\n")]);
        assert!(found.is_empty(), "{changed}: {found:?}");
    }
    // Added sources in such folders.
    let main = [
        ("src/features/login/name.js", script),
        ("src/main.js", script),
    ];
    for added in [
        "src/features/logout/bye.js",
        "src/testing/near.js",
        "fixtures/plan.js",
        "api/spec/loader.js",
    ] {
        assert!(
            sides("node --test", &main, &[(added, script)]).is_empty(),
            "{added}"
        );
    }
}

/// Helpers of tests with the same names.
#[test]
fn sides_helpers_of_tests_stay_on_their_side() {
    let module = "def titles():\n    return ['a']\n";
    let app = ("app/__init__.py", "def run(): return 1\n");
    let cases: [(&str, Texts<'_>, &str, ProjectSide); 11] = [
        (
            "pytest",
            &[
                app,
                ("support/helpers.py", module),
                ("tests/test_a.py", "from support.helpers import titles\n"),
            ],
            "support/helpers.py",
            ProjectSide::Test,
        ),
        (
            "pytest",
            &[
                ("main.go", "package main\n"),
                ("helpers.py", module),
                ("tests/test_a.py", "from helpers import titles\n"),
            ],
            "helpers.py",
            ProjectSide::Test,
        ),
        (
            "pytest",
            &[
                app,
                (
                    "app/testing.py",
                    "def same(one, expected):\n    assert one == expected\n",
                ),
                ("tests/test_a.py", "from app.testing import same\n"),
            ],
            "app/testing.py",
            ProjectSide::Test,
        ),
        // They may be either.
        (
            "pytest",
            &[
                app,
                (
                    "src/app/testing/near.py",
                    "def near(one, other):\n    return one - other < 1\n",
                ),
                ("tests/test_a.py", "from app.testing.near import near\n"),
            ],
            "src/app/testing/near.py",
            ProjectSide::Shared,
        ),
        (
            "pytest",
            &[
                app,
                (
                    "vendor/near.py",
                    "def near(one, other):\n    return one - other < 1\n",
                ),
                ("tests/test_a.py", "from vendor.near import near\n"),
            ],
            "vendor/near.py",
            ProjectSide::Shared,
        ),
        (
            "pytest",
            &[
                app,
                (
                    "lib/app/even.py",
                    "def half(n):\n    assert n % 2 == 0\n    return n\n",
                ),
                ("tests/test_a.py", "from app.even import half\n"),
            ],
            "lib/app/even.py",
            ProjectSide::Shared,
        ),
        (
            "node --test",
            &[
                ("src/a.js", "export const a = () => 1;\n"),
                ("fixtures/site.js", "export const site = () => 1;\n"),
                ("test/a.test.js", "import { a } from '../src/a.js'\n"),
            ],
            "fixtures/site.js",
            ProjectSide::Test,
        ),
        (
            "rspec",
            &[
                ("lib/cart.rb", "class Cart\nend\n"),
                ("spec/support/carts.rb", "def carts = []\n"),
                ("spec/cart_spec.rb", "RSpec.describe Cart\n"),
            ],
            "spec/support/carts.rb",
            ProjectSide::Test,
        ),
        (
            "sh check.sh",
            &[
                ("check.sh", ". ./lib/words.sh\nsh total.sh 1 | norm\n"),
                ("lib/words.sh", "norm() { tr -d ' '; }\n"),
                ("total.sh", "echo 1\n"),
            ],
            "lib/words.sh",
            ProjectSide::Test,
        ),
        (
            "pytest",
            &[
                app,
                ("vendor/expects/__init__.py", "class expect: pass\n"),
                ("tests/test_a.py", "from expects import expect\n"),
            ],
            "vendor/expects/__init__.py",
            ProjectSide::Shared,
        ),
        (
            "cucumber",
            &[
                ("features/cart.feature", "Feature: cart\n"),
                (
                    "features/support/world.js",
                    "export const world = () => 1;\n",
                ),
            ],
            "features/support/world.js",
            ProjectSide::Test,
        ),
    ];
    for (command, base, changed, side) in cases {
        let found = sides(command, base, &[(changed, "changed = 1\n")]);
        assert_eq!(found, [(changed.to_owned(), side)], "{changed}");
    }
    // A library that a script checks may not replace the script's commands.
    let sourced = [
        ("up.sh", "up() { echo \"$1\"; }\n"),
        (
            "run.sh",
            ". ./up.sh\n[ \"$(up a)\" = A ] || { echo wrong; exit 1; }\n",
        ),
    ];
    for after in [
        "up() { echo A; }\nexit 0\n",
        "up() { echo; }\n[() { true; }\n",
    ] {
        let test = [("up.sh".to_owned(), ProjectSide::Test)];
        assert_eq!(
            sides("sh run.sh", &sourced, &[("up.sh", after)]),
            test,
            "{after}"
        );
    }
    // Removing a file at the end is the library's own matter, unless the script has a trap, which it would replace.
    let cleans = "up() { trap 'rm -f \"$file\"' EXIT; echo A; }\n";
    assert!(sides("sh run.sh", &sourced, &[("up.sh", cleans)]).is_empty());
    for ends in [
        "up() { end='x; exit'; trap \"rm $end\" EXIT; echo A; }\n",
        "rm() { builtin exit 0; }\nup() { trap 'rm x' EXIT; echo A; }\n",
    ] {
        let test = [("up.sh".to_owned(), ProjectSide::Test)];
        assert_eq!(sides("sh run.sh", &sourced, &[("up.sh", ends)]), test);
    }
    let [library, (name, text)] = sourced;
    let trapping = format!("trap 'echo done' EXIT\n{text}");
    let test = [("up.sh".to_owned(), ProjectSide::Test)];
    let with_trap = [library, (name, trapping.as_str())];
    assert_eq!(sides("sh run.sh", &with_trap, &[("up.sh", cleans)]), test);
}

/// Settings of tools that have no known name, and hidden files of the product.
#[test]
fn sides_settings_of_unknown_tools() {
    let base = [
        (".newlint", "strict: true\n"),
        ("newlint-rules.toml", "all = true\n"),
        (".shoprc", "port = 80\n"),
        ("shop.toml", "port = 80\n"),
        ("shop.py", "open('.shoprc')\n"),
        ("lint.sh", "newlint -c .newlint\n"),
    ];
    let test = |path: &str| [(path.to_owned(), ProjectSide::Test)];
    for command in ["newlint .", "sh lint.sh", "make lint"] {
        let found = sides(command, &base, &[(".newlint", "strict: false\n")]);
        assert_eq!(found, test(".newlint"), "{command}");
        assert!(sides(command, &base, &[(".shoprc", "port = 81\n")]).is_empty());
    }
    // That the attempt mentions it makes no difference.
    let mentioned = [(".newlint", "\n"), ("shop.py", "# .newlint\n")];
    assert_eq!(sides("make lint", &base, &mentioned), test(".newlint"));
    let gitlint = [(".gitlint", "[general]\n")];
    assert_eq!(sides("make lint", &base, &gitlint), test(".gitlint"));
    let rules = [("newlint-rules.toml", "all = false\n")];
    assert_eq!(
        sides("newlint .", &base, &rules),
        test("newlint-rules.toml")
    );
    assert!(sides("python3 shop.py", &base, &rules).is_empty());
    assert!(sides("python3 -m shop", &base, &[("shop.toml", "port = 81\n")]).is_empty());
    let planted = [(".otherlintrc.json", "{}\n")];
    assert_eq!(
        sides("make lint", &base, &planted),
        test(".otherlintrc.json")
    );
}

/// Variables that the product reads, and those that tools read.
#[test]
fn sides_environment_files() {
    let base = |code: &'static str| {
        [
            (".env", "PORT=80\n"),
            ("s.py", code),
            ("tests/test_s.py", "from s import url\n"),
        ]
    };
    let reading = "def url(): return open('.env').read() + 'PORT'\n";
    let test = [(".env".to_owned(), ProjectSide::Test)];
    for (code, after, expected) in [
        (reading, "# Local\nPORT=8080\n", &[][..]),
        (reading, "PORT=80\nPYTEST_ADDOPTS=-x\n", &test[..]),
        (
            "open('.env').read(); 'NODE_OPTIONS'\n",
            "PORT=80\nNODE_OPTIONS=-r x\n",
            &test[..],
        ),
        ("def url(): return 'PORT'\n", "PORT=8080\n", &test[..]),
    ] {
        assert_eq!(
            sides("pytest", &base(code), &[(".env", after)]),
            expected,
            "{after}"
        );
    }
    assert!(sides("pytest", &base(reading), &[(".env.example", "PORT=1\n")]).is_empty());
    let added = sides("pytest", &base(reading), &[(".env.local", "PORT=1\n")]);
    assert_eq!(added, [(".env.local".to_owned(), ProjectSide::Test)]);
}

#[test]
fn sides_module_of_other_package_shadows_nothing() {
    let base = [
        ("shop/__init__.py", "\n"),
        ("shop/net.py", "def net(): return 1\n"),
        ("tests/helpers.py", "def check(): assert True\n"),
        (
            "tests/test_net.py",
            "from helpers import check\nfrom shop.net import net\n",
        ),
    ];
    assert!(sides("pytest", &base, &[("shop/helpers.py", "X = 1\n")]).is_empty());
}

#[test]
fn sides_vendored_library_keeps_its_name() {
    let base = [
        ("vendor/expects/__init__.py", "class expect: pass\n"),
        ("lib/size.py", "def parse(): pass\n"),
        (
            "tests/test_size.py",
            "from expects import expect\nfrom size import parse\n",
        ),
    ];
    let found = sides(
        "pytest",
        &base,
        &[("lib/expects.py", "class expect: pass\n")],
    );
    assert_eq!(found, [("lib/expects.py".to_owned(), ProjectSide::Test)]);
}

#[test]
fn sides_added_file_does_not_shadow_a_source() {
    let base = [
        ("src/csv.ts", "export const parse = 1;\n"),
        ("lib/list/index.js", "exports.last = 1;\n"),
        ("src/textkit/__init__.py", "\n"),
        ("src/textkit/slug.py", "def slug(): pass\n"),
        ("app/__init__.py", "\n"),
        ("app/lib/net.py", "\n"),
        ("app/size.py", "\n"),
        ("fast.py", "\n"),
    ];
    for planted in [
        "src/csv.js",
        "src/csv.mjs",
        "src/csv.d.ts",
        "lib/list.cjs",
        "lib/list.json",
        "lib/list/index.ts",
        "textkit/__init__.py",
        "textkit/slug.py",
        "textkit.py",
        "app/size/__init__.py",
        "app/size/__init__.pyi",
        "fast.cpython-311-x86_64-linux-gnu.so",
    ] {
        let expected = [(planted.to_owned(), ProjectSide::Test)];
        assert_eq!(
            sides("check", &base, &[(planted, "x\n")]),
            expected,
            "{planted}"
        );
    }
    for honest in [
        "src/csv.json",
        "src/csv/rows.ts",
        "lib/list/last.js",
        "app/net.py",
        "src/textkit/size.py",
    ] {
        assert!(
            sides("check", &base, &[(honest, "x\n")]).is_empty(),
            "{honest}"
        );
    }
    // A source that is converted no longer exists.
    let converted = [("src/csv.ts", ""), ("src/csv.js", "exports.parse = 1;\n")];
    assert!(sides("check", &base, &converted).is_empty());
}

#[test]
fn sides_files_named_by_commands_are_test_side() {
    let base = [
        (
            "check.sh",
            "for case in a b; do . \"./cases/$case\"; done\n",
        ),
        ("cases/two.sh", "expect 3 \"$(sh total.sh 1 2)\"\n"),
        ("cases/nine.txt", "9\n"),
        ("total.sh", "echo 0\n"),
        (
            "bin/verify",
            "#!/bin/sh\nif [ -x ./verify.local ]; then exec ./verify.local; fi\n",
        ),
        (
            "piped.sh",
            "sh total.sh 4 5 | python3 tools/same.py cases/nine.txt || exit 1\n",
        ),
        ("tools/same.py", "import sys\n"),
    ];
    for (command, path) in [
        ("sh piped.sh", "tools/same.py"),
        ("sh check.sh", "cases/two.sh"),
        ("sh total.sh 4 5 | diff cases/nine.txt -", "cases/nine.txt"),
        (
            "for t in $(find cases -name '*.txt'); do sh $t; done",
            "cases/nine.txt",
        ),
        ("bin/verify", "verify.local"),
    ] {
        let found = sides(command, &base, &[(path, "x\n")]);
        // `check.sh` may be another program that reads the cases.
        let has_side =
            |(of, side): &(String, ProjectSide)| of == path && *side != ProjectSide::Work;
        assert!(
            found.len() == 1 && found.iter().all(has_side),
            "{command}: {found:?}"
        );
        let work = sides(command, &base, &[("total.sh", "x\n")]);
        // A file that a command line runs as a script is on the test side.
        assert!(work.is_empty() || command.contains("total.sh"), "{command}");
    }
}

#[test]
fn sides_makefile_does_not_make_a_test_shared() {
    let base = [
        (
            "Makefile",
            "test:\n\tcc -o t tests/test_stack.c src/stack.c && ./t\n",
        ),
        ("tests/test_stack.c", "#include \"stack.h\"\n"),
    ];
    let found = sides("make test", &base, &[("tests/test_stack.c", "x\n")]);
    assert_eq!(
        found,
        [("tests/test_stack.c".to_owned(), ProjectSide::Test)]
    );
}

#[test]
fn sides_go_package_imported_by_tests_is_test_side() {
    let helper = "package oracle\n\nfunc Lines(path string) []string { return nil }\n";
    let changed = "package oracle\n\nfunc Lines(path string) []string { return []string{} }\n";
    let test = "package words\n\nimport (\n\t\"testing\"\n\t\"example.com/a/internal/oracle\"\n)\n";
    let side = |more: &[(&str, &str)]| {
        let all = [
            ("internal/oracle/read.go", helper),
            ("words/words_test.go", test),
        ];
        let base = [&all, more].concat();
        sides(
            "go test ./...",
            &base,
            &[("internal/oracle/read.go", changed)],
        )
    };
    let library = ("words/words.go", "package words\n");
    let expected = [("internal/oracle/read.go".to_owned(), ProjectSide::Test)];
    assert_eq!(side(&[library]), expected);
    let importer = (
        "main.go",
        "package main\n\nimport \"example.com/a/internal/oracle\"\n",
    );
    assert!(side(&[library, importer]).is_empty());
    // A file with its own tests, and the code that a test folder tests, are on the work side.
    let own = (
        "internal/oracle/read_test.go",
        "package oracle\n\nimport \"testing\"\n",
    );
    assert!(side(&[library, own]).is_empty());
    assert!(side(&[]).is_empty());
}

/// A merged workspace gets only modules that nothing can have used before.
#[test]
fn sides_workspace_takes_new_modules() {
    let base = [
        ("go.work", "go 1.19\n\nuse ./app\n"),
        (
            "app/go.mod",
            "module example.org/app\n\nrequire example.org/testutil v1.0.0\n",
        ),
        ("app/a.go", "package app\n"),
    ];
    let merged = |used: &str, module: &str| {
        let work = format!("go 1.19\n\nuse (\n\t./app\n\t./{used}\n)\n");
        let (path, module) = (format!("{used}/go.mod"), format!("module {module}\n"));
        let after = [("go.work", work.as_str()), (path.as_str(), module.as_str())];
        let mut files = crossed("go test ./app/...", &base, &after).into_iter();
        files
            .find(|file| file.path == "go.work")
            .unwrap()
            .replacement
    };
    let expected = b"go 1.19\n\nuse ./app\nuse ./text\n".to_vec();
    assert_eq!(
        merged("text", "example.org/text"),
        Replacement::Merged(expected)
    );
    assert_eq!(merged("util", "example.org/testutil"), Replacement::Base);
    assert_eq!(
        merged("app/text", "example.org/text"),
        Replacement::Merged(b"go 1.19\n\nuse ./app\nuse ./app/text\n".to_vec(),)
    );
}

#[test]
fn sides_configured_setup_code_is_shared() {
    let base = [
        ("phpunit.xml", "<phpunit bootstrap=\"autoload.php\">\n"),
        ("autoload.php", "<?php\n"),
        ("src/autoload_map.php", "<?php\n"),
    ];
    let after = [
        ("autoload.php", "<?php // 2\n"),
        ("src/autoload_map.php", "<?php // 2\n"),
    ];
    let found = sides("phpunit", &base, &after);
    assert_eq!(found, [("autoload.php".to_owned(), ProjectSide::Shared)]);
}

#[test]
fn sides_written_tests_are_used_by_sources() {
    let base = base_of(&[
        ("src/lib.py", "open('tests/golden/out.txt')\n"),
        ("tests/golden/out.txt", "1\n"),
        ("tests/test_lib.py", "open('tests/golden/out.txt')\n"),
        ("build/out.txt", "1\n"),
    ]);
    let paths = ["tests/golden/out.txt", "src/lib.py", "build/out.txt"].map(str::to_owned);
    let steps = [Step::new(StepKind::Command, "pytest")];
    assert_eq!(
        find_written_tests(&base, &paths, &steps),
        ["tests/golden/out.txt"]
    );
}

const CRATE: &str =
    "[package]\nname = 'report'\n[dev-dependencies]\nchecks = { path = '../checks' }\n";
const LIBRARY: &str = "pub fn same(one: u8, other: u8) { assert_eq!(one, other); }\n";

#[test]
fn sides_package_of_helpers_is_test_side() {
    let base = [
        ("Cargo.toml", "[workspace]\nmembers = ['crates/*']\n"),
        ("crates/report/Cargo.toml", CRATE),
        ("crates/report/src/lib.rs", "pub fn render() -> u8 { 1 }\n"),
        ("crates/report/tests/render.rs", "use checks::same;\n"),
        ("crates/checks/Cargo.toml", "[package]\nname = 'checks'\n"),
        ("crates/checks/src/lib.rs", LIBRARY),
    ];
    let moved = CRATE.replace("'../checks'", "'../lenient'");
    let after = [
        ("crates/checks/src/lib.rs", "pub fn same(_: u8, _: u8) {}\n"),
        ("crates/checks/build.rs", "fn main() {}\n"),
        ("crates/report/Cargo.toml", moved.as_str()),
        (
            "crates/test-support/Cargo.toml",
            "[package]\nname = 'test-support'\n",
        ),
        ("crates/lenient/Cargo.toml", "[package]\nname = 'lenient'\n"),
        ("crates/report/src/lib.rs", "pub fn render() -> u8 { 2 }\n"),
    ];
    let found = sides("cargo test", &base, &after);
    let expected = [
        ("crates/checks/build.rs".to_owned(), ProjectSide::Test),
        ("crates/checks/src/lib.rs".to_owned(), ProjectSide::Test),
        ("crates/report/Cargo.toml".to_owned(), ProjectSide::Shared),
        (
            "crates/test-support/Cargo.toml".to_owned(),
            ProjectSide::Test,
        ),
    ];
    assert_eq!(found, expected);
}

#[test]
fn sides_package_used_by_tests_may_be_work() {
    let user = "[package]\nname = 'NAME'\n[dev-dependencies]\nchecks = { path = '../checks' }\n";
    for (manifest, other) in [
        // All tests are in a separate package.
        (
            "[package]\nname = 'checks'\n",
            user.replace("NAME", "report-tests"),
        ),
        // A macro with tests that use the library around it.
        (
            "[package]\nname = 'checks'\n[dependencies]\nreport = { path = '../report' }\n",
            user.replace("NAME", "report"),
        ),
        // A program also uses it.
        (
            "[package]\nname = 'checks'\n",
            user.replace("NAME", "report")
                .replace("dev-dependencies", "dependencies"),
        ),
    ] {
        let base = [
            ("crates/report/Cargo.toml", other.as_str()),
            ("crates/checks/Cargo.toml", manifest),
            ("crates/checks/src/lib.rs", LIBRARY),
        ];
        let after = [("crates/checks/src/lib.rs", "pub fn same(_: u8, _: u8) {}\n")];
        assert!(sides("cargo test", &base, &after).is_empty(), "{other}");
    }
}

/// The original tests with new names, as paths and texts; `-` represents a missing file.
fn renamed(base: Texts<'_>, after: Texts<'_>) -> Vec<(String, String)> {
    let files = crossed("pytest", base, after);
    let found = rename_originals(&base_of(base), &changes_of(base, after), &files);
    let files = found.map(|found| found.files).unwrap_or_default();
    let text = |replacement| match replacement {
        Replacement::Merged(bytes) => String::from_utf8(bytes).unwrap(),
        Replacement::Removed | Replacement::Base => "-".to_owned(),
    };
    files
        .into_iter()
        .map(|file| (file.path, text(file.replacement)))
        .collect()
}

fn pair(path: &str, text: &str) -> (String, String) {
    (path.to_owned(), text.to_owned())
}

/// Types in another package, namespace or module: `(old source, new source, test, test with the new names)`.
#[test]
fn originals_follow_moved_types() {
    for (from, to, (path, test, expected)) in [
        (
            (
                "src/main/java/shop/Cart.java",
                "package shop;\n\nclass Cart {\n    int sum;\n}\n",
            ),
            (
                "src/main/java/store/cart/Cart.java",
                "package store.cart;\n\nclass Cart {\n    int sum;\n}\n",
            ),
            (
                "src/test/java/shop/CartTest.java",
                "package shop;\n\nimport shop.*;\nimport shop.Cart;\nclass CartTest { shop.Cart c; myshop.Cart d; }\n",
                "package store.cart;\n\nimport store.cart.*;\nimport store.cart.Cart;\nclass CartTest { store.cart.Cart c; myshop.Cart d; }\n",
            ),
        ),
        (
            (
                "src/Slug.php",
                "<?php\nnamespace App;\n\nfinal class Slug\n{\n    const A = 1;\n}\n",
            ),
            (
                "src/Text/Slug.php",
                "<?php\nnamespace App\\Text;\n\nfinal class Slug\n{\n    const A = 1;\n}\n",
            ),
            (
                "tests/SlugTest.php",
                "<?php\nnamespace App\\Tests;\n\nuse App\\Slug;\nuse App\\SlugTable;\nnew \\App\\Slug();\n",
                "<?php\nnamespace App\\Tests;\n\nuse App\\Text\\Slug;\nuse App\\SlugTable;\nnew \\App\\Text\\Slug();\n",
            ),
        ),
        (
            (
                "src/Slug.php",
                "<?php\nnamespace App;\n\nfinal class Slug\n{\n    const A = 1;\n}\n",
            ),
            (
                "src/Text/Slug.php",
                "<?php\nnamespace App\\Text;\n\nfinal class Slug\n{\n    const A = 1;\n}\n",
            ),
            (
                "tests/SlugTest.php",
                "<?php\nnamespace App;\n\nnew Slug();\n",
                "<?php\nnamespace App; use App\\Text\\Slug;\n\nnew Slug();\n",
            ),
        ),
        (
            (
                "lib/roman.rb",
                "class Roman\n  def to_i\n    @n\n  end\nend\n",
            ),
            (
                "lib/numerals/roman.rb",
                "module Numerals\n  class Roman\n    def to_i\n      @n\n    end\n  end\nend\n",
            ),
            (
                "test/roman_test.rb",
                "require \"roman\"\nclass RomanTest\n  def test_i = Roman.new(1, \"Roman\")\nend\n",
                "require \"numerals/roman\"\nclass RomanTest\n  def test_i = Numerals::Roman.new(1, \"Roman\")\nend\n",
            ),
        ),
    ] {
        let base = [from, (path, test)];
        let found = renamed(&base, &[(from.0, ""), to, (path, "")]);
        assert_eq!(found, [pair(path, expected)], "{path}");
    }
}

#[test]
fn originals_follow_a_renamed_function() {
    let base = [
        ("calc.py", "def total(items):\n    return sum(items)\n"),
        (
            "test_calc.py",
            "from calc import total\n\ndef test_total():\n    assert total([1]) == 1, 'total'\n",
        ),
    ];
    let after = [
        ("calc.py", "def add_up(items):\n    return sum(items)\n"),
        (
            "test_calc.py",
            "from calc import add_up\n\ndef test_total():\n    assert add_up([]) == 0\n",
        ),
    ];
    let expected =
        "from calc import add_up\n\ndef test_total():\n    assert add_up([1]) == 1, 'total'\n";
    assert_eq!(renamed(&base, &after), [pair("test_calc.py", expected)]);
}

/// Names change in the examples of a document, not in its text.
#[test]
fn originals_follow_names_in_documents() {
    let readme = "It's the total.\n\n>>> total([1])\n1\n\n```\ntotal([])\n```\n";
    let base = [
        ("calc.py", "def total(items):\n    return sum(items)\n"),
        ("pytest.ini", "[pytest]\naddopts = --doctest-glob=*.md\n"),
        ("README.md", readme),
    ];
    let after = [
        ("calc.py", "def add_up(items):\n    return sum(items)\n"),
        base[1],
        ("README.md", ">>> add_up([1])\n2\n"),
    ];
    let expected = "It's the total.\n\n>>> add_up([1])\n1\n\n```\nadd_up([])\n```\n";
    assert_eq!(renamed(&base, &after), [pair("README.md", expected)]);
}

#[test]
fn originals_follow_functions_whose_lines_are_alike() {
    let base = [
        (
            "bill.py",
            "def net(lines):\n    return 1\n\n\ndef text(lines):\n    return 'a'\n",
        ),
        (
            "test_bill.py",
            "from bill import net, text\n\ndef test_bill():\n    assert net([]) == 1, text([])\n",
        ),
    ];
    let after = [
        (
            "bill.py",
            "def net_sum(lines):\n    return 1\n\n\ndef as_text(lines):\n    return 'a'\n",
        ),
        ("test_bill.py", "def test_bill(): pass\n"),
    ];
    let expected = "from bill import net_sum, as_text\n\ndef test_bill():\n    assert net_sum([]) == 1, as_text([])\n";
    assert_eq!(renamed(&base, &after), [pair("test_bill.py", expected)]);
}

#[test]
fn originals_follow_no_name_that_is_still_there() {
    let base = [
        ("calc.py", "def total(items):\n    return sum(items)\n"),
        ("test_calc.py", "from calc import total\n"),
    ];
    let tests = ("test_calc.py", "from calc import add_up\n");
    let both = "def add_up(items):\n    return sum(items)\n\n\ndef total(items):\n    return 0\n";
    assert!(renamed(&base, &[("calc.py", both), tests]).is_empty());
    let other = "def add_up(items, start):\n    return start\n";
    assert!(renamed(&base, &[("calc.py", other), tests]).is_empty());
}

#[test]
fn originals_follow_no_name_that_is_theirs() {
    let base = [
        ("calc.py", "def total(items):\n    return sum(items)\n"),
        (
            "test_calc.py",
            "from calc import total\nexpected = 1\nassert total([1]) == expected\n",
        ),
    ];
    let after = [
        ("calc.py", "def expected(items):\n    return sum(items)\n"),
        ("test_calc.py", "import calc\n"),
    ];
    assert!(renamed(&base, &after).is_empty());
}

#[test]
fn originals_follow_a_moved_module() {
    let text = "def net(lines):\n    return sum(lines)\n";
    let base = [
        ("src/shop/invoice.py", text),
        (
            "tests/test_invoice.py",
            "from shop import invoice\nfrom shop.invoice import net\n\nassert net([1]) == 1 and invoice\n",
        ),
    ];
    let after = [
        ("src/shop/invoice.py", ""),
        ("src/shop/billing.py", text),
        ("tests/test_invoice.py", ""),
        ("tests/test_billing.py", "from shop.billing import net\n"),
    ];
    let expected = "from shop import billing as invoice\nfrom shop.billing import net\n\nassert net([1]) == 1 and invoice\n";
    assert_eq!(
        renamed(&base, &after),
        [
            pair("tests/test_billing.py", "-"),
            pair("tests/test_invoice.py", expected)
        ]
    );
    let base = [
        ("src/text.js", "exports.cut = (it) => it;\n"),
        (
            "test/text.test.js",
            "const { cut } = require('../src/text');\n",
        ),
    ];
    let after = [
        ("src/text.js", ""),
        ("lib/strings.js", "exports.cut = (it) => it;\n"),
        (
            "test/text.test.js",
            "const { cut } = require('../lib/strings');\n//\n",
        ),
    ];
    let expected = "const { cut } = require('../lib/strings');\n";
    assert_eq!(
        renamed(&base, &after),
        [pair("test/text.test.js", expected)]
    );
}

#[test]
fn originals_follow_a_package_of_go() {
    let test = |package: &str, import: &str| {
        format!(
            "package {package}_test\n\nimport (\n\t\"testing\"\n\n\t{import}\n)\n\nvar got = words.Top()\n"
        )
    };
    let old = test("words", "\"example.com/a/words\"");
    let base = [
        (
            "words/words.go",
            "package words\n\nfunc Top() int { return 1 }\n",
        ),
        ("words/words_test.go", old.as_str()),
        ("words/testdata/a.txt", "1\n"),
    ];
    let weak = test("text", "\"example.com/a/text\"").replace("words.Top()", "1");
    let after = [
        ("words/words.go", ""),
        (
            "text/words.go",
            "package text\n\nfunc Top() int { return 1 }\n",
        ),
        ("words/words_test.go", ""),
        ("text/words_test.go", weak.as_str()),
        ("words/testdata/a.txt", ""),
        ("text/testdata/a.txt", "2\n"),
    ];
    let expected = test("text", "words \"example.com/a/text\"");
    assert_eq!(
        renamed(&base, &after),
        [
            pair("text/testdata/a.txt", "1\n"),
            pair("text/words_test.go", &expected)
        ]
    );
}

#[test]
fn originals_follow_names_with_marks() {
    let base = [
        (
            "lib/roman.rb",
            "def self.numeral?(text)\n  text.match?(/x/)\nend\n\ndef self.numeral(n)\n  n\nend\n",
        ),
        (
            "test/roman_test.rb",
            "assert Roman.numeral?(Roman.numeral(1))\n",
        ),
    ];
    let after = [
        (
            "lib/roman.rb",
            "def self.valid?(text)\n  text.match?(/x/)\nend\n\ndef self.numeral(n)\n  n\nend\n",
        ),
        ("test/roman_test.rb", "assert Roman.valid?('I')\n"),
    ];
    let expected = "assert Roman.valid?(Roman.numeral(1))\n";
    assert_eq!(
        renamed(&base, &after),
        [pair("test/roman_test.rb", expected)]
    );
}

/// The side of the first changed file, for a project with one changed file.
fn side_of(command: &str, base: Texts<'_>, path: &str, after: &str) -> Option<ProjectSide> {
    let found = sides(command, base, &[(path, after)]);
    found
        .into_iter()
        .find(|(it, _)| it == path)
        .map(|(_, side)| side)
}

#[test]
fn sides_scripts_behind_wrappers() {
    use ProjectSide::{Shared, Test};
    let files = |more: &[(&'static str, &'static str)]| {
        let mut files = vec![
            ("calc.py", "def total(items):\n    return 0\n"),
            ("calc.js", "exports.total = () => 0;\n"),
            (
                "run.py",
                "from calc import total\nassert total([1, 2]) == 3\n",
            ),
            (
                "run.js",
                "if (require('./calc').total([1]) !== 1) process.exit(1);\n",
            ),
            ("ci.sh", "node -e 'require(\"./calc\").total([1])'\n"),
        ];
        files.extend_from_slice(more);
        files
    };
    for (command, wrapper, path, side) in [
        (
            "make check",
            ("Makefile", "check:\n\t@python3 run.py\n"),
            "run.py",
            Some(Test),
        ),
        (
            "make -C . -j 2",
            (
                "Makefile",
                "PY = python3\nall: check\ncheck:\n\t@$(PY) run.py\n",
            ),
            "run.py",
            Some(Test),
        ),
        (
            "make check",
            (
                "Makefile",
                "check: prepare\n\tpytest\nprepare:\n\tpython3 run.py\n",
            ),
            "run.py",
            Some(Shared),
        ),
        (
            "make test",
            ("Makefile", "test:\n\tpytest\nrelease:\n\tpython3 run.py\n"),
            "run.py",
            None,
        ),
        (
            "npm test",
            ("package.json", "{\"scripts\": {\"test\": \"node run.js\"}}"),
            "run.js",
            Some(Test),
        ),
        (
            "npm t",
            ("package.json", "{\"scripts\": {\"test\": \"sh ci.sh\"}}"),
            "ci.sh",
            Some(Test),
        ),
        (
            "npm run all",
            (
                "package.json",
                "{\"scripts\": {\"preall\": \"node run.js\", \"all\": \"npm test\"}}",
            ),
            "run.js",
            Some(Shared),
        ),
        (
            "npm test",
            (
                "package.json",
                "{\"main\": \"run.js\", \"scripts\": {\"test\": \"node run.js\"}}",
            ),
            "run.js",
            Some(Shared),
        ),
        (
            "just",
            ("justfile", "check:\n    python3 run.py\n"),
            "run.py",
            Some(Test),
        ),
        (
            "composer run check",
            (
                "composer.json",
                "{\"scripts\": {\"check\": [\"sh ci.sh\"]}}",
            ),
            "ci.sh",
            Some(Test),
        ),
        (
            "tox -e py",
            (
                "tox.ini",
                "[testenv]\ncommands =\n    python run.py {posargs}\n",
            ),
            "run.py",
            Some(Test),
        ),
        (
            "rake",
            ("Rakefile", "task(:default) { sh 'python3 run.py' }\n"),
            "run.py",
            Some(Shared),
        ),
    ] {
        let base = files(&[wrapper]);
        assert_eq!(
            side_of(command, &base, path, "1\n"),
            side,
            "{command}: {wrapper:?}"
        );
    }
}

#[test]
fn sides_programs_behind_wrappers_stay_work() {
    let base = [
        (
            "Makefile",
            "test:\n\tpython3 tool.py --version\n\tpytest\n\t./total.sh 1 2 | diff - total.txt\n",
        ),
        ("tool.py", "def run(): return 1\n"),
        ("other.py", "def other(): return 1\n"),
        ("total.sh", "#!/bin/sh\necho 0\n"),
        ("total.txt", "3\n"),
        ("tests/test_tool.py", "from tool import run\n"),
    ];
    for (path, after) in [
        ("tool.py", "def run(): return 2\n"),
        ("total.sh", "#!/bin/sh\necho 3\n"),
    ] {
        assert_eq!(side_of("make test", &base, path, after), None, "{path}");
    }
}

#[test]
fn sides_configuration_by_reference() {
    let code = [
        ("calc.py", "def total(items):\n    return 0\n"),
        ("tests/test_calc.py", "from calc import total\n"),
    ];
    for (command, config, path, is_crossed) in [
        ("pytest -c conf/pt.cfg", None, "conf/pt.cfg", true),
        (
            "mypy --config-file=conf/pt.cfg calc.py",
            None,
            "conf/pt.cfg",
            true,
        ),
        ("pytest @conf/pt.cfg", None, "conf/pt.cfg", true),
        ("rspec --options conf/opts", None, "conf/opts", true),
        ("tsc -p conf/strict.json", None, "conf/strict.json", true),
        ("cc -c calc.py", None, "calc.py", false),
        ("tsc --noEmit -p .", None, "src/index.js", false),
        ("tsc --noEmit -p ./", None, "src/index.js", false),
        ("mypy -p calc", None, "calc.py", false),
        ("pytest -p conf.order", None, "conf/order.py", true),
        ("grep -c x conf/pt.cfg", None, "conf/pt.cfg", false),
        (
            "ruff check",
            Some(("ruff.toml", "extend = 'conf/base.toml'\n")),
            "conf/base.toml",
            true,
        ),
        (
            "tsc",
            Some(("tsconfig.json", "{\"extends\": \"./conf/base.json\"}")),
            "conf/base.json",
            true,
        ),
        (
            "make",
            Some(("Makefile", "include conf/settings.inc\nall:\n\tpytest\n")),
            "conf/settings.inc",
            true,
        ),
        (
            "eslint .",
            Some((
                "eslint.config.js",
                "module.exports = [require('./conf/rules.js')];\n",
            )),
            "conf/rules.js",
            true,
        ),
        (
            "cargo test",
            Some((
                "build.rs",
                "#[path = \"conf/flags.rs\"]\nmod flags;\nfn main() {}\n",
            )),
            "conf/flags.rs",
            true,
        ),
        (
            "jest",
            Some((
                "package.json",
                "{\"jest\": {\"transform\": {\"x\": \"./conf/tr.js\"}}}",
            )),
            "conf/tr.js",
            true,
        ),
        (
            "jest",
            Some(("package.json", "{\"main\": \"./conf/tr.js\"}")),
            "conf/tr.js",
            false,
        ),
        (
            "mocha",
            Some((".mocharc.json", "{\"require\": \"./conf/tr.js\"}")),
            "conf/tr.js",
            true,
        ),
        (
            "rspec",
            Some((".rspec", "--require ./conf/boot.rb\n")),
            "conf/boot.rb",
            true,
        ),
        (
            "pytest",
            Some(("pytest.ini", "[pytest]\naddopts = -p conf.order\n")),
            "conf/order.py",
            true,
        ),
        (
            "mypy",
            Some(("mypy.ini", "[mypy]\nfiles = calc.py\n")),
            "calc.py",
            false,
        ),
        (
            "eslint .",
            Some((
                "eslint.config.js",
                "export default [{ files: ['conf/tr.js'] }];\n",
            )),
            "conf/tr.js",
            false,
        ),
        (
            "pytest",
            Some(("conftest.py", "from conf.hooks import *\n")),
            "conf/hooks.py",
            true,
        ),
        (
            "pytest",
            Some(("conftest.py", "from conf.app import create\n")),
            "conf/app.py",
            false,
        ),
        (
            "npm test",
            Some((
                "package.json",
                "{\"scripts\": {\"test\": \"node --env-file=conf/a.conf --test\"}}",
            )),
            "conf/a.conf",
            true,
        ),
    ] {
        let mut base = code.to_vec();
        base.extend(config);
        if path != "calc.py" {
            let text = match path {
                "conf/hooks.py" => "def pytest_report_header(config): return 'x'\n",
                "conf/app.py" => "def create(): return 1\n",
                _ => "x = 1\n",
            };
            base.push((path, text));
        }
        let side = side_of(command, &base, path, "y\n");
        assert_eq!(side.is_some(), is_crossed, "{command}: {config:?} {path}");
    }
}

#[test]
fn sides_data_beside_tests_of_the_package() {
    let base = [
        ("calc.go", "package calc\nfunc Total() int { return 0 }\n"),
        (
            "calc_test.go",
            "package calc\nimport \"testing\"\nvar want = \"want.txt\"\n",
        ),
        ("want.txt", "3"),
    ];
    assert_eq!(
        side_of("go test", &base, "want.txt", "0"),
        Some(ProjectSide::Shared)
    );
    let written = find_written_tests(
        &base_of(&base),
        &["want.txt".to_owned()],
        &[Step::new(StepKind::Command, "go test")],
    );
    assert_eq!(written, ["want.txt"]);
}

#[test]
fn sides_added_manifests_and_build_output() {
    let base = [
        (
            "Makefile",
            "out/run: src/a.c\n\tcc -o out/run src/a.c\ntest: out/run\n\t./out/run\n",
        ),
        ("src/a.c", "int main(void) { return 1; }\n"),
        ("calc/Cargo.toml", "[package]\nname = 'calc'\n"),
    ];
    for (path, after, side) in [
        ("out/run", "#!/bin/sh\n", Some(ProjectSide::Test)),
        ("out/other", "#!/bin/sh\n", None),
        ("a.tsbuildinfo", "{}", Some(ProjectSide::Test)),
        (
            "src/node_modules/same/package.json",
            "{\"main\": \"../../x.js\"}",
            Some(ProjectSide::Test),
        ),
        (
            "ws/Cargo.toml",
            "[workspace]\nmembers = ['../calc']\n",
            Some(ProjectSide::Test),
        ),
        ("ws/Cargo.toml", "[workspace]\nmembers = ['../new']\n", None),
    ] {
        assert_eq!(side_of("make test", &base, path, after), side, "{path}");
    }
}

/// `(command, base, changed file, its text after, side)`.
#[test]
fn sides_files_that_judge_output_are_shared() {
    type Case<'a> = (&'a str, Texts<'a>, Text<'a>, Option<ProjectSide>);
    use ProjectSide::{Shared, Test};
    let total = ("total.sh", "#!/bin/sh\necho 0\n");
    let same = ("lib/util.sh", "same() {\n    [ \"$1\" = \"$2\" ]\n}\n");
    let always = "same() {\n    true\n}\n";
    let script = |text| ("tests/all.sh", text);
    let strings = ("lib/strings.sh", "up() {\n    echo \"$1\"\n}\n");
    let assert = (
        "tests/assert.sh",
        "equals() {\n    [ \"$1\" = \"$2\" ] || exit 1\n}\n",
    );
    let upper = script(". tests/assert.sh\n. lib/strings.sh\nequals A \"$(up a)\"\n");
    let compare = ("lib/compare.awk", "{ exit $1 != want }\n");
    let cases: [Case<'_>; 11] = [
        (
            "sh tests/all.sh",
            &[
                total,
                same,
                script(
                    ". \"$PWD/lib/util.sh\"\nwant=3\nsame \"$want\" \"$(sh total.sh \"$@\")\"\n",
                ),
            ],
            ("lib/util.sh", always),
            Some(Shared),
        ),
        (
            "sh tests/all.sh",
            &[
                total,
                compare,
                (
                    "tests/near.sh",
                    "near() {\n    echo \"$1 $2\" | awk -f lib/compare.awk\n}\n",
                ),
                script(". tests/near.sh\nnear 3 \"$(sh total.sh 1 2)\"\n"),
            ],
            ("lib/compare.awk", "{ exit 0 }\n"),
            Some(Shared),
        ),
        (
            "sh tests/all.sh",
            &[
                total,
                same,
                script(". lib/util.sh\nsame 3 \"$(sh total.sh 1 2)\"\n"),
            ],
            ("lib/util.sh", always),
            Some(Shared),
        ),
        (
            "make test",
            &[
                total,
                compare,
                (
                    "Makefile",
                    "test:\n\tsh total.sh 1 2 | awk -v want=3 -f lib/compare.awk\n",
                ),
            ],
            ("lib/compare.awk", "{ exit 0 }\n"),
            Some(Shared),
        ),
        (
            "sh total.sh 1 2 | awk -v want=3 -f lib/compare.awk",
            &[total, compare],
            ("lib/compare.awk", "{ exit 0 }\n"),
            Some(Shared),
        ),
        (
            "sh check.sh",
            &[
                total,
                (
                    "check.sh",
                    "PATH=\"$PWD/tools:$PATH\"\nt-equal 3 \"$(sh total.sh 1 2)\"\n",
                ),
                ("tools/t-equal", "#!/bin/sh\n[ \"$1\" = \"$2\" ]\n"),
            ],
            ("tools/t-equal", "#!/bin/sh\n"),
            Some(Shared),
        ),
        // The subject of the script.
        (
            "sh tests/all.sh",
            &[assert, strings, upper],
            (
                "lib/strings.sh",
                "up() {\n    echo \"$1\" | tr a-z A-Z\n}\n",
            ),
            None,
        ),
        (
            "sh tests/all.sh",
            &[assert, strings, upper],
            (
                "lib/strings.sh",
                "up() {\n    echo \"$1\"\n}\nequals() {\n    :\n}\n",
            ),
            Some(Test),
        ),
        (
            "sh total.sh 1 2 | grep -qx 3",
            &[total],
            ("total.sh", "#!/bin/sh\necho 3\n"),
            None,
        ),
        (
            "sh ci.sh | grep -q 'all good'",
            &[
                total,
                ("ci.sh", "[ \"$(sh total.sh 1)\" = 1 ] && echo all good\n"),
            ],
            ("ci.sh", "echo all good\n"),
            Some(Test),
        ),
        (
            "echo 1 2 | awk -f total.awk | grep -qx 3",
            &[("total.awk", "{ print 0 }\n")],
            ("total.awk", "{ print $1 + $2 }\n"),
            None,
        ),
    ];
    for (command, base, (path, after), side) in cases {
        assert_eq!(
            side_of(command, base, path, after),
            side,
            "{command}: {after}"
        );
    }
}

#[test]
fn sides_roots_of_crates_are_work() {
    // The version in the documentation is tested, and the examples contain assertions.
    let base = [
        ("Cargo.toml", "[package]\nname = \"text\"\n"),
        (
            "src/lib.rs",
            "//! ```\n//! assert_eq!(text::dedent(\"\"), \"\");\n//! ```\nmod dedent;\n",
        ),
        (
            "src/dedent.rs",
            "/// ```\n/// assert!(true);\n/// ```\npub fn dedent() {}\n",
        ),
        ("src/wrap.rs", "pub fn wrap() {}\n"),
        (
            "tests/version.rs",
            "#[test]\nfn version() {\n    check(\"src/lib.rs\");\n}\n",
        ),
    ];
    for path in ["src/lib.rs", "src/dedent.rs"] {
        let side = side_of("cargo test", &base, path, "pub fn dedent() -> u8 { 1 }\n");
        assert_eq!(side, None, "{path}");
    }
}

/// Documents that a check runs are tests; others are texts.
#[test]
fn sides_documents_with_examples() {
    let base = [
        ("README.md", "```\nassert!(true);\n```\n"),
        ("docs/use.rst", ">>> 1 + 1\n2\n"),
        ("docs/why.md", "Why\n"),
        ("src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n"),
    ];
    let side = |command: &str, path: &str| side_of(command, &base, path, "other\n");
    let test = Some(ProjectSide::Test);
    assert_eq!(side("cargo test", "README.md"), test);
    assert_eq!(side("cargo test", "docs/use.rst"), None);
    assert_eq!(side("pytest --doctest-glob='*.rst'", "docs/use.rst"), test);
    assert_eq!(side("pytest --doctest-glob='*.rst'", "docs/why.md"), None);
    for settings in [
        "[tool.pytest.ini_options]\naddopts = [\"--doctest-glob=*.rst\"]\n",
        "[tool.pytest.ini_options]\naddopts = [\"--doctest-glob\", \"*.rst\"]\n",
        "[tool.pytest.ini_options]\naddopts = '--doctest-modules --doctest-glob *.rst'\n",
    ] {
        let base = [base[1], ("pyproject.toml", settings)];
        let side = side_of("pytest", &base, "docs/use.rst", "other\n");
        assert_eq!(side, test, "{settings}");
    }
}

#[test]
fn sides_programs_that_a_build_file_runs_as_tests() {
    let base = [
        (
            "CMakeLists.txt",
            "add_library(sum sum.cpp)\nadd_executable(verify verify.cpp)\nadd_test(NAME verify COMMAND verify)\n",
        ),
        ("sum.h", "int sum(int, int);\n"),
        (
            "sum.cpp",
            "#include \"sum.h\"\nint sum(int a, int b) { return 0; }\n",
        ),
        (
            "verify.cpp",
            "#include \"sum.h\"\nint main() { return sum(1, 2) != 3; }\n",
        ),
    ];
    for (path, side) in [("verify.cpp", Some(ProjectSide::Shared)), ("sum.cpp", None)] {
        let after = "int main() { return 0; }\n";
        assert_eq!(
            side_of("ctest --test-dir build", &base, path, after),
            side,
            "{path}"
        );
    }
    let recipes =
        "verify: verify.c sum.c\n\tcc -o verify verify.c sum.c\ntest: verify\n\t./verify\n";
    let base = [
        ("Makefile", recipes),
        ("sum.h", "int sum(int, int);\n"),
        (
            "sum.c",
            "#include \"sum.h\"\nint sum(int a, int b) { return 0; }\n",
        ),
        (
            "verify.c",
            "#include \"sum.h\"\nint main(void) { return sum(1, 2) != 3; }\n",
        ),
    ];
    let own_names = "all: verify\nverify: verify.o sum.o\n\tcc -o $@ $^\n\t./$@\n";
    let by_object = base.map(|(path, text)| match path {
        "Makefile" => (path, own_names),
        _ => (path, text),
    });
    for (path, side) in [("verify.c", Some(ProjectSide::Shared)), ("sum.c", None)] {
        let after = "int main(void) { return 0; }\n";
        assert_eq!(side_of("make test", &base, path, after), side, "{path}");
        assert_eq!(side_of("make", &by_object, path, after), side, "{path}");
    }
}

#[test]
fn sides_new_packages_of_go_are_work() {
    let base = [
        ("go.mod", "module a\n"),
        ("a_test.go", "package a\n\nimport \"b.org/check\"\n"),
        ("vendor/modules.txt", "# b.org/check v1.0.0\nb.org/check\n"),
        ("vendor/b.org/check/check.go", "package check\n"),
    ];
    for (path, after, side) in [
        ("vendor/b.org/add/add.go", "package add\n", None),
        (
            "vendor/modules.txt",
            "# b.org/add v1.0.0\nb.org/add\n# b.org/check v1.0.0\nb.org/check\n",
            None,
        ),
        (
            "vendor/modules.txt",
            "# b.org/check v1.0.0 => ./check\n",
            Some(ProjectSide::Shared),
        ),
        (
            "vendor/b.org/check/more.go",
            "package check\n",
            Some(ProjectSide::Shared),
        ),
    ] {
        assert_eq!(side_of("go test ./...", &base, path, after), side, "{path}");
    }
}
