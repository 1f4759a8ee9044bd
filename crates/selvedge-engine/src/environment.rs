//! Environments of processes, and the protection of this process's own one: an agent or a check that runs without a
//! sandbox can read what the kernel shows of other processes of its user.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::OnceLock;

/// Environment variables by name.
pub type EnvironmentMap = BTreeMap<OsString, OsString>;

/// Our own environment, if its secrets were erased from the block that the kernel shows.
static INITIAL: OnceLock<EnvironmentMap> = OnceLock::new();

/// Our own environment, as this process was started with it.
pub fn host_env() -> EnvironmentMap {
    let current = || std::env::vars_os().collect();
    INITIAL.get().cloned().unwrap_or_else(current)
}

/// Hides this process from others of the same user: they can neither trace it, nor access its memory and descriptors,
/// nor read its environment. Values of secrets are also erased from the block of memory that contains the environment,
/// because root can always read that; later, only [`host_env`] returns them. Must be called before anything else, while
/// there is one thread.
///
/// What the kernel refuses is not an error: it concerns root, or a kernel without `/proc`.
pub fn protect_this_process() {
    #[cfg(target_os = "linux")]
    {
        let _ = INITIAL.set(host_env());
        // First, because afterwards an ordinary user cannot write the block either.
        let _ = initial_block::erase_secrets();
        let _ = deny_inspection();
    }
}

/// Makes the kernel refuse other processes of this user to trace this one, to access its memory and descriptors, and to
/// read its environment.
#[cfg(target_os = "linux")]
pub(crate) fn deny_inspection() -> std::io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Whether the kernel refuses that. It never refuses it to root.
#[cfg(target_os = "linux")]
pub fn is_this_process_protected() -> bool {
    use rustix::process::{DumpableBehavior, dumpable_behavior, geteuid};
    let is_hidden = dumpable_behavior().is_ok_and(|it| it == DumpableBehavior::NotDumpable);
    is_hidden && !geteuid().is_root()
}

/// Other systems show less, but this is not tested there.
#[cfg(not(target_os = "linux"))]
pub fn is_this_process_protected() -> bool {
    false
}

/// Does nothing on other systems, which do not show descriptors and environments this way.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn deny_inspection() -> std::io::Result<()> {
    Ok(())
}

/// The block of memory in which the kernel passes the environment to a program, and shows it in `/proc/PID/environ`.
#[cfg(target_os = "linux")]
mod initial_block {
    use std::fs::{self, File};
    use std::io;
    use std::ops::Range;
    use std::os::unix::fs::FileExt;

    use selvedge_core::redact::{is_secret_name, is_worth_redacting};

    /// Positions of the block's address and of its end in `/proc/self/stat`, counted from the field after the name.
    const START_FIELD: usize = 47;
    const END_FIELD: usize = 48;

    /// The kernel's own limit for arguments and environment is lower.
    const MAX_BLOCK_BYTES: u64 = 64 << 20;

    pub(super) fn erase_secrets() -> io::Result<()> {
        let (start, length) = block_location(&fs::read_to_string("/proc/self/stat")?)
            .ok_or(io::ErrorKind::InvalidData)?;
        let memory = File::options()
            .read(true)
            .write(true)
            .open("/proc/self/mem")?;
        let mut block = vec![0; length];
        memory.read_exact_at(&mut block, start)?;
        for value in secret_values(&block) {
            let zeros = vec![0; value.len()];
            memory.write_all_at(&zeros, start + value.start as u64)?;
        }
        Ok(())
    }

    /// Address and length of the block.
    fn block_location(stat: &str) -> Option<(u64, usize)> {
        // The name may contain spaces and parentheses.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let start: u64 = fields.nth(START_FIELD)?.parse().ok()?;
        let end: u64 = fields.nth(END_FIELD - START_FIELD - 1)?.parse().ok()?;
        let length = end.checked_sub(start)?;
        let is_plausible = start > 0 && length <= MAX_BLOCK_BYTES;
        Some((start, usize::try_from(length).ok()?)).filter(|_| is_plausible)
    }

    /// The positions of the secrets' values.
    fn secret_values(block: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut start = 0;
        for variable in block.split(|byte| *byte == 0) {
            let end = start + variable.len();
            if let Some(at) = memchr::memchr(b'=', variable) {
                let (name, value) = (&variable[..at], &variable[at + 1..]);
                if is_secret(&String::from_utf8_lossy(name), value) {
                    found.push(start + at + 1..end);
                }
            }
            start = end + 1;
        }
        found
    }

    /// Libraries read addresses of proxies from the block itself, so those stay.
    fn is_secret(name: &str, value: &[u8]) -> bool {
        let is_url_with_user = memchr::memmem::find(value, b"://").is_some()
            && memchr::memchr(b'@', value).is_some()
            && !name.to_ascii_lowercase().ends_with("proxy");
        is_url_with_user || (is_secret_name(name) && is_worth_redacting(value))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn initial_block_is_found_behind_any_name() {
            let fields: Vec<String> = (0..50).map(|field| field.to_string()).collect();
            let stat = format!("7 (a) b (c) {}", fields.join(" "));
            assert_eq!(block_location(&stat), Some((47, 1)));
            for stat in ["", "7 (a) S 1 2", &stat.replace(" 48", " 46")] {
                assert_eq!(block_location(stat), None, "{stat}");
            }
        }

        #[test]
        fn initial_block_secrets_are_values_only() {
            let block = b"PATH=/bin\0DEPLOY_KEY=s3cret-value\0EMPTY_TOKEN=\0SSH_AUTH_SOCK=/run/agent\0DATABASE_URL=postgres://me:pw@host/db\0https_proxy=http://me:pw@host\0NONE\0";
            let values = secret_values(block);
            let values: Vec<&[u8]> = values.into_iter().map(|value| &block[value]).collect();
            let expect: [&[u8]; 2] = [b"s3cret-value", b"postgres://me:pw@host/db"];
            assert_eq!(values, expect);
        }
    }
}
