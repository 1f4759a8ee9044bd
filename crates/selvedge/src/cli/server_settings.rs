//! Options of `selvedge hub` and `selvedge worker` from a TOML file and from environment variables.
//!
//! A flag replaces the variable of the same option, which replaces the key of the file. What the lower layers set is
//! added to the command line as flags, so that one parser with one set of rules reads all three.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Args, Command};
use selvedge_core::config::nearest;
use toml::de::{DeTable, DeValue};

use crate::error::CliError;

/// Commands whose options can come from a file and from variables, with the prefix of the variables.
const SERVERS: [(&str, &str); 2] = [("hub", "SELVEDGE_HUB_"), ("worker", "SELVEDGE_WORKER_")];
/// Tables of the file: their keys are the options whose names begin with the table's.
const TABLES: [&str; 3] = ["oidc", "oidc_roles", "s3"];
/// Options that select the file or print something, and are only flags.
const FLAGS_ONLY: [&str; 4] = ["config", "print-config", "help", "version"];

/// Options that choose and show the settings of a server.
#[derive(Debug, Default, Args)]
pub(crate) struct ServerConfigArgs {
    /// Read options from this TOML file. Flags replace variables, and variables replace keys of the file.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Print the options in effect and where each comes from, and exit.
    #[arg(long)]
    print_config: bool,
    #[arg(skip)]
    pub(super) settings: Vec<ServerSetting>,
}

impl ServerConfigArgs {
    /// The options in effect as TOML, each with its origin, if they were requested.
    pub(crate) fn requested_listing(&self) -> Option<String> {
        self.print_config.then(|| to_toml(&self.settings))
    }

    /// Adds the origins of the options that an error names, for those that are not flags.
    pub(crate) fn with_origins(&self, error: CliError) -> CliError {
        let origins = origins_in(&error.to_string(), &self.settings);
        origins.into_iter().fold(error, CliError::hint)
    }
}

/// An option that has a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ServerSetting {
    /// The key in the file.
    key: String,
    value: toml::Value,
    origin: String,
}

/// A command line completed by the lower layers.
#[derive(Debug)]
pub(super) struct CompletedCommandLine {
    pub(super) args: Vec<OsString>,
    pub(super) settings: Vec<ServerSetting>,
}

/// The value of an option in one layer, as the texts of its flags; a switch that is off has none.
struct LayerValue {
    value: toml::Value,
    flags: Vec<OsString>,
    origin: String,
}

/// Adds the options of the file and of the environment to the command line. `None` for other commands, and for help.
pub(super) fn complete(
    program: &Command,
    args: &[OsString],
    environment: &[(OsString, OsString)],
) -> Result<Option<CompletedCommandLine>, CliError> {
    let name = args.get(1).and_then(|name| name.to_str());
    let Some((name, prefix)) = SERVERS
        .into_iter()
        .find(|(server, _)| Some(*server) == name)
    else {
        return Ok(None);
    };
    let Some(command) = program.find_subcommand(name) else {
        return Ok(None);
    };
    let given = GivenFlags::scan(&args[2..]);
    if given.is_help {
        return Ok(None);
    }
    let options: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| long_name(arg).is_some_and(|long| !FLAGS_ONLY.contains(&long)))
        .collect();
    reject_unknown_variables(&options, prefix, environment)?;
    let variable = |name: &str| {
        let found = environment.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value).filter(|it| !it.is_empty())
    };
    let file = given.value("config").map(OsStr::to_os_string);
    let file = file.or_else(|| variable(&format!("{prefix}CONFIG")).cloned());
    let file = file.map(PathBuf::from);
    let mut from_file = match &file {
        Some(path) => read_file(path, &options)?,
        None => Vec::new(),
    };

    let mut completed = CompletedCommandLine {
        args: args.to_vec(),
        settings: Vec::new(),
    };
    let mut added = Vec::new();
    for option in &options {
        let long = long_name(option).unwrap_or_default();
        let in_file = from_file.iter().position(|(name, _)| name == long);
        let in_file = in_file.map(|at| from_file.swap_remove(at).1);
        let variable_name = variable_name(prefix, long);
        let layer = if given.contains(long) {
            Some(flag_value(option, &given))
        } else if let Some(text) = variable(&variable_name) {
            let value = variable_value(option, &variable_name, text)?;
            added.extend(value.flags.iter().cloned());
            Some(value)
        } else if let Some(value) = in_file {
            added.extend(value.flags.iter().cloned());
            Some(value)
        } else {
            default_value(option)
        };
        completed.settings.extend(layer.map(|it| ServerSetting {
            key: key_of(long),
            value: it.value,
            origin: it.origin,
        }));
    }
    // Right after the command: `--` and what follows it stay at the end.
    completed.args.splice(2..2, added);
    Ok(Some(completed))
}

