//! Transfers a snapshot to another machine: its objects as one pack, without those of a snapshot that the other machine
//! has. Ids are hashes of bytes, so a damaged snapshot cannot be found by its id.

use selvedge_core::model::TreeId;

use super::Workspace;
use super::error::WorkspaceError;
use super::git;
use super::shadow::ShadowRepository;

const PACKING: &str = "pack a snapshot";
const TAKING: &str = "import a snapshot";

impl Workspace {
    /// Returns a snapshot's objects, except for those that `base` has too.
    ///
    /// # Errors
    /// One of the snapshots is unknown, or git fails.
    pub fn pack(&self, tree: &TreeId, base: Option<&TreeId>) -> Result<Vec<u8>, WorkspaceError> {
        let place = self.shadow.dir();
        let mut listing = self.git.command(place, place);
        listing.args(["rev-list", "--objects", "--no-object-names", tree.as_str()]);
        listing.args(base.map(|base| format!("^{base}")));
        let names = git::output_of(listing, PACKING, place)?;
        let mut packing = self.git.command(place, place);
        packing.args(["pack-objects", "--quiet", "--stdout"]);
        git::output_with_input(packing, names, PACKING, place)
    }

    /// Imports a pack and keeps the snapshot in it. Returns whether the complete snapshot exists now.
    ///
    /// # Errors
    /// The pack is invalid, the disk is full, or git fails.
    pub fn unpack(&self, pack: Vec<u8>, tree: &TreeId) -> Result<bool, WorkspaceError> {
        let place = self.shadow.dir();
        let lock = self.shadow.lock()?;
        let mut unpacking = self.git.command(place, place);
        unpacking.args(["unpack-objects", "-q"]);
        git::output_with_input(unpacking, pack, TAKING, place)?;
        // Git walks all objects, and fails if one is missing.
        let mut walking = self.git.command(place, place);
        walking.args(["rev-list", "--objects", "--quiet", tree.as_str()]);
        if !git::run(walking, TAKING, place)?.status.success() {
            return Ok(false);
        }
        let ref_name = ShadowRepository::kept_ref(&format!("adopted/{tree}"))?;
        self.shadow.set_ref(&self.git, &lock, &ref_name, tree)?;
        Ok(true)
    }
}
