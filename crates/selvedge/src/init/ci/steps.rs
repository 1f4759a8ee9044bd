//! Reads the scripts of CI files: YAML by its events, so that aliases and deep nesting cost nothing.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScanError};
use selvedge_engine::syntax::indent_closing_brackets;

/// Deeper nesting is not read.
const MAX_DEPTH: usize = 32;
/// Variables of a matrix with more values are not read.
const MAX_TASKS: usize = 12;
/// Variables with longer values are not read.
const MAX_VALUE_BYTES: usize = 200;

/// A script that CI runs, one or more lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CiStep {
    pub(super) script: String,
    /// The directory that it runs in, as it is written; `None` if that is the checkout.
    pub(super) directory: Option<String>,
    /// Environment variables with fixed values, of the step and what contains it.
    pub(super) variables: Variables,
}

/// Environment variables by their names.
pub(super) type Variables = BTreeMap<String, String>;

/// The values of each variable of a job's matrix.
type Matrix = BTreeMap<String, Vec<String>>;

/// What the steps in a part of a file have in common.
#[derive(Clone, Default)]
struct StepContext<'a> {
    directory: Option<&'a str>,
    variables: Variables,
    matrix: Matrix,
}

/// The names of the keys that matter in a file.
pub(super) struct StepKeys {
    pub(super) script: &'static [&'static str],
    /// Next to the script.
    pub(super) directory: &'static str,
    /// Next to the script, or of what contains it.
    pub(super) variables: &'static str,
}

enum Node {
    Text(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
    /// An alias, or what is nested too deep.
    Unread,
}

impl Node {
    fn get(&self, key: &str) -> Option<&Self> {
        let Self::Table(entries) = self else {
            return None;
        };
        let mut entries = entries.iter();
        entries.find_map(|(name, value)| (name == key).then_some(value))
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::List(_) | Self::Table(_) | Self::Unread => None,
        }
    }
}

/// The steps of a YAML file.
pub(super) fn read_steps(text: &str, keys: &StepKeys) -> Result<Vec<CiStep>, ScanError> {
    let mut steps = Vec::new();
    let documents = read_documents(text)
        .or_else(|error| read_documents(&indent_closing_brackets(text)).map_err(|_| error))?;
    for document in documents {
        collect_steps(&document, keys, &StepContext::default(), &mut steps);
    }
    Ok(steps)
}

fn collect_steps<'a>(
    node: &'a Node,
    keys: &StepKeys,
    outer: &StepContext<'a>,
    steps: &mut Vec<CiStep>,
) {
    let entries = match node {
        Node::Table(entries) => entries,
        Node::List(items) => {
            for item in items {
                collect_steps(item, keys, outer, steps);
            }
            return;
        }
        Node::Text(_) | Node::Unread => return,
    };
    let mut context = outer.clone();
    // Of a workflow or a job on GitHub.
    let defaults = node.get("defaults").and_then(|it| it.get("run"));
    let default_directory = defaults.and_then(|run| run.get(keys.directory)?.text());
    context.directory = default_directory.or(outer.directory);
    let directory = node.get(keys.directory).and_then(Node::text);
    let directory = directory.or(context.directory);
    let variables = node.get(keys.variables).into_iter();
    context
        .variables
        .extend(variables.flat_map(fixed_variables));
    if let Some(matrix) = node.get("strategy").and_then(|it| it.get("matrix")) {
        context.matrix = read_matrix(matrix);
    }
    for (key, value) in entries {
        let script = match value {
            Node::Text(text) => Some(text.clone()),
            Node::List(items) => {
                let lines: Option<Vec<_>> = items.iter().map(Node::text).collect();
                lines.map(|lines| lines.join("\n"))
            }
            Node::Table(_) | Node::Unread => None,
        };
        match script.filter(|_| keys.script.contains(&key.as_str())) {
            Some(script) => {
                let scripts = expand_matrix(&script, &context.matrix).into_iter();
                steps.extend(scripts.map(|script| CiStep {
                    script,
                    directory: directory.map(str::to_owned),
                    variables: context.variables.clone(),
                }));
            }
            None => collect_steps(value, keys, &context, steps),
        }
    }
}

