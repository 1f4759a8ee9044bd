//! `cargo xtask dist`: the packages of a release, in `target/packages`. One program per target is packed
//! as an archive, a wheel, npm packages and a Debian package, without being compiled again; everything
//! else in the packages is a committed file or comes from `cargo metadata`, so that a package depends on
//! nothing but the source and the program. Times in packages are those of the last commit.

mod archive;
mod attestation;
mod debian;
mod image;
mod index;
mod licences;
mod npm;
mod package;
mod sbom;
mod target;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::Command;

use self::package::ReleasePackage;
use self::target::PackageTarget;
use crate::XtaskResult;
use crate::program::{self, cargo};
use crate::workspace::{self, CargoMetadata};

/// The largest permitted package of a program that was built for distribution, in bytes.
const MAX_PACKAGE_SIZE: u64 = 25_000_000;

const USAGE: &str = "\
usage: cargo xtask dist [--target TRIPLE]… [--program PATH] [--output DIR] [--compression 1-9]
       cargo xtask dist index [--output DIR]
       cargo xtask dist attest --check COMMAND… [--key FILE] [--program PATH] [--output DIR]
       cargo xtask dist image hub|worker [--base IMAGE] [--target TRIPLE] --tag TAG [--output DIR]";

/// Parsed options; each command rejects those that it does not use.
#[derive(Debug, Default)]
struct DistOptions<'a> {
    targets: Vec<&'a str>,
    program: Option<&'a str>,
    output: Option<&'a str>,
    checks: Vec<&'a str>,
    key: Option<&'a str>,
    base: Option<&'a str>,
    tag: Option<&'a str>,
    compression: Option<&'a str>,
}

pub(crate) fn run(args: &[&str]) -> XtaskResult {
    match args {
        ["index", rest @ ..] => {
            let options = DistOptions::parse(rest, &["--output"])?;
            index::write(&options.output_folder()?)
        }
        ["attest", rest @ ..] => {
            let known = ["--check", "--key", "--program", "--output"];
            let options = DistOptions::parse(rest, &known)?;
            let folder = options.output_folder()?;
            attestation::write(&folder, &options.checks, options.key, options.program)
        }
        ["image", role, rest @ ..] => {
            let options = DistOptions::parse(rest, &["--target", "--tag", "--base", "--output"])?;
            let target = options.single_target()?;
            let tag = options.tag.ok_or(USAGE)?;
            image::build(role, target, tag, options.base, &options.output_folder()?)
        }
        rest => {
            let known = ["--target", "--program", "--output", "--compression"];
            let options = DistOptions::parse(rest, &known)?;
            package_targets(&options)
        }
    }
}

fn package_targets(options: &DistOptions<'_>) -> XtaskResult {
    let folder = options.output_folder()?;
    let targets = options.all_targets()?;
    if options.program.is_some() && targets.len() > 1 {
        return Err(format!("--program is the program of one target\n\n{USAGE}").into());
    }
    for target in targets {
        let program = match options.program {
            Some(program) => PathBuf::from(program),
            None => build(target)?,
        };
        let package = ReleasePackage::new(target, &program, options.compression()?)?;
        let largest = write_packages(&package, &folder)?;
        if options.program.is_none() && largest > MAX_PACKAGE_SIZE {
            return Err(format!(
                "a package of {} has {:.1} MB, more than the limit of {:.0} MB",
                target.triple,
                megabytes(largest),
                megabytes(MAX_PACKAGE_SIZE)
            )
            .into());
        }
    }
    index::write(&folder)
}

/// Writes all packages of one program; returns the size of the largest one.
fn write_packages(package: &ReleasePackage, folder: &Path) -> XtaskResult<u64> {
    let target = package.target;
    println!("packages of {}:", target.triple);
    let mut written = vec![
        archive::write(package, folder)?,
        sbom::write(package, folder)?,
        wheel::write(package, folder)?,
    ];
    written.extend(npm::write(package, folder)?);
    written.extend(debian::write(package, folder)?);
    let mut largest = 0;
    for path in written {
        let size = std::fs::metadata(&path)?.len();
        println!("  {:>6.1} MB  {}", megabytes(size), path.display());
        largest = largest.max(size);
    }
    Ok(largest)
}

