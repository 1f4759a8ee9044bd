//! Runs one parser on many files at once.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use selvedge_syntax::{FileLanguage, SyntaxError};
use tokio_util::sync::CancellationToken;

use super::session::{ParserContext, ParserOutput, ParserRun};
use super::{ParserPrograms, ParserVerdict, SourceFile, answer, scripts};
use crate::check_error::CheckError;

/// How often a parser that failed is restarted for the files after the one that caused it.
const MAX_RESTARTS: usize = 32;

/// A parser that handles many files at once.
pub(super) enum BatchParser<'a> {
    /// Reads lines from standard input and answers in the format of [`answer`].
    LineProtocol {
        argv: Vec<OsString>,
        line: fn(&SourceFile) -> String,
    },
    /// Gets the files as its last arguments and prints `FILE:LINE:` or `FILE:LINE:COLUMN:` before
    /// each error.
    FileArguments {
        program: &'a Path,
        args: &'a [&'a str],
    },
}

/// Options that make `javac` only parse.
const JAVAC: [&str; 7] = [
    "-proc:none",
    "-implicit:none",
    "-Xlint:none",
    "-Xmaxerrs",
    "1000",
    "-XDshould-stop.ifError=PARSE",
    "-XDshould-stop.ifNoError=PARSE",
];

/// The first parser for a language; `None` if no parser for it is available.
pub(super) fn parser_for<'a>(
    language: FileLanguage,
    found: &'a ParserPrograms,
    bench: &ParserContext,
) -> Option<BatchParser<'a>> {
    let script = |program: &Option<std::path::PathBuf>, script| {
        let argv = with_script(program.as_deref()?, script);
        Some(BatchParser::LineProtocol {
            argv,
            line: |item| item.file.clone(),
        })
    };
    match language {
        FileLanguage::Python => script(&found.python, scripts::PYTHON),
        FileLanguage::Ruby => script(&found.ruby, scripts::RUBY),
        FileLanguage::Php => script(&found.php, scripts::PHP),
        FileLanguage::Shell => script(&found.bash, scripts::BASH),
        FileLanguage::Go => found
            .gofmt
            .as_deref()
            .map(|program| BatchParser::FileArguments {
                program,
                args: &["-e", "-l"],
            }),
        FileLanguage::Java => found
            .javac
            .as_deref()
            .map(|program| BatchParser::FileArguments {
                program,
                args: &JAVAC,
            }),
        FileLanguage::JavaScript | FileLanguage::TypeScript | FileLanguage::Tsx => {
            let mut argv = with_script(found.node.as_deref()?, scripts::NODE);
            argv.push("--".into());
            argv.push(bench.workspace.clone().into());
            Some(BatchParser::LineProtocol {
                argv,
                line: request_line,
            })
        }
        _ => Some(BatchParser::LineProtocol {
            argv: vec![bench.supervisor.program.clone().into(), "__parse".into()],
            line: request_line,
        }),
    }
}

/// Language, file and path, for parsers of several languages.
fn request_line(item: &SourceFile) -> String {
    let name = answer::sanitize(&item.name);
    format!("{}\t{}\t{name}", item.language.name(), item.file)
}

fn with_script(program: &Path, (args, script): (&[&str], &str)) -> Vec<OsString> {
    let args = args.iter().map(OsString::from);
    [program.into()]
        .into_iter()
        .chain(args)
        .chain([script.into()])
        .collect()
}

