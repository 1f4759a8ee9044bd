//! Compares the lines of two texts, in time that is bounded for every input.

use imara_diff::{Algorithm, Diff, InternedInput};

/// Indices of added and removed lines; a line of which only the indentation changed is not
/// included.
pub(super) fn diff(before: &[&str], after: &[&str]) -> (Vec<usize>, Vec<usize>) {
    let mut input: InternedInput<&str> = InternedInput::default();
    input.update_before(before.iter().map(|line| line.trim()));
    input.update_after(after.iter().map(|line| line.trim()));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let marked = |lines: &[&str], is_marked: &dyn Fn(u32) -> bool| {
        let indices = (0..lines.len()).zip(0_u32..);
        indices
            .filter(|(_, token)| is_marked(*token))
            .map(|(index, _)| index)
            .collect()
    };
    (
        marked(after, &|token| diff.is_added(token)),
        marked(before, &|token| diff.is_removed(token)),
    )
}