/// The origins of the options that an error of the parser names, for those that are not flags.
pub(super) fn origins_in(message: &str, settings: &[ServerSetting]) -> Vec<String> {
    let named = settings.iter().filter(|setting| {
        let flag = format!("--{}", setting.key.replace('_', "-"));
        let is_below = !setting.origin.starts_with("flag") && setting.origin != "default";
        let mut found = message.match_indices(&flag);
        is_below && found.any(|(at, _)| !continues_name(message, at + flag.len()))
    });
    let line = |it: &ServerSetting| format!("`{}` is set by {}", it.key, it.origin);
    named.map(line).collect()
}

/// Whether the name of a flag continues at this byte: `--tls` is not in `--tls-key`.
fn continues_name(message: &str, at: usize) -> bool {
    let next = message.as_bytes().get(at);
    next.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// The flags of the command line, without interpretation.
struct GivenFlags<'a> {
    flags: Vec<(&'a str, Option<&'a OsStr>)>,
    is_help: bool,
}

impl<'a> GivenFlags<'a> {
    fn scan(args: &'a [OsString]) -> Self {
        let end = args.iter().position(|arg| arg == "--");
        let args = &args[..end.unwrap_or(args.len())];
        let mut flags = Vec::new();
        for (at, arg) in args.iter().enumerate() {
            let Some(flag) = arg.to_str().and_then(|arg| arg.strip_prefix("--")) else {
                continue;
            };
            flags.push(match flag.split_once('=') {
                Some((name, value)) => (name, Some(OsStr::new(value))),
                None => (flag, args.get(at + 1).map(OsString::as_os_str)),
            });
        }
        let is_help = args.iter().any(|arg| arg == "-h" || arg == "--help");
        Self { flags, is_help }
    }

    fn contains(&self, long: &str) -> bool {
        self.flags.iter().any(|(name, _)| *name == long)
    }

    fn value(&self, long: &str) -> Option<&'a OsStr> {
        let found = self.flags.iter().find(|(name, _)| *name == long);
        found.and_then(|(_, value)| *value)
    }
}

fn long_name(arg: &Arg) -> Option<&str> {
    arg.get_long()
}

fn key_of(long: &str) -> String {
    long.replace('-', "_")
}

fn variable_name(prefix: &str, long: &str) -> String {
    format!("{prefix}{}", key_of(long).to_ascii_uppercase())
}

fn is_switch(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::SetTrue)
}

fn is_list(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::Append)
}

fn flag(long: &str, value: &OsStr) -> OsString {
    let mut flag = OsString::from(format!("--{long}="));
    flag.push(value);
    flag
}

fn flag_value(option: &Arg, given: &GivenFlags<'_>) -> LayerValue {
    let long = option.get_long().unwrap_or_default();
    let values = given.flags.iter().filter(|(name, _)| *name == long);
    let texts: Vec<String> = values
        .filter_map(|(_, value)| Some(value.as_ref()?.to_string_lossy().into_owned()))
        .collect();
    let value = if is_switch(option) {
        toml::Value::Boolean(true)
    } else if is_list(option) {
        let items = texts.iter().flat_map(|text| split_list(option, text));
        toml::Value::Array(items.map(|item| scalar_of(&item)).collect())
    } else {
        scalar_of(texts.last().map_or("", String::as_str))
    };
    LayerValue {
        value,
        flags: Vec::new(),
        origin: format!("flag --{long}"),
    }
}

fn default_value(option: &Arg) -> Option<LayerValue> {
    let text = option.get_default_values().first()?.to_str()?;
    let is_shown = !option.is_hide_set() && !is_switch(option);
    is_shown.then(|| LayerValue {
        value: scalar_of(text),
        flags: Vec::new(),
        origin: "default".to_owned(),
    })
}

fn split_list(option: &Arg, text: &str) -> Vec<String> {
    match option.get_value_delimiter() {
        Some(delimiter) => text.split(delimiter).map(str::to_owned).collect(),
        None => vec![text.to_owned()],
    }
}

