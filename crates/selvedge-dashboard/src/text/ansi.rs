//! Renders a program's output as markup. Colours and weights become classes of the stylesheet; carriage
//! return and backspace act as on a terminal; every other sequence (titles, links, clipboard, cursor, screen)
//! is shown as a small mark and has no effect.

use super::Markup;

/// Style of the following text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TextStyle {
    front: Option<u8>,
    back: Option<u8>,
    bold: bool,
    dim: bool,
    italic: bool,
    underlined: bool,
    struck: bool,
    inverse: bool,
}

/// Classes of the sixteen colours.
const FOREGROUND_CLASSES: [&str; 16] = [
    " f0", " f1", " f2", " f3", " f4", " f5", " f6", " f7", " f8", " f9", " f10", " f11", " f12",
    " f13", " f14", " f15",
];
const BACKGROUND_CLASSES: [&str; 16] = [
    " b0", " b1", " b2", " b3", " b4", " b5", " b6", " b7", " b8", " b9", " b10", " b11", " b12",
    " b13", " b14", " b15",
];
/// Maximum length of an escape sequence, in characters; anything longer is treated as text.
const MAX_SEQUENCE_CHARS: usize = 4096;

/// Renders output. Bytes that are not UTF-8 are shown as `�`.
pub fn ansi(bytes: &[u8]) -> Markup {
    let text = String::from_utf8_lossy(bytes);
    let mut page = TerminalRenderer::default();
    let mut rest = text.as_ref();
    while let Some(character) = rest.chars().next() {
        let next = rest.get(character.len_utf8()..).unwrap_or_default();
        rest = match character {
            '\x1b' => page.handle_escape(next),
            '\u{9b}' => page.handle_control_sequence(next),
            '\u{9d}' => page.skip_string_sequence(next, "OSC"),
            '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => page.skip_string_sequence(next, "string"),
            '\r' => {
                let line_end = next.trim_start_matches('\r').starts_with('\n');
                if !line_end && !next.is_empty() {
                    page.line.clear();
                }
                next
            }
            '\n' => {
                page.end_line();
                next
            }
            '\x08' => {
                page.line.pop();
                next
            }
            '\x07' => next,
            character => {
                page.line
                    .push(TerminalCell::Character(character, page.style));
                next
            }
        };
    }
    page.flush();
    page.markup
}

/// One cell of a line.
enum TerminalCell {
    Character(char, TextStyle),
    Sign(String),
}

#[derive(Default)]
struct TerminalRenderer {
    markup: Markup,
    style: TextStyle,
    line: Vec<TerminalCell>,
}

