//! INI as Python's `configparser` reads it, as settings: `section.key`, with continuation lines.

use super::settings::Settings;

/// Total: what is neither a section nor a key is the continuation of the last value, or nothing.
pub(super) fn read(text: &str) -> Settings {
    let mut settings = Settings::new();
    let mut section = String::new();
    let mut last: Option<String> = None;
    for line in text.lines() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) {
            continue;
        }
        let indented = line.starts_with([' ', '\t']);
        if let Some(key) = last.as_ref().filter(|_| indented) {
            if let Some(value) = settings.get_mut(key) {
                value.push('\n');
                value.push_str(bare);
            }
            continue;
        }
        if let Some(name) = bare
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            name.trim().clone_into(&mut section);
            last = None;
            continue;
        }
        let (name, value) = bare
            .split_once(['=', ':'])
            .map_or((bare, ""), |(name, value)| (name.trim(), value.trim()));
        let key = format!("{section}.{}", name.to_lowercase());
        settings.insert(key.clone(), value.to_owned());
        last = Some(key);
    }
    settings
}

#[cfg(test)]
mod tests {
    #[test]
    fn sections_keys_and_continuations() {
        let text = "; c\n[tool:pytest]\naddopts = -q\n  --strict\n\n[flake8]\nignore: E1\n";
        let settings = super::read(text);
        let lines: Vec<String> = settings.iter().map(|(k, v)| format!("{k}={v:?}")).collect();
        assert_eq!(
            lines,
            [
                r#"flake8.ignore="E1""#,
                r#"tool:pytest.addopts="-q\n--strict""#
            ]
        );
    }
}
