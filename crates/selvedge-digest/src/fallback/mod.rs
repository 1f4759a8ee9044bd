//! The part of a log that explains a failure, found without knowing the tool that wrote it.
//!
//! [`weight`] says how much a line by itself speaks of a failure; [`SalientLines`] keeps the lines that
//! do, with those around them, in bounded memory; [`select`] weighs them against each other once
//! the whole log is known. Unknown tools are most of the world, so this must be good on its own.

mod boundary;
mod salient_lines;
mod select;
mod template;
mod weight;

use boundary::{CommandBoundary, command_boundary, is_marker};
pub(crate) use salient_lines::{KeptLines, RecentLine, SalientLines};
pub(crate) use select::{RankedLine, rank};
pub(crate) use template::template;
use weight::{is_chatter, message, weight};
