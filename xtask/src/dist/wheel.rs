//! A wheel that installs the program among the scripts of an environment (the binary distribution format
//! of Python's packages). `pip install .` in a checkout compiles instead, by maturin: `pyproject.toml`.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::package::{PACKAGE, PackageFile, ReleasePackage};
use crate::XtaskResult;

pub(super) fn write(package: &ReleasePackage, folder: &Path) -> XtaskResult<PathBuf> {
    let version = &package.version;
    let tag = format!("py3-none-{}", package.target.wheel_platform);
    let path = folder.join(format!("{PACKAGE}-{version}-{tag}.whl"));
    let info = format!("{PACKAGE}-{version}.dist-info");
    let script = format!("{PACKAGE}-{version}.data/scripts/{PACKAGE}");
    let mut files = vec![PackageFile::executable(script, package.program.clone())];
    for licence in package.licence_files() {
        let path = format!("{info}/licenses/{}", licence.path);
        files.push(PackageFile::new(path, licence.contents.clone()));
    }
    let sbom = format!("{info}/sboms/selvedge.cdx.json");
    files.push(PackageFile::new(sbom, package.sbom.clone()));
    files.push(PackageFile::new(
        format!("{info}/METADATA"),
        core_metadata(package)?,
    ));
    files.push(PackageFile::new(
        format!("{info}/WHEEL"),
        wheel_metadata(package),
    ));
    let record_path = format!("{info}/RECORD");
    let record = files.iter().map(|file| {
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(&file.contents));
        format!("{},sha256={hash},{}\n", file.path, file.contents.len())
    });
    let record = record.collect::<Vec<_>>().concat() + &format!("{record_path},,\n");
    files.push(PackageFile::new(record_path, record));

    let modified = zip_time(package.time)?;
    let mut archive = ZipWriter::new(File::create(&path)?);
    for file in &files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(package.compression.into()))
            .last_modified_time(modified)
            .unix_permissions(if file.is_executable { 0o755 } else { 0o644 });
        archive.start_file(&file.path, options)?;
        archive.write_all(&file.contents)?;
    }
    archive.finish()?.sync_all()?;
    Ok(path)
}

fn core_metadata(package: &ReleasePackage) -> XtaskResult<String> {
    let ReleasePackage {
        version,
        description,
        licence,
        repository,
        ..
    } = package;
    let licence_files: Vec<_> = package
        .licence_files()
        .map(|file| format!("License-File: {}\n", file.path))
        .collect();
    let licence_files = licence_files.concat();
    let readme = package.readme_with_absolute_links()?;
    Ok(format!(
        "Metadata-Version: 2.4\nName: {PACKAGE}\nVersion: {version}\nSummary: {description}\n\
         License-Expression: {licence}\n{licence_files}Project-URL: Source, {repository}\n\
         Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{readme}"
    ))
}

fn wheel_metadata(package: &ReleasePackage) -> String {
    let platforms = package.target.wheel_platform.split('.');
    let tags: Vec<_> = platforms
        .map(|platform| format!("Tag: py3-none-{platform}\n"))
        .collect();
    let tags = tags.concat();
    format!("Wheel-Version: 1.0\nGenerator: cargo-xtask-dist\nRoot-Is-Purelib: false\n{tags}")
}

/// Zip files have times without a zone and from 1980 on.
fn zip_time(time: u64) -> XtaskResult<DateTime> {
    let time = jiff::Timestamp::from_second(i64::try_from(time)?)?;
    let time = time.to_zoned(jiff::tz::TimeZone::UTC);
    let part = |value: i8| u8::try_from(value);
    Ok(DateTime::from_date_and_time(
        u16::try_from(time.year())?,
        part(time.month())?,
        part(time.day())?,
        part(time.hour())?,
        part(time.minute())?,
        part(time.second())?,
    )?)
}
