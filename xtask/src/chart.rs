//! `cargo xtask chart`: checks the Helm chart with helm's and Kubernetes' own rules, for the default values and for each
//! file of `ci/`, and the alert rules with Prometheus' own and on sample series. The hub has to accept its rendered
//! configuration.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::XtaskResult;
use crate::program;
use crate::workspace;

const CHART: &str = "packaging/helm/selvedge";
const ALERTS: &str = "packaging/monitoring/alerts.yaml";
const ALERT_TESTS: &str = "packaging/monitoring/alerts-test.yaml";
/// Schemas of the resources that are not Kubernetes' own.
const CRD_SCHEMAS: &str = "https://raw.githubusercontent.com/datreeio/CRDs-catalog/main/\
     {{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json";

pub(crate) fn run() -> XtaskResult {
    let chart = workspace::root().join(CHART);
    let rendered = tempfile::tempdir()?;
    for values in values_files()? {
        let name = values
            .as_deref()
            .and_then(|path| path.file_stem())
            .map_or_else(|| OsString::from("default"), OsString::from);
        let mut options = Vec::new();
        if let Some(values) = values {
            options.extend([OsString::from("--values"), values.into()]);
        }
        program::run(
            Command::new("helm")
                .args(["lint", "--strict"])
                .arg(&chart)
                .args(&options),
        )?;
        let manifests = program::capture_output(
            Command::new("helm")
                .args(["template", "selvedge"])
                .arg(&chart)
                .args(["--namespace", "agents"])
                .args(&options),
        )?;
        if let Some(hub_config) = hub_config(&manifests)? {
            let config = tempfile::NamedTempFile::new()?;
            std::fs::write(config.path(), hub_config)?;
            program::run(
                program::cargo(["run", "--quiet", "--package", "selvedge", "--", "hub"])
                    .arg("--config")
                    .arg(config.path())
                    .arg("--print-config"),
            )?;
        }
        let file = rendered.path().join(name).with_extension("yaml");
        std::fs::write(file, manifests)?;
    }
    program::run(
        Command::new("kubeconform")
            .args(["-strict", "-summary", "-schema-location", "default"])
            .args(["-schema-location", CRD_SCHEMAS])
            .arg(rendered.path()),
    )?;
    program::run(
        Command::new("promtool")
            .args(["check", "rules"])
            .arg(workspace::root().join(ALERTS)),
    )?;
    program::run(
        Command::new("promtool")
            .args(["test", "rules"])
            .arg(workspace::root().join(ALERT_TESTS)),
    )
}

/// The hub's configuration file in the rendered manifests, if they have a hub: the lines of a block with an indentation
/// of four.
fn hub_config(manifests: &str) -> XtaskResult<Option<String>> {
    let has_hub = manifests.contains("templates/hub-deployment.yaml\n");
    let Some((_, block)) = manifests.split_once("  hub.toml: |\n") else {
        return if has_hub {
            Err("the rendered manifests have a hub without a block `hub.toml`".into())
        } else {
            Ok(None)
        };
    };
    let lines = block.lines().map_while(|line| line.strip_prefix("    "));
    Ok(Some(
        lines.fold(String::new(), |text, line| text + line + "\n"),
    ))
}

/// The default values, and every file of `ci/`.
fn values_files() -> XtaskResult<Vec<Option<PathBuf>>> {
    let mut files = vec![None];
    for entry in std::fs::read_dir(workspace::root().join(CHART).join("ci"))? {
        files.push(Some(entry?.path()));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::hub_config;

    #[test]
    fn hub_config_is_required_of_a_hub() {
        let worker = "# Source: selvedge/templates/worker-deployment.yaml\n";
        let hub = "# Source: selvedge/templates/hub-deployment.yaml\n";
        let config = "data:\n  hub.toml: |\n    a = 1\n    b = 2\n---\n";
        assert_eq!(hub_config(worker).unwrap(), None);
        let found = hub_config(&format!("{hub}{config}")).unwrap();
        assert_eq!(found.as_deref(), Some("a = 1\nb = 2\n"));
        let renamed = config.replace("hub.toml", "config.toml");
        assert!(hub_config(&format!("{hub}{renamed}")).is_err());
    }
}