/// Text as TOML: a number where it looks like one.
fn scalar_of(text: &str) -> toml::Value {
    let integer = text.parse().map(toml::Value::Integer).ok();
    let number = || text.parse().ok().filter(|it: &f64| it.is_finite());
    integer
        .or_else(|| number().map(toml::Value::Float))
        .unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

/// Reads a variable: `true` or `false` for a switch, and values with commas between them for a list.
fn variable_value(option: &Arg, name: &str, text: &OsStr) -> Result<LayerValue, CliError> {
    let long = option.get_long().unwrap_or_default();
    let text = text
        .to_str()
        .ok_or_else(|| CliError::usage(format!("{name}: not UTF-8")))?;
    let origin = format!("env {name}");
    if is_switch(option) {
        let is_on = match text {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => {
                return Err(CliError::usage(format!("{name}: invalid value `{text}`"))
                    .hint("use `true` or `false`"));
            }
        };
        return Ok(switch_value(long, is_on, origin));
    }
    let items: Vec<&str> = if is_list(option) {
        text.split(',').map(str::trim).collect()
    } else {
        vec![text]
    };
    let value = if is_list(option) {
        toml::Value::Array(items.iter().map(|item| scalar_of(item)).collect())
    } else {
        scalar_of(text)
    };
    let flags = items.iter().map(|item| flag(long, OsStr::new(item)));
    Ok(LayerValue {
        value,
        flags: flags.collect(),
        origin,
    })
}

fn switch_value(long: &str, is_on: bool, origin: String) -> LayerValue {
    LayerValue {
        value: toml::Value::Boolean(is_on),
        flags: is_on
            .then(|| OsString::from(format!("--{long}")))
            .into_iter()
            .collect(),
        origin,
    }
}

/// Reads the file: the values of its keys, by the long name of their option.
fn read_file(path: &Path, options: &[&Arg]) -> Result<Vec<(String, LayerValue)>, CliError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display())))?;
    let place = |offset: usize| {
        let before = text.get(..offset).unwrap_or_default();
        format!("{}:{}", path.display(), before.matches('\n').count() + 1)
    };
    let table = DeTable::parse(&text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        CliError::usage(format!("{}: {}", place(at), error.message()))
    })?;
    let mut values: Vec<(String, LayerValue)> = Vec::new();
    let mut entries = Vec::new();
    flatten_tables(table.into_inner(), "", &mut entries);
    for (key, offset, value) in entries {
        let at = place(offset);
        let found = options
            .iter()
            .find(|option| long_name(option).is_some_and(|long| key_of(long) == key));
        let Some(option) = found else {
            return Err(unknown_key(&at, &key, options));
        };
        let long = option.get_long().unwrap_or_default();
        if values.iter().any(|(name, _)| name == long) {
            return Err(CliError::usage(format!("{at}: `{key}` is set twice")));
        }
        let value = file_value(option, value, at)?;
        values.push((long.to_owned(), value));
    }
    Ok(values)
}

/// Lists the keys of a table and of the tables in it that contain options, with their offsets. The key of an option in a
/// table begins with the name of the table.
fn flatten_tables<'a>(
    table: DeTable<'a>,
    prefix: &str,
    entries: &mut Vec<(String, usize, DeValue<'a>)>,
) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        match value.into_inner() {
            DeValue::Table(inner) if TABLES.contains(&name.as_str()) => {
                flatten_tables(inner, &format!("{name}_"), entries);
            }
            value => entries.push((name, key.span().start, value)),
        }
    }
}

fn unknown_key(at: &str, key: &str, options: &[&Arg]) -> CliError {
    let error = CliError::usage(format!("{at}: unknown key `{key}`"));
    let keys: Vec<String> = options
        .iter()
        .filter(|option| !option.is_hide_set())
        .filter_map(|option| long_name(option).map(key_of))
        .collect();
    match nearest(key, keys.iter().map(String::as_str)) {
        Some(meant) => error.hint(format!("did you mean `{meant}`?")),
        None => error.hint(format!("valid keys: {}", keys.join(", "))),
    }
}

fn file_value(option: &Arg, value: DeValue<'_>, at: String) -> Result<LayerValue, CliError> {
    let long = option.get_long().unwrap_or_default();
    let invalid =
        |expected: &str| CliError::usage(format!("{at}: `{}` must be {expected}", key_of(long)));
    if is_switch(option) {
        let DeValue::Boolean(is_on) = value else {
            return Err(invalid("true or false"));
        };
        return Ok(switch_value(long, is_on, at));
    }
    let items = match value {
        DeValue::Array(items) if is_list(option) => items
            .into_iter()
            .map(|item| scalar_text(&item.into_inner()))
            .collect(),
        single => scalar_text(&single).map(|item| vec![item]),
    };
    let expected = if is_list(option) {
        "a list of texts"
    } else {
        "a text or a number"
    };
    let items: Vec<String> = items.ok_or_else(|| invalid(expected))?;
    let value = if is_list(option) {
        toml::Value::Array(items.iter().map(|item| scalar_of(item)).collect())
    } else {
        scalar_of(items.first().map_or("", String::as_str))
    };
    let flags = items.iter().map(|item| flag(long, OsStr::new(item)));
    Ok(LayerValue {
        value,
        flags: flags.collect(),
        origin: at,
    })
}

