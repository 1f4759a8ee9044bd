//! Finds the part of a log that explains a failure, without knowing the tool that wrote it.
//!
//! [`weight`] estimates how much a single line indicates a failure; [`SalientLines`] keeps those lines and
//! the lines around them, in bounded memory; [`select`] ranks them once the whole log is known. Most tools
//! are unknown, so this must give good results on its own.

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
