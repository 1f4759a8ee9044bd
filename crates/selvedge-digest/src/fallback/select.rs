//! Ranks the kept lines, now that the whole log is known.

use std::ops::RangeInclusive;

use super::salient_lines::{KeptLine, KeptLines};
use super::{CommandBoundary, is_chatter, is_marker, message, template};
use crate::hash::QuickMap;

/// A line of the log, and how much it explains the failure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RankedLine {
    /// Its number in the cleaned log.
    pub(crate) number: u64,
    pub(crate) text: String,
    /// Comparable within one log only.
    pub(crate) value: f32,
}

/// Maximum number of lines that are rendered.
const MAX_LINES: usize = 800;
/// Number of lines after and before a salient line that gain value from it.
const AFTER: usize = 12;
const BEFORE: usize = 4;

/// Maximum distance to a new line at which lines of the last passing output are still shown.
const NEW_LINE_DISTANCE: usize = 2;

/// Returns the most salient lines in the order of the log, and the number of lines with a message about a
/// place in a file. `claimed` are the lines of recorded failures, in order.
pub(crate) fn rank(lines: KeptLines, claimed: &[RangeInclusive<u64>]) -> (Vec<RankedLine>, u64) {
    let mut own: Vec<f32> = lines
        .kept
        .iter()
        .map(|kept| own_value(kept, &lines))
        .collect();
    discount_passed_commands(&lines.kept, &mut own);
    let placed = fold_messages(&lines.kept, &mut own);
    let mut values = own.clone();
    for (index, &value) in own.iter().enumerate().filter(|(_, value)| **value > 0.0) {
        spread_value(&lines.kept, &mut values, index, value);
    }
    raise_final_output(&lines, &mut values);
    let is_new = is_near_new_line(&lines);
    fold_repeats(&lines.kept, &mut values);
    let mut passages: Vec<RankedLine> = lines
        .kept
        .into_iter()
        .zip(values)
        .zip(is_new)
        .filter(|((kept, _), is_new)| {
            *is_new && has_content(&kept.text) && !is_claimed(kept.number, claimed)
        })
        .map(|((kept, value), _)| RankedLine {
            number: kept.number,
            text: kept.text,
            value,
        })
        .collect();
    passages.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.number.cmp(&b.number)));
    passages.truncate(MAX_LINES);
    passages.sort_by_key(|passage| passage.number);
    (passages, placed)
}

/// The value of a line: its weight, adjusted by its position in the log.
fn own_value(kept: &KeptLine, lines: &KeptLines) -> f32 {
    let weight = f32::from(u16::try_from(kept.weight).unwrap_or(u16::MAX));
    let place = match lines.first_failed {
        Some(failed) if kept.number > failed + 3 => 0.7,
        Some(_) if kept.number >= lines.failed_command => 1.3,
        Some(_) => 0.6,
        None => 1.0,
    };
    let repeat = match kept.repeat {
        0 => 1.0,
        1..4 => 0.8,
        4..12 => 0.6,
        _ => 0.35,
    };
    weight * place * repeat
}

/// Lowers the value of output of commands that reported success.
fn discount_passed_commands(kept: &[KeptLine], values: &mut [f32]) {
    let mut passed = false;
    for (line, value) in kept.iter().zip(values).rev() {
        match line.boundary {
            Some(CommandBoundary::Passed) => passed = true,
            Some(_) => passed = false,
            None => {}
        }
        if passed {
            *value *= 0.35;
        }
    }
}

