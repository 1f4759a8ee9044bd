//! Combines judges' answers. A majority of votes passes; a unanimous rejection fails; any other or uncertain result
//! needs a person.

use crate::model::{GateReport, Judgement};

/// Combines the answers of a tier for which `votes` judges were asked. An invalid answer does not count as a vote, and
/// lowers the confidence.
pub fn summarize_votes(tier: u8, votes: u32, judgements: Vec<Judgement>, floor: f64) -> GateReport {
    let count = VoteCount::of(&judgements);
    let mut report = GateReport {
        tier,
        judgements,
        ..GateReport::default()
    };
    if count.yes + count.no == 0 {
        let mut errors = report
            .judgements
            .iter()
            .filter_map(|it| it.error.as_deref());
        let why = errors.next_back().unwrap_or("no judge was asked");
        report.error = Some(why.to_owned());
        return report;
    }
    if count.is_majority(votes) {
        let confidence = match &report.judgements[..] {
            [only] if votes == 1 => only.confidence.unwrap_or_default(),
            _ => fraction(count.yes, votes),
        };
        report.confidence = Some(confidence);
        if confidence < floor {
            report.feedback = Some(format!(
                "passed with a confidence of {confidence:.2}, below the minimum of {floor:.2}"
            ));
        } else {
            report.passed = Some(true);
        }
        return report;
    }
    let rejections = report
        .judgements
        .iter()
        .filter(|it| it.passed == Some(false));
    let feedback = feedback(rejections);
    if count.no == votes {
        report.passed = Some(false);
        report.confidence = match &report.judgements[..] {
            [only] => only.confidence,
            _ => Some(1.0),
        };
        report.feedback = Some(feedback);
    } else {
        let VoteCount { yes, no } = count;
        let lacking = votes.saturating_sub(yes + no);
        report.confidence = Some(fraction(yes.max(no), votes));
        report.feedback = Some(format!(
            "{votes} votes: {yes} for the work, {no} against it, {lacking} missing\n{feedback}"
        ));
    }
    report
}

struct VoteCount {
    yes: u32,
    no: u32,
}

impl VoteCount {
    fn of(judgements: &[Judgement]) -> Self {
        let number = |passed| {
            let those = judgements.iter().filter(|it| it.passed == Some(passed));
            u32::try_from(those.count()).unwrap_or(u32::MAX)
        };
        Self {
            yes: number(true),
            no: number(false),
        }
    }

    fn is_majority(&self, votes: u32) -> bool {
        self.yes * 2 > votes
    }
}

fn fraction(part: u32, whole: u32) -> f64 {
    f64::from(part) / f64::from(whole.max(1))
}

/// The issues of all judges that reject the work, without duplicates, and their suggestions.
fn feedback<'a>(rejections: impl Iterator<Item = &'a Judgement> + Clone) -> String {
    let mut lines: Vec<String> = Vec::new();
    let issues = rejections.clone().flat_map(|it| &it.issues);
    let suggestions = rejections.filter_map(|it| it.suggestion.as_ref());
    let items = issues
        .map(|issue| format!("- {}", issue.trim()))
        .chain(suggestions.map(|text| format!("Suggestion: {}", text.trim())));
    for item in items {
        if !lines.contains(&item) {
            lines.push(item);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vote(passed: Option<bool>) -> Judgement {
        Judgement {
            passed,
            confidence: passed.map(|_| 0.9),
            issues: match passed {
                Some(false) => vec!["no test".to_owned()],
                _ => Vec::new(),
            },
            error: passed.is_none().then(|| "down".to_owned()),
            ..Judgement::default()
        }
    }

    fn votes(given: &[Option<bool>]) -> Vec<Judgement> {
        given.iter().copied().map(vote).collect()
    }

    const YES: Option<bool> = Some(true);
    const NO: Option<bool> = Some(false);

    #[test]
    fn vote_majority_passes_all_reject_else_review() {
        for (given, passed) in [
            (&[YES, YES, NO][..], YES),
            (&[YES, YES], YES),
            (&[NO, NO, NO], NO),
            (&[NO, NO, YES], None),
            (&[NO, NO, None], None),
            (&[YES, None, None], None),
        ] {
            let report = summarize_votes(3, 3, votes(given), 0.5);
            assert_eq!((report.passed, report.error), (passed, None), "{given:?}");
        }
        assert_eq!(summarize_votes(3, 2, votes(&[YES, NO]), 0.0).passed, None);
        let confidence = |given: &[_]| summarize_votes(3, 3, votes(given), 0.5).confidence;
        assert_eq!(confidence(&[YES, YES, YES]), Some(1.0));
        assert_eq!(confidence(&[YES, YES, NO]), Some(2.0 / 3.0));
        let feedback = summarize_votes(3, 3, votes(&[NO, NO, NO]), 0.5)
            .feedback
            .unwrap();
        assert_eq!(feedback, "- no test");
    }

    #[test]
    fn vote_without_answers_is_an_error() {
        let report = summarize_votes(2, 1, votes(&[None]), 0.5);
        assert_eq!(
            (report.passed, report.error.as_deref()),
            (None, Some("down"))
        );
    }

    #[test]
    fn vote_unsure_pass_needs_review() {
        let report = summarize_votes(2, 1, votes(&[YES]), 0.95);
        assert_eq!((report.passed, report.error), (None, None));
        assert!(report.feedback.unwrap().contains("below the minimum"));
        assert_eq!(
            summarize_votes(3, 3, votes(&[YES, YES, NO]), 0.7).passed,
            None
        );
    }
}
