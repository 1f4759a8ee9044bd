//! A snapshot on its way to another machine: its objects as one pack, without those of a snapshot that is
//! known to be there. Names are hashes of bytes, so what arrives is what was sent, or is not found.

use super::Workspace;
use super::error::WorkspaceError;
use super::git;
use super::ids::SnapshotId;
use super::shadow::ShadowRepository;

const PACKING: &str = "pack a snapshot";
const TAKING: &str = "take over a snapshot";

impl Workspace {
    /// A snapshot's objects, but for those that `known` has too.
    ///
    /// # Errors
    /// One of the two is unknown here, or git fails.
    pub fn pack(
        &self,
        tree: &SnapshotId,
        known: Option<&SnapshotId>,
    ) -> Result<Vec<u8>, WorkspaceError> {
        let place = self.shadow.dir();
        let mut listing = self.git.command(place, place);
        listing.args(["rev-list", "--objects", "--no-object-names", tree.as_str()]);
        listing.args(known.map(|known| format!("^{known}")));
        let names = git::output_of(listing, PACKING, place)?;
        let mut packing = self.git.command(place, place);
        packing.args(["pack-objects", "--quiet", "--stdout"]);
        git::output_with_input(packing, names, PACKING, place)
    }

    /// Takes over a pack, and keeps the snapshot that is in it; whether it is here now, whole.
    ///
    /// # Errors
    /// The pack is none, the disk is full, or git fails.
    pub fn unpack(&self, pack: Vec<u8>, tree: &SnapshotId) -> Result<bool, WorkspaceError> {
        let place = self.shadow.dir();
        let held = self.shadow.lock()?;
        let mut unpacking = self.git.command(place, place);
        unpacking.args(["unpack-objects", "-q"]);
        git::output_with_input(unpacking, pack, TAKING, place)?;
        // Whole: git walks all of it, and fails where an object is missing.
        let mut walking = self.git.command(place, place);
        walking.args(["rev-list", "--objects", "--quiet", tree.as_str()]);
        if !git::run(walking, TAKING, place)?.status.success() {
            return Ok(false);
        }
        let kept = ShadowRepository::kept_ref(&format!("adopted/{tree}"))?;
        self.shadow.set_ref(&self.git, &held, &kept, tree)?;
        Ok(true)
    }
}
