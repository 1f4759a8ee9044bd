//! Salient lines that belong to no recognised failure, as far as they fit.

use std::collections::HashSet;

use super::count;
use super::writer::{DigestWriter, cost};
use crate::analysis::Analysis;

/// The most salient lines that belong to no recognised failure.
#[derive(Default)]
pub(super) struct RankedLineSelection {
    chosen: Vec<usize>,
}

impl RankedLineSelection {
    /// Selects lines of at least this value, most salient first, until at most `left` tokens remain.
    pub(super) fn choose(
        &mut self,
        analysis: &Analysis,
        page: &mut DigestWriter,
        least: f32,
        left: usize,
    ) {
        let value = |index: usize| analysis.ranked_lines[index].value;
        let text = |index: usize| analysis.ranked_lines[index].text.as_str();
        let mut order: Vec<usize> = (0..analysis.ranked_lines.len())
            .filter(|&index| value(index) >= least && !self.chosen.contains(&index))
            .collect();
        order.sort_by(|&a, &b| value(b).total_cmp(&value(a)));
        let mut shown: HashSet<&str> = self
            .chosen
            .iter()
            .map(|&index| text(index).trim())
            .collect();
        for index in order {
            let text = text(index);
            let price = cost(text) + 1;
            if shown.insert(text.trim())
                && !page.contains(text)
                && price + left <= page.remaining_tokens()
                && page.reserve(price)
            {
                self.chosen.push(index);
            }
            if page.remaining_tokens() < left + 6 {
                break;
            }
        }
    }

    /// Writes the selected lines in the order of the log. Returns their number.
    pub(super) fn write(mut self, analysis: &Analysis, page: &mut DigestWriter) -> u64 {
        self.chosen.sort_unstable();
        let mut last = 0;
        for &index in &self.chosen {
            let passage = &analysis.ranked_lines[index];
            if passage.number > last + 3 && last > 0 {
                page.write("…");
            }
            last = passage.number;
            page.write(&passage.text);
        }
        count(self.chosen.len())
    }
}