impl ParserContext {
    /// Returns the parser's verdict on each item, in their order. `name` is unique among the runs.
    pub(super) async fn parse_files(
        &self,
        parser: &BatchParser<'_>,
        items: &[&SourceFile],
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<ParserVerdict>, CheckError> {
        match parser {
            BatchParser::LineProtocol { argv, line } => {
                self.run_line_parser(argv, *line, items, name, cancel).await
            }
            BatchParser::FileArguments { program, args } => {
                self.run_argument_parser(program, args, items, name, cancel)
                    .await
            }
        }
    }

    async fn run_line_parser(
        &self,
        argv: &[OsString],
        line: fn(&SourceFile) -> String,
        items: &[&SourceFile],
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<ParserVerdict>, CheckError> {
        let mut known: HashMap<String, ParserVerdict> = HashMap::new();
        for round in 0..MAX_RESTARTS {
            let open: Vec<&&SourceFile> = items
                .iter()
                .filter(|it| !known.contains_key(&it.file))
                .collect();
            let Some(first) = open.first() else { break };
            let name = format!("{name}-{round}");
            let input = self.folder.join(format!("{name}.in"));
            let lines: String = open.iter().map(|item| line(item) + "\n").collect();
            fs::write(&input, lines).map_err(|error| {
                CheckError::Infrastructure(format!("cannot write {}: {error}", input.display()))
            })?;
            let run = ParserRun {
                name,
                argv: argv.to_vec(),
                input: Some(&input),
                has_user_folders: false,
            };
            let output = self.run(run, cancel).await?;
            let answers = answer::parse_answers(&output.stdout);
            let next = open
                .iter()
                .find(|item| !answers.contains_key(item.file.as_str()));
            let next = next.map_or_else(|| first.file.clone(), |item| item.file.clone());
            let all = answers.len() >= open.len();
            known.extend(
                answers
                    .into_iter()
                    .map(|(file, verdict)| (file.to_owned(), verdict)),
            );
            if !all {
                // The file at which the parser stopped; the files after it are parsed again.
                let why = if output.is_timed_out {
                    "its parser took too long"
                } else {
                    "its parser failed"
                };
                known.insert(next, ParserVerdict::Unknown(why.to_owned()));
            }
        }
        let mut take_verdict = |item: &&SourceFile| known.remove(&item.file);
        let unknown = || ParserVerdict::Unknown("its parser failed".to_owned());
        Ok(items
            .iter()
            .map(&mut take_verdict)
            .map(|verdict| verdict.unwrap_or_else(unknown))
            .collect())
    }

    async fn run_argument_parser(
        &self,
        program: &Path,
        args: &[&str],
        items: &[&SourceFile],
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<ParserVerdict>, CheckError> {
        let argv = [program.into()]
            .into_iter()
            .chain(args.iter().map(OsString::from))
            .chain(items.iter().map(|item| OsString::from(&item.file)))
            .collect();
        let run = ParserRun {
            name: name.to_owned(),
            argv,
            input: None,
            has_user_folders: false,
        };
        let output = self.run(run, cancel).await?;
        Ok(items
            .iter()
            .map(|item| verdict_from_output(&output, &item.file))
            .collect())
    }
}

/// Returns the first error that names the file; a parser that did not exit by itself gives no
/// verdict.
fn verdict_from_output(output: &ParserOutput, file: &str) -> ParserVerdict {
    let Some(code) = output.code else {
        return ParserVerdict::Unknown("its parser failed".to_owned());
    };
    let fault = output.stderr.lines().find_map(|line| {
        let rest = line.strip_prefix(file)?.strip_prefix(':')?;
        let (number, rest) = rest.split_once(':')?;
        let line = number.parse().ok()?;
        let (column, message) = match rest.split_once(':') {
            Some((column, message)) if column.parse::<u32>().is_ok() => {
                (column.parse().ok(), message)
            }
            _ => (None, rest),
        };
        let message = message.trim().trim_start_matches("error:").trim();
        Some(SyntaxError {
            line,
            column,
            message: answer::sanitize(message),
        })
    });
    match fault {
        Some(fault) => ParserVerdict::Broken(fault),
        // The error is not about a file, but for example about the parser's own options.
        None if code != 0 && !output.stderr.lines().any(|line| line.contains(':')) => {
            ParserVerdict::Unknown("its parser does not work".to_owned())
        }
        None => ParserVerdict::Parses,
    }
}
