//! The Debian package. `package.metadata.deb` in `crates/selvedge/Cargo.toml` lists its files and relations, in
//! cargo-deb's form, so that `cargo deb` in a checkout makes the same package from its own build. Written here, because
//! cargo-deb would have to be compiled first, and cannot be given a program.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use serde::Deserialize;

use super::package::{PACKAGE, PackageFile, ReleasePackage};
use crate::XtaskResult;
use crate::workspace;

const MANIFEST: &str = "crates/selvedge/Cargo.toml";
/// The program, where cargo-deb expects it.
const PROGRAM: &str = "target/release/selvedge";

#[derive(Debug, Deserialize)]
struct Manifest {
    package: ManifestPackage,
}

#[derive(Debug, Deserialize)]
struct ManifestPackage {
    metadata: ManifestMetadata,
}

#[derive(Debug, Deserialize)]
struct ManifestMetadata {
    deb: DebianSettings,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct DebianSettings {
    maintainer: String,
    section: String,
    depends: String,
    recommends: String,
    extended_description: String,
    /// Source, destination (a folder if it ends with `/`), mode.
    assets: Vec<[String; 3]>,
}

/// Writes the package, unless the target is not for Debian.
pub(super) fn write(package: &ReleasePackage, folder: &Path) -> XtaskResult<Option<PathBuf>> {
    let Some(architecture) = package.target.debian_architecture else {
        return Ok(None);
    };
    let manifest = std::fs::read_to_string(workspace::root().join(MANIFEST))?;
    let manifest: Manifest = toml::from_str(&manifest)?;
    let settings = manifest.package.metadata.deb;
    let files = installed_files(package, &settings)?;
    let control = PackageFile::new("control", control(package, &settings, architecture, &files));
    let path = folder.join(format!("{PACKAGE}_{}_{architecture}.deb", package.version));
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", tar_gz(&[control], package)?),
        ("data.tar.gz", tar_gz(&files, package)?),
    ];
    write_ar(&path, &members, package.time)?;
    Ok(Some(path))
}

/// The files with their installed paths, sorted.
fn installed_files(
    package: &ReleasePackage,
    settings: &DebianSettings,
) -> XtaskResult<Vec<PackageFile>> {
    let base = workspace::root().join("crates/selvedge");
    let mut files = Vec::new();
    for [source, destination, mode] in &settings.assets {
        for (name, contents) in read_asset(&base, source, package)? {
            let mut path = destination.clone();
            if path.ends_with('/') {
                path.push_str(&name);
            }
            let mut file = PackageFile::new(path, contents);
            file.is_executable = mode == "755";
            // As Debian's policy asks for.
            if file.path.starts_with("usr/share/man/") {
                file.contents = gzip(&file.contents)?;
                file.path.push_str(".gz");
            }
            files.push(file);
        }
    }
    let licences = package.licence_files().map(|it| it.contents.as_slice());
    let copyright = licences.collect::<Vec<_>>().join(&b"\n\n"[..]);
    files.push(PackageFile::new(
        "usr/share/doc/selvedge/copyright",
        copyright,
    ));
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// The files of an asset: the program, a file, or all files in a folder with an extension (`FOLDER/*.EXTENSION`).
fn read_asset(
    base: &Path,
    source: &str,
    package: &ReleasePackage,
) -> XtaskResult<Vec<(String, Vec<u8>)>> {
    if source == PROGRAM {
        return Ok(vec![(PACKAGE.to_owned(), package.program.clone())]);
    }
    let paths: Vec<PathBuf> = match source.split_once("/*") {
        Some((folder, suffix)) => std::fs::read_dir(base.join(folder))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.to_string_lossy().ends_with(suffix))
            .collect(),
        None => vec![base.join(source)],
    };
    let read = paths.into_iter().map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let contents = std::fs::read(&path);
        let contents = contents.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok((name.into_owned(), contents))
    });
    read.collect()
}

fn control(
    package: &ReleasePackage,
    settings: &DebianSettings,
    architecture: &str,
    files: &[PackageFile],
) -> String {
    let ReleasePackage {
        version,
        description,
        repository,
        ..
    } = package;
    let kibibytes = files
        .iter()
        .map(|file| file.contents.len().div_ceil(1024))
        .sum::<usize>();
    // A static program needs no library; that of another target needs at least libc.
    let libraries = if package.target.is_static() {
        ""
    } else {
        ", libc6"
    };
    let DebianSettings {
        maintainer,
        section,
        depends,
        recommends,
        extended_description,
        ..
    } = settings;
    let depends = depends.replace(", $auto", libraries);
    format!(
        "Package: {PACKAGE}\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {maintainer}\n\
         Installed-Size: {kibibytes}\nDepends: {depends}\nRecommends: {recommends}\nSection: {section}\n\
         Priority: optional\nHomepage: {repository}\nDescription: {description}\n {extended_description}\n"
    )
}

/// Packs files with the folders that contain them.
fn tar_gz(files: &[PackageFile], package: &ReleasePackage) -> XtaskResult<Vec<u8>> {
    let encoder = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::new(package.compression));
    let mut archive = tar::Builder::new(encoder);
    let header = |size: u64, mode: u32, kind: tar::EntryType| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(mode);
        header.set_mtime(package.time);
        header.set_uid(0);
        header.set_gid(0);
        header
    };
    let mut folders: Vec<&str> = Vec::new();
    for file in files {
        let slashes = file
            .path
            .match_indices('/')
            .map(|(at, _)| &file.path[..=at]);
        for folder in slashes {
            if !folders.contains(&folder) {
                folders.push(folder);
                let mut header = header(0, 0o755, tar::EntryType::Directory);
                archive.append_data(&mut header, format!("./{folder}"), [].as_slice())?;
            }
        }
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        let size = u64::try_from(file.contents.len())?;
        let mut header = header(size, mode, tar::EntryType::Regular);
        archive.append_data(
            &mut header,
            format!("./{}", file.path),
            file.contents.as_slice(),
        )?;
    }
    Ok(archive.into_inner()?.finish()?)
}

fn gzip(contents: &[u8]) -> XtaskResult<Vec<u8>> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    encoder.write_all(contents)?;
    Ok(encoder.finish()?)
}

/// Writes an `ar` archive: headers of 60 characters, and members of an even length.
fn write_ar(path: &Path, members: &[(&str, Vec<u8>)], time: u64) -> XtaskResult {
    let mut file = File::create(path)?;
    file.write_all(b"!<arch>\n")?;
    for (name, contents) in members {
        let size = contents.len();
        writeln!(
            file,
            "{name:<16}{time:<12}{:<6}{:<6}{:<8}{size:<10}`",
            0, 0, "100644"
        )?;
        file.write_all(contents)?;
        if size % 2 == 1 {
            file.write_all(b"\n")?;
        }
    }
    file.sync_all()?;
    Ok(())
}
