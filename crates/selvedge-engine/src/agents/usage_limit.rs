//! Usage limits of a subscription, as agents report them: until when no session can succeed. Only
//! messages that name a time are recognised; without one, the failure is an ordinary one.

use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp, Zoned};
use selvedge_core::model::UsageLimit;

/// Beginnings of the part of a message that names a time of day or a date.
const TIME_MARKERS: &[&str] = &["try again at ", "resets at ", "reset at ", "resets "];
/// Beginnings of the part that names a duration.
const DURATION_MARKERS: &[&str] = &["try again in ", "reset after ", "resets in ", "reset in "];
/// Phrases without which a message is about something else, such as a limit per minute.
const LIMIT_PHRASES: &[&str] = &[
    "usage limit",
    "hit your",
    "quota will reset",
    "exhausted your capacity",
    "limit reached",
];
/// A reset within this time is left to the retries of the API.
const SHORTEST_WAIT: SignedDuration = SignedDuration::from_mins(2);

/// A limit may end between the session that it failed and the reading of its message.
const LONGEST_OVER: SignedDuration = SignedDuration::from_mins(1);

/// Parses the message with which a session failed. Times without a zone are in that of `now`.
pub(super) fn parse_usage_limit(message: &str, now: &Zoned) -> Option<UsageLimit> {
    let lower = message.to_lowercase();
    if !LIMIT_PHRASES.iter().any(|phrase| lower.contains(phrase)) {
        return None;
    }
    let after = |marker: &&str| Some(&lower[lower.find(*marker)? + marker.len()..]);
    let resets_at = parse_epoch(&lower)
        .or_else(|| {
            let mut texts = DURATION_MARKERS.iter().filter_map(after);
            let duration = texts.find_map(parse_duration)?;
            now.timestamp().checked_add(duration).ok()
        })
        .or_else(|| {
            let mut texts = TIME_MARKERS.iter().filter_map(after);
            texts.find_map(|text| parse_time(text, now))
        })?;
    limit_until(resets_at, now.timestamp())
}

/// The limit that ends at this time, unless it has been over for a while.
pub(super) fn limit_until(resets_at: Timestamp, now: Timestamp) -> Option<UsageLimit> {
    (now.duration_since(resets_at) <= LONGEST_OVER).then_some(UsageLimit {
        resets_at,
        reported_at: now,
    })
}

/// `Claude AI usage limit reached|1738425600`
fn parse_epoch(text: &str) -> Option<Timestamp> {
    let (_, rest) = text.split_once("limit reached|")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Timestamp::from_second(digits.parse().ok()?).ok()
}