/// The variables of a matrix whose values are names of tasks: `lint`, but not `3.12` or `ubuntu-24.04`.
fn read_matrix(matrix: &Node) -> Matrix {
    let Node::Table(entries) = matrix else {
        return Matrix::new();
    };
    let is_task = |value: &String| {
        let is_plain = |it: char| it.is_ascii_lowercase() || ":_-".contains(it);
        value.starts_with(|it: char| it.is_ascii_lowercase())
            && value.chars().all(is_plain)
            && !value.ends_with("-latest")
    };
    let mut found = Matrix::new();
    for (name, values) in entries {
        let Node::List(values) = values else { continue };
        if name == "include" {
            let tables = values.iter().filter_map(|it| match it {
                Node::Table(entries) => Some(entries),
                Node::Text(_) | Node::List(_) | Node::Unread => None,
            });
            for (name, value) in tables.flatten() {
                let value = value.text().unwrap_or_default().to_owned();
                found.entry(name.clone()).or_default().push(value);
            }
        } else {
            let values = values
                .iter()
                .map(|it| it.text().unwrap_or_default().to_owned());
            found.entry(name.clone()).or_default().extend(values);
        }
    }
    found.retain(|_, values| values.len() <= MAX_TASKS && values.iter().all(is_task));
    found
}

/// The script for each value of the variable of the matrix that is a word of it: of `npm run ${{ matrix.task }}`, one for
/// each task.
fn expand_matrix(script: &str, matrix: &Matrix) -> Vec<String> {
    let used = matrix.iter().find_map(|(name, values)| {
        let spellings = [
            format!("${{{{ matrix.{name} }}}}"),
            format!("${{{{matrix.{name}}}}}"),
        ];
        let word = spellings.into_iter().find(|it| script.contains(it))?;
        let mut before = script.match_indices(&word).map(|(at, _)| &script[..at]);
        let mut after = script
            .match_indices(&word)
            .map(|(at, _)| &script[at + word.len()..]);
        let is_word = before.all(|it| it.ends_with(char::is_whitespace))
            && after.all(|it| it.is_empty() || it.starts_with(char::is_whitespace));
        is_word.then_some((word, values))
    });
    match used {
        Some((word, values)) => values.iter().map(|it| script.replace(&word, it)).collect(),
        None => vec![script.to_owned()],
    }
}

/// The variables of a table whose values do not depend on CI, without those that only change colours.
fn fixed_variables(table: &Node) -> Vec<(String, String)> {
    let Node::Table(entries) = table else {
        return Vec::new();
    };
    let is_name = |name: &str| {
        let is_word = name
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '_');
        is_word
            && !name.is_empty()
            && !name.starts_with(|it: char| it.is_ascii_digit())
            && !name.contains("COLOR")
    };
    let is_fixed =
        |value: &str| value.len() <= MAX_VALUE_BYTES && !value.contains(['$', '\'', '\n', '\0']);
    let entries = entries
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.text()?.to_owned())));
    entries
        .filter(|(name, value)| is_name(name) && is_fixed(value))
        .collect()
}

/// The documents of a YAML file.
fn read_documents(text: &str) -> Result<Vec<Node>, ScanError> {
    let mut documents = Vec::new();
    // Open lists and tables, each with the keys of its parents' entries.
    let mut open: Vec<OpenNode> = Vec::new();
    let mut skipped = 0_usize;
    for event in Parser::new_from_str(text) {
        let (event, _) = event?;
        let is_start = matches!(event, Event::SequenceStart(..) | Event::MappingStart(..));
        let is_end = matches!(event, Event::SequenceEnd | Event::MappingEnd);
        if skipped > 0 {
            skipped = skipped + usize::from(is_start) - usize::from(is_end);
            continue;
        }
        let node = match event {
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= MAX_DEPTH => {
                skipped = 1;
                Node::Unread
            }
            Event::SequenceStart(..) => {
                open.push(OpenNode::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(OpenNode::Table(Vec::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(OpenNode::List(items)) => Node::List(items),
                Some(OpenNode::Table(entries, _)) => Node::Table(entries),
                None => Node::Unread,
            },
            Event::Scalar(text, ..) => Node::Text(text.into_owned()),
            Event::Alias(_) => Node::Unread,
            _ => continue,
        };
        match open.last_mut() {
            None => documents.push(node),
            Some(OpenNode::List(items)) => items.push(node),
            Some(OpenNode::Table(entries, key)) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => *key = Some(node.text().unwrap_or_default().to_owned()),
            },
        }
    }
    Ok(documents)
}

enum OpenNode {
    List(Vec<Node>),
    /// The entries, and the key of the next one.
    Table(Vec<(String, Node)>, Option<String>),
}
