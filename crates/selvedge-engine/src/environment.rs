//! Environments of processes.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Environment variables by name.
pub type EnvironmentMap = BTreeMap<OsString, OsString>;