/// `2 days 17 hours 14 minutes`, `3h20m15s`. Shorter than [`SHORTEST_WAIT`] is none.
fn parse_duration(text: &str) -> Option<SignedDuration> {
    let mut total = SignedDuration::ZERO;
    let mut rest = text.trim_start();
    loop {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(count) = rest[..digits].parse::<i64>() else {
            break;
        };
        let unit = rest[digits..].trim_start();
        let word = unit.len()
            - unit
                .trim_start_matches(|c: char| c.is_ascii_alphabetic())
                .len();
        let seconds = match &unit[..word] {
            "d" | "day" | "days" => 86_400,
            "h" | "hr" | "hour" | "hours" => 3_600,
            "m" | "min" | "minute" | "minutes" => 60,
            "s" | "sec" | "second" | "seconds" => 1,
            _ => break,
        };
        let part = SignedDuration::from_secs(count.checked_mul(seconds)?);
        total = total.checked_add(part)?;
        rest = unit[word..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    (total >= SHORTEST_WAIT).then_some(total)
}

/// `12:16 pm`, `3pm (europe/berlin)`, `nov 26th, 2026 3:45 pm`, `mar 3 at 9am`: the next such time.
fn parse_time(text: &str, now: &Zoned) -> Option<Timestamp> {
    let zone = text
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .and_then(|(name, _)| jiff::tz::TimeZone::get(name).ok())
        .unwrap_or_else(|| now.time_zone().clone());
    let now = now.with_time_zone(zone);
    let text = text.split('(').next()?;
    let words = text
        .split([' ', ',', '\u{202f}', '\u{a0}'])
        .filter(|word| !word.is_empty() && *word != "at");
    let words: Vec<_> = words.take(6).collect();
    let date = parse_date(&words, now.date());
    let time =
        (0..words.len()).find_map(|at| parse_clock(words[at], words.get(at + 1).copied()))?;
    let at = |date: Date| {
        let minute = date.to_datetime(time).to_zoned(now.time_zone().clone());
        // The seconds are not shown: the limit may be reset at any time in that minute.
        minute.ok()?.checked_add(SignedDuration::from_mins(1)).ok()
    };
    let next = if let Some(date) = date {
        at(date)?
    } else {
        let today = at(now.date())?;
        if today > now {
            today
        } else {
            at(now.date().tomorrow().ok()?)?
        }
    };
    Some(next.timestamp())
}

/// `12:16` `pm`, `12:16pm`, `3pm`, `15:45`. A bare number is not a time.
fn parse_clock(word: &str, next: Option<&str>) -> Option<Time> {
    let word = word.trim_end_matches('.');
    let (clock, half) = match word.strip_suffix("am").map(|it| (it, "am")) {
        Some(both) => both,
        None => match word.strip_suffix("pm") {
            Some(clock) => (clock, "pm"),
            None => (word, next.map_or("", |next| next.trim_end_matches('.'))),
        },
    };
    let (hours, minutes) = match clock.split_once(':') {
        Some((hours, minutes)) => (hours, minutes.get(..2)?),
        None if matches!(half, "am" | "pm") => (clock, "00"),
        None => return None,
    };
    let hours: i8 = hours.parse().ok()?;
    let hours = match half {
        "am" | "pm" if !(1..=12).contains(&hours) => return None,
        "am" => hours % 12,
        "pm" => hours % 12 + 12,
        _ => hours,
    };
    Time::new(hours, minutes.parse().ok()?, 0, 0).ok()
}

/// `nov 26th 2026`, or the next `nov 26`.
fn parse_date(words: &[&str], today: Date) -> Option<Date> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let month_of = |word: &str| MONTHS.iter().position(|month| word.starts_with(month));
    let (at, month) = words
        .iter()
        .enumerate()
        .find_map(|(at, word)| Some((at, month_of(word)?)))?;
    let month = i8::try_from(month).ok()? + 1;
    let day: i8 = words
        .get(at + 1)?
        .trim_end_matches(|c: char| c.is_ascii_alphabetic())
        .parse()
        .ok()?;
    let year = words.get(at + 2).and_then(|word| word.parse::<i16>().ok());
    if let Some(year) = year.filter(|year| *year >= 2000) {
        return Date::new(year, month, day).ok();
    }
    let date = Date::new(today.year(), month, day).ok()?;
    if date < today {
        Date::new(today.year() + 1, month, day).ok()
    } else {
        Some(date)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-26T13:00:00+01:00[Europe/Berlin]";

    fn resets_at(message: &str) -> Option<String> {
        let now: Zoned = NOW.parse().unwrap();
        let limit = parse_usage_limit(message, &now)?;
        Some(limit.resets_at.to_string())
    }

    #[test]
    fn usage_limit_is_parsed_from_messages_of_agents() {
        for (message, expected) in [
            // Claude Code
            (
                "Claude AI usage limit reached|1795698000",
                "2026-11-26T13:00:00Z",
            ),
            (
                "You've hit your limit · resets 3pm (Europe/Berlin)",
                "2026-11-26T14:01:00Z",
            ),
            (
                "You've hit your session limit · resets 12:30pm (America/New_York)",
                "2026-11-26T17:31:00Z",
            ),
            (
                "You've hit your weekly limit · resets Dec 1 at 9am (UTC)",
                "2026-12-01T09:01:00Z",
            ),
            // Codex
            (
                "You've hit your usage limit. To get more access now, send a request to your admin or try again at 2:16 PM.",
                "2026-11-26T13:17:00Z",
            ),
            (
                "You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit \
                 https://chatgpt.com/settings/usage to purchase more credits or try again at 12:16 PM.",
                "2026-11-27T11:17:00Z",
            ),
            (
                // This minute.
                "You’ve hit your usage limit. Try again at 1:00 PM.",
                "2026-11-26T12:01:00Z",
            ),
            (
                "You've hit your usage limit. Try again at Nov 28th, 2026 3:45 PM.",
                "2026-11-28T14:46:00Z",
            ),
            (
                "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 2 days \
                 17 hours 14 minutes.",
                "2026-11-29T05:14:00Z",
            ),
            // Gemini CLI
            (
                "You have exhausted your capacity on this model. Your quota will reset after 3h20m15s.",
                "2026-11-26T15:20:15Z",
            ),
        ] {
            assert_eq!(resets_at(message).as_deref(), Some(expected), "{message}");
        }
    }

    #[test]
    fn usage_limit_needs_a_time_in_the_future() {
        for message in [
            "You've hit your usage limit.",
            "You have exhausted your capacity on this model. Your quota will reset after 5s.",
            "Claude AI usage limit reached|1700000000",
            "429 Too Many Requests: try again in 20 minutes",
            "You have exhausted your daily quota on this model.",
            "You've hit your usage limit. Try again at 99:99 PM.",
            "usage limit: try again in 99999999999999999999 days",
            "",
        ] {
            assert_eq!(resets_at(message), None, "{message}");
        }
    }

    #[test]
    fn usage_limit_may_have_just_ended() {
        let now = Timestamp::now();
        let is_limit =
            |seconds| limit_until(now - SignedDuration::from_secs(seconds), now).is_some();
        assert_eq!([-1, 0, 20, 120].map(is_limit), [true, true, true, false]);
    }
}
