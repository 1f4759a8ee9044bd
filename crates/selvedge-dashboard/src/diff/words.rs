//! Finds the words that differ between a removed line and the added line that replaces it.

use std::ops::Range;
use std::time::{Duration, Instant};

use imara_diff::{Algorithm, Diff, InternedInput};

use super::{DiffLineKind, FileDiff};

/// How long the words of all files of a page are compared.
const TIME_LIMIT: Duration = Duration::from_millis(300);
/// How many added lines are considered for a removed line.
const WINDOW: usize = 6;
/// Lines with more words are not compared.
const MAX_WORDS: usize = 400;

/// Until when the words of a page that is rendered now are compared.
pub fn words_deadline() -> Instant {
    Instant::now() + TIME_LIMIT
}

/// The changed words of each line, in bytes, in the order of the lines. `texts` has the text of each row. The lines that
/// are left at the deadline are not marked.
pub fn changed_words(
    file: &FileDiff,
    texts: &[String],
    deadline: Instant,
) -> Vec<Vec<Range<usize>>> {
    let mut marks = vec![Vec::new(); texts.len()];
    let kind = |at: usize| file.rows.get(at).map(|row| row.kind);
    let count = |from: usize, wanted: DiffLineKind| {
        let run = (from..texts.len()).take_while(|at| kind(*at) == Some(wanted));
        run.count()
    };
    let mut at = 0;
    while at < texts.len() && Instant::now() < deadline {
        let removed = count(at, DiffLineKind::Removed);
        let added = count(at + removed, DiffLineKind::Added);
        let (middle, end) = (at + removed, at + removed + added);
        let mut next = middle;
        for before in at..middle {
            let window = next..end.min(next + WINDOW);
            let Some((after, pair)) = most_similar(texts, before, window, deadline) else {
                continue;
            };
            for (line, ranges) in [before, after].into_iter().zip(pair) {
                if let Some(place) = marks.get_mut(line) {
                    *place = ranges;
                }
            }
            next = after + 1;
        }
        at = end.max(at + 1);
    }
    marks
}

/// The changed words of both lines.
type ChangedPair = [Vec<Range<usize>>; 2];

/// The line of `window` that is most similar to `before`, if one is similar enough, and what differs.
fn most_similar(
    texts: &[String],
    before: usize,
    window: Range<usize>,
    deadline: Instant,
) -> Option<(usize, ChangedPair)> {
    if Instant::now() >= deadline {
        return None;
    }
    let old = texts.get(before)?;
    let candidates = window.filter_map(|at| {
        let (share, pair) = compare(old, texts.get(at)?)?;
        Some((share, at, pair))
    });
    // Of equal ones the first.
    let best = candidates.reduce(|best, it| if it.0 > best.0 { it } else { best });
    best.map(|(_, at, pair)| (at, pair))
}

/// The share of the words that two lines have in common, in percent, and what differs. `None` if they have too little in
/// common, or nothing differs.
fn compare(old: &str, new: &str) -> Option<(usize, ChangedPair)> {
    let words = [split_words(old), split_words(new)];
    if words.iter().any(|words| words.len() > MAX_WORDS) || old == new {
        return None;
    }
    let mut input = InternedInput::default();
    input.update_before(words[0].iter().filter_map(|range| old.get(range.clone())));
    input.update_after(words[1].iter().filter_map(|range| new.get(range.clone())));
    let diff = Diff::compute(Algorithm::Myers, &input);
    let mut changed: ChangedPair = [Vec::new(), Vec::new()];
    let mut common = 0;
    for (index, range) in (0..).zip(&words[0]) {
        if diff.is_removed(index) {
            join(&mut changed[0], range);
        } else {
            common += old.get(range.clone()).map_or(0, |word| word.trim().len());
        }
    }
    for (index, range) in (0..).zip(&words[1]) {
        if diff.is_added(index) {
            join(&mut changed[1], range);
        }
    }
    // Spaces are words, too, but no similarity.
    let length = |line: &str| line.split_whitespace().map(str::len).sum::<usize>();
    let longest = length(old).max(length(new)).max(1);
    let share = common * 100 / longest;
    (share >= 35).then_some((share, changed))
}

/// Adds a range, joined with the one before if they touch.
fn join(ranges: &mut Vec<Range<usize>>, next: &Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end >= next.start => last.end = next.end,
        _ => ranges.push(next.clone()),
    }
}

/// Words, runs of spaces, and every other character by itself.
fn split_words(line: &str) -> Vec<Range<usize>> {
    let class = |it: char| match it {
        '_' => 0,
        _ if it.is_alphanumeric() => 0,
        _ if it.is_whitespace() => 1,
        _ => 2,
    };
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut before = None;
    for (at, character) in line.char_indices() {
        let end = at + character.len_utf8();
        let class = class(character);
        match words.last_mut() {
            Some(word) if before == Some(class) && class != 2 => word.end = end,
            _ => words.push(at..end),
        }
        before = Some(class);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::parse_diff;
    use super::*;

    fn marked(diff: &str, deadline: Instant) -> Vec<Vec<String>> {
        let file = &parse_diff(diff.as_bytes())[0];
        let texts = file.rows.iter();
        let texts: Vec<String> = texts
            .map(|row| String::from_utf8(row.text.clone()).unwrap())
            .collect();
        let marks = changed_words(file, &texts, deadline);
        let words = marks.iter().zip(&texts);
        let words = words.map(|(ranges, text)| {
            let each = ranges.iter().map(|range| text[range.clone()].to_owned());
            each.collect()
        });
        words.collect()
    }

    #[test]
    fn changed_words_are_marked_in_the_most_similar_lines() {
        let none: Vec<String> = Vec::new();
        let diff = "diff --git a/x b/x\n@@ -1,2 +1,3 @@\n-let sum = add(first, second);\n-old\n+// A comment\n+let sum = subtract(first, third);\n+entirely new\n";
        assert_eq!(
            marked(diff, Instant::now() + Duration::from_hours(1)),
            [
                none.clone(),
                vec!["add".to_owned(), "second".to_owned()],
                none.clone(),
                none.clone(),
                vec!["subtract".to_owned(), "third".to_owned()],
                none.clone(),
            ]
        );
        assert_eq!(marked(diff, Instant::now()), vec![none; 6], "too late");
    }
}