/// Adds a part of a line's value to its neighbours: more to the lines after it, and further if they are
/// indented below it, as stack frames and source excerpts are.
fn spread_value(kept: &[KeptLine], values: &mut [f32], index: usize, value: f32) {
    let mut light = value * 0.75;
    let indent = indent_of(&kept[index].text);
    for next in index + 1..kept.len().min(index + 1 + AFTER) {
        if kept[next].number > kept[next - 1].number + 2 {
            break;
        }
        if kept[next].text.is_empty() {
            light *= 0.75;
            continue;
        }
        if kept[next].boundary == Some(CommandBoundary::Begin) {
            break;
        }
        values[next] = values[next].max(light);
        light *= if indent_of(&kept[next].text) > indent {
            0.92
        } else {
            0.85
        };
    }
    let mut light = value * 0.5;
    for previous in (index.saturating_sub(BEFORE)..index).rev() {
        if kept[previous].number + 2 < kept[previous + 1].number || kept[previous].text.is_empty() {
            break;
        }
        values[previous] = values[previous].max(light);
        light *= 0.7;
    }
}

/// Raises the output just before a command failed, which explains the failure even without a salient word.
fn raise_final_output(lines: &KeptLines, values: &mut [f32]) {
    let end = lines.first_failed.unwrap_or(lines.total);
    let mut light = if lines.first_failed.is_some() {
        5.0
    } else {
        3.0
    };
    for (kept, value) in lines.kept.iter().zip(values).rev() {
        if kept.number > end || !has_content(&kept.text) || is_chatter(&kept.text) {
            continue;
        }
        if light < 0.5 || kept.number < lines.failed_command {
            break;
        }
        *value = value.max(light);
        light *= 0.93;
    }
}

/// Lowers the value of lines that resemble an earlier one.
fn fold_repeats(kept: &[KeptLine], values: &mut [f32]) {
    let mut seen: QuickMap<u64, u16> = QuickMap::default();
    for (line, value) in kept.iter().zip(values) {
        let times = seen.entry(template(&line.text)).or_default();
        *value /= 1.0 + 0.25 * f32::from(*times);
        *times = times.saturating_add(1);
    }
}

/// Whether a line has content: rulers and frames of tools and markers of CI services do not.
fn has_content(text: &str) -> bool {
    let drawn = |c: char| !c.is_alphanumeric() && c != '^';
    let rest = ["[ERROR]", "[INFO]", "[WARNING]"]
        .iter()
        .find_map(|mark| text.strip_prefix(mark));
    !rest.unwrap_or(text).chars().all(drawn) && !is_marker(text)
}

/// For each line, whether it is new since the last passing output, or near a new one. If nothing is new, all
/// lines count.
fn is_near_new_line(lines: &KeptLines) -> Vec<bool> {
    let new =
        |kept: &KeptLine| !kept.text.is_empty() && !lines.passing_output.contains_line(&kept.text);
    let new: Vec<bool> = lines.kept.iter().map(new).collect();
    if !new.contains(&true) {
        return vec![true; new.len()];
    }
    (0..new.len())
        .map(|index| {
            let end = new.len().min(index + NEW_LINE_DISTANCE + 1);
            new[index.saturating_sub(NEW_LINE_DISTANCE)..end].contains(&true)
        })
        .collect()
}

/// Lowers the value of messages that repeat for further places. Returns the number of lines with a message
/// about a place, without stack frames.
fn fold_messages(kept: &[KeptLine], values: &mut [f32]) -> u64 {
    let mut placed = 0;
    let mut seen: QuickMap<u64, u16> = QuickMap::default();
    for (line, value) in kept.iter().zip(values).filter(|(_, value)| **value > 0.0) {
        if let Some(message_text) = message(&line.text) {
            let times = seen.entry(template(message_text)).or_default();
            *value /= 1.0 + 0.25 * f32::from(*times);
            *times = times.saturating_add(1);
            placed += u64::from(!line.text.starts_with([' ', '\t']) && !message_text.is_empty());
        }
    }
    placed
}

fn is_claimed(number: u64, claimed: &[RangeInclusive<u64>]) -> bool {
    let next = claimed.partition_point(|lines| *lines.start() <= number);
    // Ranges may overlap, so the one that begins last does not always contain the line.
    claimed[..next]
        .iter()
        .rev()
        .take(8)
        .any(|lines| lines.contains(&number))
}

fn indent_of(text: &str) -> usize {
    text.len() - text.trim_start().len()
}
