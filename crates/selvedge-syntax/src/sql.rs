//! SQL. No parser knows all dialects, and scripts contain client commands, so an error is certain only where
//! a plain statement stops in the middle: the dialect that reads furthest meets the end, or punctuation that
//! is never valid there.

use sqlparser::dialect::{
    AnsiDialect, BigQueryDialect, ClickHouseDialect, DatabricksDialect, Dialect, DuckDbDialect,
    GenericDialect, HiveDialect, MsSqlDialect, MySqlDialect, OracleDialect, PostgreSqlDialect,
    RedshiftSqlDialect, SQLiteDialect, SnowflakeDialect,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Token, Tokenizer};

use crate::position::error_at;
use crate::{SyntaxError, SyntaxVerdict};

const UNKNOWN_DIALECT: &str = "no known dialect accepts it";

/// Beginnings of statements that all dialects write alike, apart from dialect-specific clauses.
const PLAIN_STATEMENTS: [&str; 7] = [
    "select",
    "with",
    "insert",
    "update",
    "delete",
    "create table",
    "alter table",
];

/// Words that are not plain SQL: client commands, migrations, stored programs.
const NON_SQL_MARKERS: [&str; 12] = [
    "delimiter",
    "\n\\",
    "\ngo\n",
    "\ngo\r",
    "\n/\n",
    "$$",
    "begin",
    "declare",
    "function",
    "procedure",
    "trigger",
    "package",
];

pub(crate) fn parse(_: &str, text: &str) -> SyntaxVerdict {
    let dialects: [&dyn Dialect; 14] = [
        &GenericDialect {},
        &PostgreSqlDialect {},
        &MySqlDialect {},
        &SQLiteDialect {},
        &MsSqlDialect {},
        &OracleDialect {},
        &SnowflakeDialect {},
        &BigQueryDialect {},
        &DuckDbDialect {},
        &ClickHouseDialect {},
        &RedshiftSqlDialect {},
        &HiveDialect {},
        &DatabricksDialect {},
        &AnsiDialect {},
    ];
    let mut furthest: Option<DialectError> = None;
    for dialect in dialects {
        match parse_dialect(dialect, text) {
            Ok(()) => return SyntaxVerdict::Parses,
            Err(stop) => {
                if furthest
                    .as_ref()
                    .is_none_or(|known| known.position() < stop.position())
                {
                    furthest = Some(stop);
                }
            }
        }
    }
    match furthest {
        None => SyntaxVerdict::Parses,
        Some(stop) if stop.is_certain(text) => SyntaxVerdict::Broken(stop.fault),
        Some(stop) => SyntaxVerdict::Unsure(stop.fault, UNKNOWN_DIALECT),
    }
}

/// Position where a dialect fails.
struct DialectError {
    fault: SyntaxError,
    /// Beginning of the statement.
    statement: Location,
    /// The unexpected token; `None` where the text cannot be tokenized.
    found: Option<Token>,
}

impl DialectError {
    fn position(&self) -> (u32, Option<u32>) {
        (self.fault.line, self.fault.column)
    }

    fn is_certain(&self, text: &str) -> bool {
        let stray = matches!(
            self.found,
            Some(Token::EOF | Token::SemiColon | Token::Comma | Token::RParen)
        );
        let line = usize::try_from(self.statement.line).unwrap_or(1).max(1) - 1;
        let column = usize::try_from(self.statement.column).unwrap_or(1).max(1) - 1;
        let line = text.lines().nth(line).unwrap_or_default();
        let start: String = line.chars().skip(column).take(40).collect();
        let start = start
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_ascii_lowercase();
        let whole = text.to_ascii_lowercase();
        // Table options follow the columns, and each system has its own keywords there.
        let option = self.found == Some(Token::Comma)
            && start.starts_with("create table")
            && self.is_outside_brackets(text);
        stray
            && !option
            && PLAIN_STATEMENTS
                .iter()
                .any(|words| start.starts_with(words))
            && !NON_SQL_MARKERS.iter().any(|words| whole.contains(words))
    }

    /// Whether every bracket of the statement is closed at the error.
    fn is_outside_brackets(&self, text: &str) -> bool {
        let index = |line: u64| usize::try_from(line).unwrap_or(1).max(1) - 1;
        let (first, last) = (
            index(self.statement.line),
            index(u64::from(self.fault.line)),
        );
        let column = index(u64::from(self.fault.column.unwrap_or(1)));
        let lines = text.lines().enumerate().skip(first);
        let read = lines.take_while(|(line, _)| *line <= last);
        let read = read.flat_map(|(line, text)| {
            let end = if line == last { column } else { usize::MAX };
            text.chars().take(end)
        });
        read.fold(0_i64, |depth, c| match c {
            '(' => depth + 1,
            ')' => depth - 1,
            _ => depth,
        }) <= 0
    }
}

fn parse_dialect(dialect: &dyn Dialect, text: &str) -> Result<(), DialectError> {
    let tokens = Tokenizer::new(dialect, text).tokenize_with_location();
    let tokens = tokens.map_err(|error| DialectError {
        fault: error_at_location(error.location, &error.message),
        statement: error.location,
        found: None,
    })?;
    let mut parser = Parser::new(dialect).with_tokens_with_locations(tokens);
    loop {
        while parser.consume_token(&Token::SemiColon) {}
        let first = parser.peek_token();
        if first.token == Token::EOF {
            return Ok(());
        }
        let statement = first.span.start;
        let parsed = parser.parse_statement();
        let next = parser.peek_token();
        let message = match parsed {
            Err(error) => error.to_string(),
            Ok(_) if matches!(next.token, Token::SemiColon | Token::EOF) => continue,
            Ok(_) => format!("expected the end of the statement, found {}", next.token),
        };
        return Err(dialect_error(
            &message,
            next.span.start,
            next.token,
            statement,
        ));
    }
}

/// The parser may have backtracked after the error, so the position is taken from its message.
fn dialect_error(message: &str, next: Location, found: Token, statement: Location) -> DialectError {
    let message = message.trim_start_matches("sql parser error: ");
    let (words, place) = message.split_once(" at Line: ").unwrap_or((message, ""));
    let place = place.split_once(", Column: ").and_then(|(line, column)| {
        Some(Location::new(
            line.trim().parse().ok()?,
            column.trim().parse().ok()?,
        ))
    });
    let found = match words.rsplit_once("found: ").map(|(_, found)| found) {
        Some("EOF") => Token::EOF,
        Some(";") => Token::SemiColon,
        Some(",") => Token::Comma,
        Some(")") => Token::RParen,
        Some(other) => Token::make_word(other, None),
        None => found,
    };
    DialectError {
        fault: error_at_location(place.unwrap_or(next), words),
        statement,
        found: Some(found),
    }
}

fn error_at_location(place: Location, message: &str) -> SyntaxError {
    let narrow = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    error_at(narrow(place.line), narrow(place.column), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_some_system_reads_behind_the_columns_is_no_fault() {
        let said = |text| parse("a.sql", text);
        let options = "CREATE TABLE t (\n  a INTEGER PRIMARY KEY\n) STRICT, WITHOUT ROWID;\n";
        assert!(!matches!(said(options), SyntaxVerdict::Broken(_)));
        let doubled = "CREATE TABLE t (\n  a INTEGER,,\n  b INTEGER\n);\n";
        assert!(matches!(said(doubled), SyntaxVerdict::Broken(_)));
        let open = "CREATE TABLE t (a INTEGER;\n";
        assert!(matches!(said(open), SyntaxVerdict::Broken(_)));
    }
}
