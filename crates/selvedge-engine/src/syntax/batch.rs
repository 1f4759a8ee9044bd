//! Asking one parser about many files in one go.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use selvedge_syntax::{Fault, Language};
use tokio_util::sync::CancellationToken;

use super::session::{Bench, Output, Run};
use super::{Found, Item, Said, answer, scripts};
use crate::checks::CheckAborted;

/// How often a parser that gave out is started again for the files behind the one at fault.
const RESTARTS: usize = 32;

/// A parser that is asked about many files at once.
pub(super) enum Parser<'a> {
    /// Reads lines from standard input and answers as [`answer`] says.
    Asked {
        argv: Vec<OsString>,
        line: fn(&Item) -> String,
    },
    /// Gets the files as its last arguments, and prints `FILE:LINE:` or `FILE:LINE:COLUMN:` before
    /// each error.
    Told {
        program: &'a Path,
        args: &'a [&'a str],
    },
}

/// The options of `javac` that let it parse, and do nothing more.
const JAVAC: [&str; 7] = [
    "-proc:none",
    "-implicit:none",
    "-Xlint:none",
    "-Xmaxerrs",
    "1000",
    "-XDshould-stop.ifError=PARSE",
    "-XDshould-stop.ifNoError=PARSE",
];

/// Who is asked first about a language; none where nobody here knows it.
pub(super) fn parser_of<'a>(
    language: Language,
    found: &'a Found,
    bench: &Bench,
) -> Option<Parser<'a>> {
    let script = |program: &Option<std::path::PathBuf>, script| {
        let argv = with_script(program.as_deref()?, script);
        Some(Parser::Asked {
            argv,
            line: |item| item.file.clone(),
        })
    };
    match language {
        Language::Python => script(&found.python, scripts::PYTHON),
        Language::Ruby => script(&found.ruby, scripts::RUBY),
        Language::Php => script(&found.php, scripts::PHP),
        Language::Shell => script(&found.bash, scripts::BASH),
        Language::Go => found.gofmt.as_deref().map(|program| Parser::Told {
            program,
            args: &["-e", "-l"],
        }),
        Language::Java => found.javac.as_deref().map(|program| Parser::Told {
            program,
            args: &JAVAC,
        }),
        _ => Some(Parser::Asked {
            argv: vec![bench.supervisor.program.clone().into(), "__parse".into()],
            line: |item| {
                let name = answer::plain(&item.name);
                format!("{}\t{}\t{name}", item.language.name(), item.file)
            },
        }),
    }
}

pub(super) fn with_script(program: &Path, (args, script): (&[&str], &str)) -> Vec<OsString> {
    let args = args.iter().map(OsString::from);
    [program.into()]
        .into_iter()
        .chain(args)
        .chain([script.into()])
        .collect()
}

impl Bench {
    /// What a parser says of each item, in their order. `name` is unique among the runs.
    pub(super) async fn ask(
        &self,
        parser: &Parser<'_>,
        items: &[&Item],
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<Said>, CheckAborted> {
        match parser {
            Parser::Asked { argv, line } => self.asked(argv, *line, items, name, cancel).await,
            Parser::Told { program, args } => self.told(program, args, items, name, cancel).await,
        }
    }

    async fn asked(
        &self,
        argv: &[OsString],
        line: fn(&Item) -> String,
        items: &[&Item],
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<Said>, CheckAborted> {
        let mut known: HashMap<String, Said> = HashMap::new();
        for round in 0..RESTARTS {
            let open: Vec<&&Item> = items
                .iter()
                .filter(|it| !known.contains_key(&it.file))
                .collect();
            let Some(first) = open.first() else { break };
            let name = format!("{name}-{round}");
            let input = self.folder.join(format!("{name}.in"));
            let lines: String = open.iter().map(|item| line(item) + "\n").collect();
            fs::write(&input, lines).map_err(|error| {
                CheckAborted::Infrastructure(format!("cannot write {}: {error}", input.display()))
            })?;
            let run = Run {
                name,
                argv: argv.to_vec(),
                input: Some(&input),
                at_home: false,
            };
            let output = self.run(run, cancel).await?;
            let answers = answer::read(&output.stdout);
            let next = open
                .iter()
                .find(|item| !answers.contains_key(item.file.as_str()));
            let next = next.map_or_else(|| first.file.clone(), |item| item.file.clone());
            let all = answers.len() >= open.len();
            known.extend(
                answers
                    .into_iter()
                    .map(|(file, said)| (file.to_owned(), said)),
            );
            if !all {
                // The one that it did not get beyond; those behind it are asked about again.
                let why = if output.out_of_time {
                    "its parser took too long"
                } else {
                    "its parser gave out"
                };
                known.insert(next, Said::Unknown(why.to_owned()));
            }
        }
        let mut said = |item: &&Item| known.remove(&item.file);
        let unknown = || Said::Unknown("its parser gave out".to_owned());
        Ok(items
            .iter()
            .map(&mut said)
            .map(|said| said.unwrap_or_else(unknown))
            .collect())
    }

    async fn told(
        &self,
        program: &Path,
        args: &[&str],
        items: &[&Item],
        name: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<Said>, CheckAborted> {
        let argv = [program.into()]
            .into_iter()
            .chain(args.iter().map(OsString::from))
            .chain(items.iter().map(|item| OsString::from(&item.file)))
            .collect();
        let run = Run {
            name: name.to_owned(),
            argv,
            input: None,
            at_home: false,
        };
        let output = self.run(run, cancel).await?;
        Ok(items
            .iter()
            .map(|item| printed(&output, &item.file))
            .collect())
    }
}

/// The first error that names the file; a parser that ended otherwise than by itself says nothing.
fn printed(output: &Output, file: &str) -> Said {
    let Some(code) = output.code else {
        return Said::Unknown("its parser gave out".to_owned());
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
        Some(Fault {
            line,
            column,
            message: answer::plain(message),
        })
    });
    match fault {
        Some(fault) => Said::Broken(fault),
        // It complains, but of no file: of its own options, say.
        None if code != 0 && !output.stderr.lines().any(|line| line.contains(':')) => {
            Said::Unknown("its parser does not work".to_owned())
        }
        None => Said::Parses,
    }
}