/// Compiles the program for a target, with zig as the linker where the system's cannot be used.
fn build(target: &PackageTarget) -> XtaskResult<PathBuf> {
    let subcommand = if target.needs_zig() {
        "zigbuild"
    } else {
        "build"
    };
    let mut build = cargo([
        subcommand,
        "--locked",
        "--profile",
        "dist",
        "--target",
        target.triple,
        "--package",
        "selvedge",
        "--bin",
        "selvedge",
    ]);
    program::run(&mut build).map_err(|error| {
        format!(
            "{error}\n`rustup target add {}` installs the target's library, and `pip install --requirement \
             packaging/requirements.txt` the linker and cargo-zigbuild",
            target.triple
        )
    })?;
    let program = CargoMetadata::workspace_only()?
        .target_directory
        .join(target.triple)
        .join("dist/selvedge");
    let size = std::fs::metadata(&program)?.len();
    println!("{}: {:.1} MB", program.display(), megabytes(size));
    Ok(program)
}

#[expect(clippy::cast_precision_loss, reason = "a size for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

impl<'a> DistOptions<'a> {
    fn parse(args: &[&'a str], known: &[&str]) -> XtaskResult<Self> {
        let mut options = Self::default();
        for pair in args.chunks(2) {
            let [name, value] = pair else {
                return Err(format!("{}: missing value\n\n{USAGE}", pair[0]).into());
            };
            match *name {
                name if !known.contains(&name) => {
                    return Err(format!("unknown option `{name}`\n\n{USAGE}").into());
                }
                "--target" => options.targets.push(value),
                "--program" => options.program = Some(value),
                "--output" => options.output = Some(value),
                "--check" => options.checks.push(value),
                "--key" => options.key = Some(value),
                "--base" => options.base = Some(value),
                "--compression" => options.compression = Some(value),
                _ => options.tag = Some(value),
            }
        }
        Ok(options)
    }

    /// The folder of the packages, which is created.
    fn output_folder(&self) -> XtaskResult<PathBuf> {
        let folder = match self.output {
            Some(folder) => PathBuf::from(folder),
            None => CargoMetadata::workspace_only()?
                .target_directory
                .join("packages"),
        };
        std::fs::create_dir_all(&folder)?;
        Ok(folder.canonicalize()?)
    }

    /// The named targets, or the one of this machine.
    fn all_targets(&self) -> XtaskResult<Vec<&'static PackageTarget>> {
        if self.targets.is_empty() {
            return Ok(vec![PackageTarget::find(&workspace::host_triple()?)?]);
        }
        self.targets
            .iter()
            .map(|it| PackageTarget::find(it))
            .collect()
    }

    /// The level of compression, the best one by default.
    fn compression(&self) -> XtaskResult<u32> {
        let level = self.compression.map_or(Ok(9), str::parse);
        let level = level.ok().filter(|level| (1..=9).contains(level));
        level.ok_or_else(|| format!("--compression is a number from 1 to 9\n\n{USAGE}").into())
    }

    fn single_target(&self) -> XtaskResult<&'static PackageTarget> {
        match self.all_targets()?.as_slice() {
            [target] => Ok(target),
            _ => Err(format!("one --target is expected\n\n{USAGE}").into()),
        }
    }
}

/// The time that files in packages get, in seconds since 1970.
fn source_time() -> XtaskResult<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => program::capture_output(
            Command::new("git")
                .args(["log", "-1", "--format=%ct"])
                .current_dir(workspace::root()),
        )
        .map_err(|error| format!("{error}\noutside of a git clone, set SOURCE_DATE_EPOCH"))?,
    };
    let seconds = text.trim().parse();
    Ok(seconds.map_err(|_| format!("SOURCE_DATE_EPOCH is not a number of seconds: `{text}`"))?)
}