impl TerminalRenderer {
    /// Handles what follows an `ESC`. Returns the text after the sequence.
    fn handle_escape<'a>(&mut self, rest: &'a str) -> &'a str {
        let Some(kind) = rest.chars().next() else {
            self.push_sign("ESC");
            return rest;
        };
        let next = rest.get(kind.len_utf8()..).unwrap_or_default();
        match kind {
            '[' => self.handle_control_sequence(next),
            ']' => self.skip_string_sequence(next, "OSC"),
            'P' => self.skip_string_sequence(next, "DCS"),
            'X' | '^' | '_' => self.skip_string_sequence(next, "string"),
            '(' | ')' | '*' | '+' | '#' | '%' | ' ' => {
                let mut after = next.chars();
                after.next();
                after.as_str()
            }
            'c' => {
                self.push_sign("ESC c");
                next
            }
            '7' | '8' | '=' | '>' | 'D' | 'E' | 'H' | 'M' | '\\' => next,
            _ => {
                self.push_sign("ESC");
                rest
            }
        }
    }

    /// Handles what follows `ESC [`: parameters, then one letter.
    fn handle_control_sequence<'a>(&mut self, rest: &'a str) -> &'a str {
        let end = rest
            .char_indices()
            .take(MAX_SEQUENCE_CHARS)
            .find(|(_, c)| !matches!(c, ' '..='?'));
        let Some((end, last)) = end.filter(|(_, c)| matches!(c, '@'..='~')) else {
            self.push_sign("CSI");
            return rest;
        };
        let parameters = rest.get(..end).unwrap_or_default();
        match last {
            'm' if parameters
                .bytes()
                .all(|b| b.is_ascii_digit() || b";:".contains(&b)) =>
            {
                self.style.apply(parameters);
            }
            // Erases to the end of a line that was just restarted: progress bars.
            'K' | 'm' => {}
            _ => {
                let shown: String = parameters.chars().take(16).collect();
                self.push_sign(&format!("CSI {shown}{last}"));
            }
        }
        rest.get(end + last.len_utf8()..).unwrap_or_default()
    }

    /// Skips a string sequence that is not meant for display, up to its end or the end of the line.
    fn skip_string_sequence<'a>(&mut self, rest: &'a str, name: &str) -> &'a str {
        let mut before = ' ';
        for (at, character) in rest.char_indices().take(MAX_SEQUENCE_CHARS) {
            let ended = match character {
                '\x07' | '\u{9c}' => Some(at + character.len_utf8()),
                '\\' if before == '\x1b' => Some(at + 1),
                '\n' => Some(at),
                _ => None,
            };
            if let Some(end) = ended {
                let number: String = rest
                    .chars()
                    .take_while(char::is_ascii_digit)
                    .take(6)
                    .collect();
                let shown = if number.is_empty() {
                    name.to_owned()
                } else {
                    format!("{name} {number}")
                };
                self.push_sign(&shown);
                return rest.get(end..).unwrap_or_default();
            }
            before = character;
        }
        self.push_sign(name);
        rest
    }

    fn push_sign(&mut self, what: &str) {
        self.line.push(TerminalCell::Sign(format!("⟨{what}⟩")));
    }

    fn end_line(&mut self) {
        self.flush();
        self.markup.push_tag("\n");
    }

    fn flush(&mut self) {
        let mut open: Option<TextStyle> = None;
        for cell in std::mem::take(&mut self.line) {
            let style = match &cell {
                TerminalCell::Character(_, style) => {
                    Some(*style).filter(|style| *style != TextStyle::default())
                }
                TerminalCell::Sign(_) => None,
            };
            if style != open {
                if open.is_some() {
                    self.markup.push_tag("</span>");
                }
                if let Some(style) = style {
                    style.open(&mut self.markup);
                }
                open = style;
            }
            match cell {
                TerminalCell::Character(character, _) => self.markup.push_character(character),
                TerminalCell::Sign(sign) => self.markup.push_chip(&sign),
            }
        }
        if open.is_some() {
            self.markup.push_tag("</span>");
        }
    }
}

impl TextStyle {
    fn open(self, markup: &mut Markup) {
        markup.push_tag("<span class=\"a");
        let class = |colour: Option<u8>, names: &[&'static str; 16]| {
            colour.and_then(|colour| names.get(usize::from(colour)).copied())
        };
        let (front, back) = if self.inverse {
            (self.back.or(Some(0)), self.front.or(Some(7)))
        } else {
            (self.front, self.back)
        };
        markup.push_tag(class(front, &FOREGROUND_CLASSES).unwrap_or_default());
        markup.push_tag(class(back, &BACKGROUND_CLASSES).unwrap_or_default());
        let marks = [
            (self.bold, " bo"),
            (self.dim, " di"),
            (self.italic, " it"),
            (self.underlined, " un"),
            (self.struck, " st"),
        ];
        marks
            .into_iter()
            .filter(|(is, _)| *is)
            .for_each(|(_, class)| markup.push_tag(class));
        markup.push_tag("\">");
    }

