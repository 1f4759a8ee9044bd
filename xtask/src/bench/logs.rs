//! Synthetic logs like those of real tools, of any length, identical in every run.

use std::io::{self, Write};

/// A kind of log.
pub(super) struct SyntheticLog {
    /// Its name in the table.
    pub(super) what: &'static str,
    /// The command that would print it, and its exit code.
    command: &'static str,
    exit: &'static str,
    head: &'static str,
    part: fn(u32) -> String,
    tail: &'static str,
    /// Minimum speed of a digest, in MB per second.
    pub(super) bar: f64,
}

pub(super) static ORDINARY_LOGS: [SyntheticLog; 3] = [PASSING_TESTS, FAILING_TESTS, COMPILE_ERRORS];

const PASSING_TESTS: SyntheticLog = SyntheticLog {
    what: "passing tests (cargo test)",
    command: "cargo test",
    exit: "0",
    head: "    Finished `test` profile [unoptimized] target(s) in 3.21s\n     Running unittests \
           src/lib.rs (target/debug/deps/bench-1f0c)\n\nrunning 1000000 tests\n",
    part: |number| {
        let module = number % 97;
        format!("test module_{module}::tests::it_keeps_promise_number_{number} ... ok\n")
    },
    tail: "\ntest result: ok. 1000000 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; \
           finished in 9.81s\n\n",
    bar: 500.0,
};

const FAILING_TESTS: SyntheticLog = SyntheticLog {
    what: "failing tests (pytest)",
    command: "pytest",
    exit: "1",
    head: "============================= test session starts ==============================\n\
           platform linux -- Python 3.11.2, pytest-8.3.3, pluggy-1.5.0\n\n\
           =================================== FAILURES ===================================\n",
    part: |number| {
        let line = number % 900 + 10;
        format!(
            "_______________________________ test_case_{number} _______________________________\n\n    \
             def test_case_{number}():\n        value = compute({number})\n>       assert value == \
             {number}\nE       assert {} == {number}\nE        +  where {} = compute({number})\n\n\
             tests/test_part{}.py:{line}: AssertionError\n",
            number + 1,
            number + 1,
            number % 31
        )
    },
    tail: "=========================== short test summary info ============================\n\
           FAILED tests/test_part1.py::test_case_1 - assert 2 == 1\n\
           ======================== 1 failed, 9 passed in 12.34s =========================\n",
    bar: 100.0,
};

const COMPILE_ERRORS: SyntheticLog = SyntheticLog {
    what: "compile errors (cargo build)",
    command: "cargo build",
    exit: "101",
    head: "   Compiling bench v0.1.0 (/src/bench)\n",
    part: |number| {
        let line = number % 900 + 10;
        format!(
            "error[E0308]: mismatched types\n  --> src/part{}.rs:{line}:17\n   |\n{line}|     let \
             value_{number}: u32 = \"{number}\";\n   |                    ---   ^^^^^ expected `u32`, \
             found `&str`\n   |                    |\n   |                    expected due to this\n\n",
            number % 31
        )
    },
    tail: "error: could not compile `bench` (lib) due to 1000 previous errors\n",
    bar: 100.0,
};

/// Logs made to be slow or expensive to parse: one pattern, repeated.
pub(super) static HOSTILE_LOGS: [SyntheticLog; 7] = [
    hostile_log("one line", "", |_| "one long line, ".to_owned()),
    hostile_log("one telling line", "", |n| format!("error at a.c:{n}, ")),
    hostile_log("one short error", "", |_| "error: x\n".to_owned()),
    hostile_log("short errors, numbered", "", |n| {
        format!("e{n}: error: {n}\n")
    }),
    hostile_log("escapes within escapes", "", |_| {
        "\x1b[3\x1b]0;\x1b[31m".to_owned()
    }),
    hostile_log("JSON that never closes", "{\"a\":", |_| {
        "[{\"error\":\"x\",\"b\":".to_owned()
    }),
    hostile_log("progress bars", "", |n| format!("{n}%\r")),
];

const fn hostile_log(
    what: &'static str,
    head: &'static str,
    part: fn(u32) -> String,
) -> SyntheticLog {
    SyntheticLog {
        what,
        command: "make",
        exit: "2",
        head,
        part,
        tail: "\n",
        bar: 0.0,
    }
}

impl SyntheticLog {
    /// The arguments of `selvedge` that digest the log.
    pub(super) fn args(&self) -> [&'static str; 5] {
        ["digest", "--cmd", self.command, "--exit", self.exit]
    }

    /// Writes this many million bytes of the log. The parts repeat after a while, so that generating
    /// the log is cheaper than reading it.
    pub(super) fn write(&self, to: &mut impl Write, megabytes: u32) -> io::Result<()> {
        let parts: String = (0..20_000).map(self.part).collect();
        let wanted = u64::from(megabytes) * 1_000_000;
        to.write_all(self.head.as_bytes())?;
        let mut written: u64 = 0;
        while written < wanted {
            to.write_all(parts.as_bytes())?;
            written += u64::try_from(parts.len()).unwrap_or(u64::MAX);
        }
        to.write_all(self.tail.as_bytes())
    }
}
