//! SQL. No parser knows all dialects, and scripts are full of commands of their clients, so an error
//! is certain only where a plain statement stops in the middle: the dialect that reads furthest
//! meets the end, or punctuation that can follow nowhere.

use sqlparser::dialect::{
    AnsiDialect, BigQueryDialect, ClickHouseDialect, DatabricksDialect, Dialect, DuckDbDialect,
    GenericDialect, HiveDialect, MsSqlDialect, MySqlDialect, OracleDialect, PostgreSqlDialect,
    RedshiftSqlDialect, SQLiteDialect, SnowflakeDialect,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Token, Tokenizer};

use crate::position::at;
use crate::{Fault, Verdict};

const NOT_CERTAIN: &str = "no dialect that is known here reads it";

/// How statements begin that all dialects write alike, but for clauses of their own.
const PLAIN: [&str; 7] = [
    "select",
    "with",
    "insert",
    "update",
    "delete",
    "create table",
    "alter table",
];

/// Words of scripts that are more than SQL: of clients, of migrations, of stored programs.
const MORE_THAN_SQL: [&str; 12] = [
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

pub(crate) fn parse(_: &str, text: &str) -> Verdict {
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
    let mut furthest: Option<Stop> = None;
    for dialect in dialects {
        match read(dialect, text) {
            Ok(()) => return Verdict::Parses,
            Err(stop) => {
                if furthest
                    .as_ref()
                    .is_none_or(|known| known.place() < stop.place())
                {
                    furthest = Some(stop);
                }
            }
        }
    }
    match furthest {
        None => Verdict::Parses,
        Some(stop) if stop.is_certain(text) => Verdict::Broken(stop.fault),
        Some(stop) => Verdict::Unsure(stop.fault, NOT_CERTAIN),
    }
}

/// Where a dialect goes no further.
struct Stop {
    fault: Fault,
    /// Where the statement begins.
    statement: Location,
    /// What is met there; none where the text cannot even be cut into tokens.
    found: Option<Token>,
}

impl Stop {
    fn place(&self) -> (u32, Option<u32>) {
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
        // What a table is made with stands behind its columns, and each system has words of its own there.
        let option = self.found == Some(Token::Comma)
            && start.starts_with("create table")
            && self.is_outside_brackets(text);
        stray
            && !option
            && PLAIN.iter().any(|words| start.starts_with(words))
            && !MORE_THAN_SQL.iter().any(|words| whole.contains(words))
    }

    /// Whether every bracket that the statement opened is closed where it stops.
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

fn read(dialect: &dyn Dialect, text: &str) -> Result<(), Stop> {
    let tokens = Tokenizer::new(dialect, text).tokenize_with_location();
    let tokens = tokens.map_err(|error| Stop {
        fault: stop(error.location, &error.message),
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
        return Err(met(&message, next.span.start, next.token, statement));
    }
}

/// The parser may have gone back after the error; its message says where it met it.
fn met(message: &str, next: Location, found: Token, statement: Location) -> Stop {
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
    Stop {
        fault: stop(place.unwrap_or(next), words),
        statement,
        found: Some(found),
    }
}

fn stop(place: Location, message: &str) -> Fault {
    let narrow = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    at(narrow(place.line), narrow(place.column), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_some_system_reads_behind_the_columns_is_no_fault() {
        let said = |text| parse("a.sql", text);
        let options = "CREATE TABLE t (\n  a INTEGER PRIMARY KEY\n) STRICT, WITHOUT ROWID;\n";
        assert!(!matches!(said(options), Verdict::Broken(_)));
        let doubled = "CREATE TABLE t (\n  a INTEGER,,\n  b INTEGER\n);\n";
        assert!(matches!(said(doubled), Verdict::Broken(_)));
        let open = "CREATE TABLE t (a INTEGER;\n";
        assert!(matches!(said(open), Verdict::Broken(_)));
    }
}
