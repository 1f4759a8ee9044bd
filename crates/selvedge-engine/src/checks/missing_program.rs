//! Recognizes that a command could not start a program: then nothing was checked.

use selvedge_core::comparison::is_analysis_program;

use super::runners;

/// Whether a shell or `env` reports that it could not start this program: `sh: 1: NAME: not found`,
/// `env: ‘NAME’: No such file or directory`.
pub(super) fn reports_not_started(output: &str, program: &str) -> bool {
    const REASONS: [&str; 4] = [
        "not found",
        "command not found",
        "No such file or directory",
        "Permission denied",
    ];
    output.lines().any(|line| {
        let Some((subject, reason)) = line.rsplit_once(": ") else {
            return false;
        };
        let subject = subject.rsplit(": ").next().unwrap_or_default();
        let subject = subject.trim_matches(['\'', '"', '`', '‘', '’', '“', '”']);
        subject == program && REASONS.contains(&reason.trim())
    })
}

/// The known runner, linter or type checker that a package manager or an interpreter did not find. Other programs could
/// be the project's own, which the work may create.
pub(super) fn find_missing_tool(output: &str) -> Option<&str> {
    let names = output.lines().filter_map(|line| missing_name(line.trim()));
    let mut tools = names.filter(|name| is_analysis_program(name) || runners::is_runner(name));
    tools.next()
}

/// The program or module that a line reports as missing.
fn missing_name(line: &str) -> Option<&str> {
    const PREFIXES: [&str; 4] = [
        "error: Failed to spawn: `",
        "error: no such command: `",
        "Command not found: ",
        "bundler: command not found: ",
    ];
    if let Some(name) = PREFIXES.iter().find_map(|it| line.strip_prefix(it)) {
        return Some(name.trim_end_matches('`'));
    }
    // `[PdmUsageError]: Command 'pytest' is not found in your PATH.`
    if let Some((_, report)) = line.split_once("Command '")
        && let Some((name, _)) = report.split_once("' is not found in your PATH")
    {
        return Some(name);
    }
    let (program, report) = line.split_once(": ")?;
    match program.rsplit('/').next()? {
        // A script would be named instead of the shell.
        "sh" | "bash" | "dash" | "zsh" => {
            let report = report.strip_prefix("line ").unwrap_or(report);
            let (number, report) = report.split_once(": ")?;
            let (name, reason) = report.split_once(": ")?;
            let is_missing = ["not found", "command not found"].contains(&reason);
            (is_missing && number.parse::<u32>().is_ok()).then_some(name)
        }
        name if name.starts_with("python") => {
            let name = report.strip_prefix("No module named ")?;
            Some(name.trim_matches('\''))
        }
        name if name.starts_with("make") => report.strip_suffix(": No such file or directory"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tools_are_found_in_reports_of_launchers() {
        for (output, tool) in [
            ("/usr/bin/python3: No module named pytest", Some("pytest")),
            (
                "error: Failed to spawn: `pytest`\n  Caused by: No such file",
                Some("pytest"),
            ),
            ("Command not found: ruff", Some("ruff")),
            ("bundler: command not found: rspec", Some("rspec")),
            (
                "[PdmUsageError]: Command 'pytest' is not found in your PATH.",
                Some("pytest"),
            ),
            ("error: no such command: `nextest`\n", Some("nextest")),
            (
                "> own@1.0.0 test\n> mocha\n\nsh: 1: mocha: not found",
                Some("mocha"),
            ),
            ("make: mypy: No such file or directory", Some("mypy")),
            ("sh: line 1: eslint: command not found", Some("eslint")),
            ("./run.sh: 3: mocha: not found", None),
            ("/usr/bin/python3: No module named own", None),
            ("ModuleNotFoundError: No module named 'pytest'", None),
            ("sh: 1: own-tool: not found", None),
        ] {
            assert_eq!(find_missing_tool(output), tool, "{output}");
        }
    }
}
