//! The home of one session of Gemini CLI: the user's settings over our defaults, and links to
//! everything else that the user keeps in `.gemini` (logins, extensions, commands, memory).

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::Path;

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

use crate::removal::remove_all;

const CONFIG_FOLDER: &str = ".gemini";
const SETTINGS_FILE: &str = "settings.json";

/// Creates the home, replacing one that an earlier session left. `users` is the folder that holds the
/// user's own `.gemini`, which need not exist.
pub(super) fn create(home: &Path, users: Option<&Path>, defaults: Value) -> io::Result<()> {
    let folder = home.join(CONFIG_FOLDER);
    remove_all(home)?;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)?;
    let users = users.map(|users| users.join(CONFIG_FOLDER));
    let settings = users.as_deref().map(|users| users.join(SETTINGS_FILE));
    let text = settings
        .as_deref()
        .and_then(|path| fs::read_to_string(path).ok());
    let merged = text.as_deref().map_or(Some(Value::Null), parse);
    // Settings that cannot be read are linked like the rest, so that Gemini CLI reports them.
    if let Some(own) = merged.map(|own| merge(defaults, own)) {
        fs::write(folder.join(SETTINGS_FILE), own.to_string())?;
    }
    let entries = users.and_then(|users| fs::read_dir(users).ok());
    for entry in entries.into_iter().flatten().flatten() {
        match symlink(entry.path(), folder.join(entry.file_name())) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Settings may contain comments.
fn parse(text: &str) -> Option<Value> {
    let value: Value = parse_to_serde_value(text, &ParseOptions::default()).ok()?;
    value.is_object().then_some(value)
}

/// `over` wins; objects are merged by key.
pub(in crate::agents) fn merge(under: Value, over: Value) -> Value {
    match (under, over) {
        (under, Value::Null) => under,
        (Value::Object(mut under), Value::Object(over)) => {
            for (key, value) in over {
                let below = under.remove(&key).unwrap_or(Value::Null);
                under.insert(key, merge(below, value));
            }
            Value::Object(under)
        }
        (_, over) => over,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn session_home_merges_settings_and_links_the_rest() {
        let root = tempfile::tempdir().unwrap();
        let (home, users) = (root.path().join("run/home"), root.path().join("user"));
        let theirs = users.join(CONFIG_FOLDER);
        fs::create_dir_all(theirs.join("commands")).unwrap();
        fs::write(theirs.join("oauth_creds.json"), "{}").unwrap();
        let settings =
            "{\n// mine\n\"model\": {\"maxSessionTurns\": 3}, \"ui\": {\"theme\": \"x\"}}";
        fs::write(theirs.join(SETTINGS_FILE), settings).unwrap();
        let defaults = json!({"model": {"maxSessionTurns": 9, "name": "m"}, "general": {"a": 1}});
        // Twice: an API retry creates it again.
        for _ in 0..2 {
            create(&home, Some(&users), defaults.clone()).unwrap();
        }
        let own = home.join(CONFIG_FOLDER);
        let merged = fs::read_to_string(own.join(SETTINGS_FILE)).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&merged).unwrap(),
            json!({"model": {"maxSessionTurns": 3, "name": "m"}, "general": {"a": 1}, "ui": {"theme": "x"}})
        );
        for linked in ["commands", "oauth_creds.json"] {
            assert_eq!(
                fs::read_link(own.join(linked)).unwrap(),
                theirs.join(linked)
            );
        }
        assert_eq!(
            fs::read_to_string(theirs.join(SETTINGS_FILE)).unwrap(),
            settings
        );
        fs::write(theirs.join(SETTINGS_FILE), "no settings").unwrap();
        create(&home, Some(&users), defaults).unwrap();
        assert_eq!(
            fs::read_link(own.join(SETTINGS_FILE)).unwrap(),
            theirs.join(SETTINGS_FILE)
        );
        create(&home, Some(&root.path().join("nobody")), json!({"a": 1})).unwrap();
        assert_eq!(
            fs::read_to_string(own.join(SETTINGS_FILE)).unwrap(),
            "{\"a\":1}"
        );
    }
}