fn scalar_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Rejects a variable with our prefix that sets nothing. Variables that Kubernetes adds for a service of that name
/// are ignored.
fn reject_unknown_variables(
    options: &[&Arg],
    prefix: &str,
    environment: &[(OsString, OsString)],
) -> Result<(), CliError> {
    let mut names: Vec<String> = options
        .iter()
        .filter_map(|option| long_name(option).map(|long| variable_name(prefix, long)))
        .collect();
    names.push(format!("{prefix}CONFIG"));
    for (name, value) in environment {
        let Some(name) = name.to_str() else { continue };
        let Some(rest) = name.strip_prefix(prefix).filter(|_| !value.is_empty()) else {
            continue;
        };
        if names.iter().any(|known| known == name) || is_service_link(rest) {
            continue;
        }
        let error = CliError::usage(format!("unknown variable {name}"));
        let rests = names.iter().filter_map(|known| known.strip_prefix(prefix));
        return Err(match nearest(rest, rests) {
            Some(meant) => error.hint(format!("did you mean {prefix}{meant}?")),
            None => {
                error.hint("each option of `--help` has a variable of its name; unset this one")
            }
        });
    }
    Ok(())
}

/// Whether it is the rest of a variable such as `SELVEDGE_HUB_SERVICE_HOST` or `SELVEDGE_HUB_PORT_7700_TCP`, which
/// Kubernetes sets for a service named `selvedge-hub` or `selvedge-hub-…`.
fn is_service_link(rest: &str) -> bool {
    let rest = format!("_{rest}");
    let mut numbered_port = rest.split("_PORT_").skip(1);
    rest.contains("_SERVICE_HOST")
        || rest.contains("_SERVICE_PORT")
        || rest.ends_with("_PORT")
        || numbered_port.any(|after| after.starts_with(|it: char| it.is_ascii_digit()))
}

fn to_toml(settings: &[ServerSetting]) -> String {
    const MAX_COLUMN: usize = 48;
    let line = |it: &ServerSetting| format!("{} = {}", it.key, hide_password(&it.value));
    let lines: Vec<_> = settings.iter().map(|it| (line(it), &it.origin)).collect();
    let widths = lines.iter().map(|(line, _)| line.chars().count());
    let width = widths.filter(|width| *width <= MAX_COLUMN).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for (line, origin) in lines {
        let _ = writeln!(text, "{line:<width$}  # {origin}");
    }
    text
}

/// Replaces the password of a URL, before the host or as a parameter.
fn hide_password(value: &toml::Value) -> toml::Value {
    let hidden = value.as_str().and_then(|text| {
        let (scheme, rest) = text.split_once("://")?;
        let (user, rest) = match rest.rsplit_once('@') {
            Some((credentials, rest)) => (Some(credentials), rest),
            None => (None, rest),
        };
        let user = user.map(|it| match it.split_once(':') {
            Some((user, _)) => format!("{user}:<hidden>@"),
            None => format!("{it}@"),
        });
        let rest = match rest.split_once('?') {
            Some((path, query)) if query.contains("password") => format!("{path}?<hidden>"),
            _ => rest.to_owned(),
        };
        Some(format!("{scheme}://{}{rest}", user.unwrap_or_default()))
    });
    hidden.map_or_else(|| value.clone(), toml::Value::String)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_link_is_recognised() {
        for rest in [
            "PORT",
            "SERVICE_HOST",
            "SERVICE_PORT_HTTP",
            "PORT_7700_TCP_ADDR",
        ] {
            assert!(is_service_link(rest), "{rest}");
        }
        assert!(is_service_link("POSTGRESQL_PORT_5432_TCP"));
        for rest in ["LISTEN", "LISTN", "PORTS", "EXPORT_FILE"] {
            assert!(!is_service_link(rest), "{rest}");
        }
    }

    #[test]
    fn password_is_hidden_in_listing() {
        let shown = |text: &str| hide_password(&toml::Value::String(text.to_owned()));
        let url = shown("postgres://me:a/b:c@d@db.example/selvedge?sslmode=require");
        assert_eq!(
            url.as_str(),
            Some("postgres://me:<hidden>@db.example/selvedge?sslmode=require")
        );
        let url = shown("postgres://db.example/selvedge?user=me&password=secret");
        assert_eq!(
            url.as_str(),
            Some("postgres://db.example/selvedge?<hidden>")
        );
        let url = shown("postgres://me:secret@db.example/selvedge");
        assert_eq!(
            url.as_str(),
            Some("postgres://me:<hidden>@db.example/selvedge")
        );
        assert_eq!(
            shown("postgres://me@db/x").as_str(),
            Some("postgres://me@db/x")
        );
        assert_eq!(shown("/data/hub.db").as_str(), Some("/data/hub.db"));
    }
}
