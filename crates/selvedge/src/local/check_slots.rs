//! The slots for checks that all runs of this machine share.

use std::num::NonZeroUsize;

use selvedge_core::model::EnvironmentSpec;
use selvedge_engine::{CheckSlots, SLOT_VARIABLE};

use super::StateDir;
use crate::settings::environment;

/// Returns the slots that checks wait for; `None` if this process is part of a check, which holds a slot for it.
pub(crate) fn check_slots(spec: &EnvironmentSpec) -> Option<CheckSlots> {
    if std::env::var_os(SLOT_VARIABLE).is_some() {
        return None;
    }
    let home = StateDir::from_environment(&environment()).ok()?;
    let count = usize::try_from(spec.machine_checks).ok();
    Some(CheckSlots::new(
        home.root(),
        count.and_then(NonZeroUsize::new),
    ))
}
