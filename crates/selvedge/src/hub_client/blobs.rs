//! Uploads files as blobs, named by the hash of their bytes, in chunks. An interrupted upload continues where it
//! stopped.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use reqwest::Method;
use reqwest::header::CONTENT_RANGE;
use selvedge_protocol::FileRef;
use sha2::{Digest, Sha256};

use super::error::HubError;
use super::http::HubClient;

/// Size of a chunk.
const CHUNK_BYTES: u64 = 1024 * 1024;
const OFFSET_HEADER: &str = "upload-offset";

impl HubClient {
    /// Uploads a file, unless the hub already has it.
    pub(crate) async fn upload(&self, path: &Path, file: &FileRef) -> Result<(), HubError> {
        let blob_path = format!("/blobs/{}", file.hash);
        let mut offset = match self.send(self.request(Method::HEAD, &blob_path, &[])).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_missing() => self.uploaded_bytes(&blob_path).await?,
            Err(error) => return Err(error),
        };
        loop {
            let (chunk, at) = (read_chunk(path, offset, file.size)?, offset);
            let end = at + chunk.len() as u64;
            let range = if chunk.is_empty() {
                format!("bytes */{}", file.size)
            } else {
                format!("bytes {at}-{}/{}", end - 1, file.size)
            };
            let request = self.request(Method::PUT, &blob_path, &[]);
            let request = request.header(CONTENT_RANGE, range).body(chunk);
            match self.send(request).await {
                Ok(_) if end >= file.size => return Ok(()),
                Ok(_) => offset = end,
                Err(HubError::Refused { status: 409, .. }) => {
                    // Another upload of the same blob has sent a part of it.
                    let uploaded = self.uploaded_bytes(&blob_path).await?;
                    if uploaded == at {
                        return Err(HubError::InvalidResponse(format!(
                            "blob {}: the hub rejects the offset {at} that it expects",
                            file.hash
                        )));
                    }
                    offset = uploaded;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The number of bytes that the hub has of an unfinished blob; `u64::MAX` if it is complete.
    async fn uploaded_bytes(&self, blob_path: &str) -> Result<u64, HubError> {
        let request = self.request(Method::HEAD, blob_path, &[]);
        let response = request
            .send()
            .await
            .map_err(|e| self.unreachable_error(&e))?;
        if response.status().is_success() {
            return Ok(u64::MAX);
        }
        let offset = response.headers().get(OFFSET_HEADER);
        let offset = offset.and_then(|it| it.to_str().ok()?.parse().ok());
        Ok(offset.unwrap_or(0))
    }
}

fn read_chunk(path: &Path, offset: u64, size: u64) -> Result<Vec<u8>, HubError> {
    let failed = |error: std::io::Error| HubError::File(format!("{}: {error}", path.display()));
    let length = size.saturating_sub(offset).min(CHUNK_BYTES);
    let mut file = File::open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(offset.min(size)))
        .map_err(failed)?;
    let mut chunk = Vec::new();
    file.take(length).read_to_end(&mut chunk).map_err(failed)?;
    if (chunk.len() as u64) < length {
        return Err(HubError::File(format!(
            "{}: the file was truncated during the upload",
            path.display()
        )));
    }
    Ok(chunk)
}

/// Describes a file for a hub. Blocks while it reads the whole file.
pub(crate) fn file_ref(name: &str, path: &Path) -> std::io::Result<FileRef> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut size = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
        size += read as u64;
    }
    let hash = hasher.finalize();
    Ok(FileRef {
        name: name.to_owned(),
        hash: hash.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
        size,
    })
}