    fn apply(&mut self, parameters: &str) {
        let mut numbers = parameters
            .split([';', ':'])
            .map(|number| number.parse::<u16>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underlined = true,
                7 => self.inverse = true,
                9 => self.struck = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underlined = false,
                27 => self.inverse = false,
                29 => self.struck = false,
                30..=37 => self.front = standard_color(number - 30),
                38 => self.front = extended_color(&mut numbers),
                39 => self.front = None,
                40..=47 => self.back = standard_color(number - 40),
                48 => self.back = extended_color(&mut numbers),
                49 => self.back = None,
                90..=97 => self.front = standard_color(number - 82),
                100..=107 => self.back = standard_color(number - 92),
                _ => {}
            }
        }
    }
}

fn standard_color(number: u16) -> Option<u8> {
    u8::try_from(number).ok().filter(|number| *number < 16)
}

/// The nearest of the sixteen colours to one of the 256-colour or true-colour palette.
fn extended_color(numbers: &mut impl Iterator<Item = u16>) -> Option<u8> {
    let near = |[red, green, blue]: [u16; 3]| {
        let brightest = red.max(green).max(blue);
        let bit = |value: u16, bit: u8| if value * 2 > brightest { bit } else { 0 };
        let hue = bit(red, 1) | bit(green, 2) | bit(blue, 4);
        match brightest {
            0..=47 => 0,
            48..=111 if hue == 7 => 8,
            48..=191 => hue,
            _ => hue + 8,
        }
    };
    match numbers.next()? {
        5 => Some(match numbers.next()? {
            number @ 0..=15 => u8::try_from(number).unwrap_or(7),
            number @ 16..=231 => {
                let cube = number - 16;
                near([cube / 36, cube / 6 % 6, cube % 6].map(|part| part * 51))
            }
            number @ 232..=255 => near([(number - 232) * 10 + 8; 3]),
            _ => return None,
        }),
        2 => Some(near([numbers.next()?, numbers.next()?, numbers.next()?])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        assert_eq!(ansi(bytes).as_str(), expected, "{}", bytes.escape_ascii());
    }

    #[test]
    fn ansi_colours_become_classes() {
        check(
            b"\x1b[1;31mno\x1b[0m <b>",
            "<span class=\"a f1 bo\">no</span> &lt;b&gt;",
        );
        check(b"\x1b[38;5;196mx\x1b[m", "<span class=\"a f9\">x</span>");
        check(b"\x1b[38;2;0;200;0mx", "<span class=\"a f10\">x</span>");
        check(b"\x1b[31m\x1b[0m", "");
    }

    #[test]
    fn ansi_overwritten_line_shows_last_text() {
        check(b"10%\r20%\r\ndone", "20%\ndone");
        check(b"10%\r\x1b[K20%\n", "20%\n");
        check(b"ab\x08c", "ac");
    }

    #[test]
    fn ansi_dangerous_characters_become_signs() {
        let sign = |what: &str| format!("<span class=\"ctl\">⟨{what}⟩</span>");
        let link = b"\x1b]8;;javascript:alert(1)\x1b\\click\x1b]8;;\x1b\\";
        check(link, &format!("{}click{}", sign("OSC 8"), sign("OSC 8")));
        check(b"\x1b]52;c;cm0gLXJm\x07x", &(sign("OSC 52") + "x"));
        check(
            b"\x1b[2J\x1b[?1049h",
            &(sign("CSI 2J") + &sign("CSI ?1049h")),
        );
        check(b"\x1b]0;never ended\nnext", &(sign("OSC 0") + "\nnext"));
        check("\u{202e}".as_bytes(), "<span class=\"ctl\">⟨U+202E⟩</span>");
        check(b"\xff", "\u{fffd}");
    }

    #[test]
    fn ansi_any_bytes_produce_closed_tags() {
        let pieces: [&[u8]; 9] = [
            b"\x1b",
            b"[",
            b"]",
            b"31",
            b";",
            b"m",
            b"\x9b",
            b"\xc2\x9b",
            b"<",
        ];
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    for d in pieces {
                        let page = ansi(&[a, b, c, d].concat());
                        let opened = page.as_str().matches("<span").count();
                        assert_eq!(opened, page.as_str().matches("</span>").count());
                        assert_eq!(page.as_str().matches('<').count(), opened * 2);
                    }
                }
            }
        }
    }
}
