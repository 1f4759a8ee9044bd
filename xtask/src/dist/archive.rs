//! Archives that depend on nothing but their contents: sorted files, fixed times and owners.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};

use super::package::{PackageFile, ReleasePackage};
use crate::XtaskResult;

pub(super) fn write(package: &ReleasePackage, folder: &Path) -> XtaskResult<PathBuf> {
    let path = folder.join(format!("{}.tar.gz", package.archive_name()));
    let files = package.archive_files();
    write_tar_gz(&path, &files, package.time, package.compression)?;
    Ok(path)
}

pub(super) fn write_tar_gz(
    path: &Path,
    files: &[PackageFile],
    time: u64,
    compression: u32,
) -> XtaskResult {
    let file = BufWriter::new(File::create(path)?);
    let encoder = GzBuilder::new()
        .mtime(0)
        .write(file, Compression::new(compression));
    let mut archive = tar::Builder::new(encoder);
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(file.contents.len())?);
        header.set_mode(if file.is_executable { 0o755 } else { 0o644 });
        header.set_mtime(time);
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, &file.path, file.contents.as_slice())?;
    }
    // Dropping the writer would hide an error of the last write.
    archive.into_inner()?.finish()?.into_inner()?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_depends_on_its_contents_only() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            PackageFile::executable("a/program", "\x7fELF"),
            PackageFile::new("a/README", "text"),
        ];
        let write = |name: &str| {
            let path = folder.path().join(name);
            write_tar_gz(&path, &files, 1_700_000_000, 9).unwrap();
            std::fs::read(path).unwrap()
        };
        let first = write("first.tar.gz");
        assert_eq!(first, write("second.tar.gz"));
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(first.as_slice()));
        let entries: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let header = entry.unwrap().header().clone();
                let path = header.path().unwrap().display().to_string();
                (path, header.mode().unwrap(), header.mtime().unwrap())
            })
            .collect();
        assert_eq!(
            entries,
            [
                ("a/program".to_owned(), 0o755, 1_700_000_000),
                ("a/README".to_owned(), 0o644, 1_700_000_000)
            ]
        );
    }
}
